"""Waiting for a program as a shell does."""

from __future__ import annotations

import contextlib
import signal
import subprocess
from collections.abc import Callable, Collection, Iterator
from types import FrameType

FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


@contextlib.contextmanager
def held_back(
    numbers: Collection[signal.Signals] = FORWARDED,
) -> Iterator[Callable[[], None]]:
    """Hold back signals; those that `wait_for` passes on until it does, so that nothing is lost
    before.

    Threads started meanwhile never get these signals. Yields what a child has to call before it
    executes the program, which gets them as this process did.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)

    def as_before() -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

    try:
        yield as_before
    finally:
        as_before()


def wait_for(process: subprocess.Popen[bytes]) -> int:
    """Wait, passing signals on; what a terminal sends, the program has got itself.

    Returns the status as a shell gives it: 128 + N when signal N ended the program.
    """

    def forward(number: int, _: FrameType | None) -> None:
        process.send_signal(number)

    before = {number: signal.signal(number, forward) for number in FORWARDED}
    before[signal.SIGINT] = signal.signal(signal.SIGINT, signal.SIG_IGN)
    before[signal.SIGQUIT] = signal.signal(signal.SIGQUIT, signal.SIG_IGN)
    # Held back until now.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, FORWARDED)
    try:
        status = process.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return status if status >= 0 else 128 - status
