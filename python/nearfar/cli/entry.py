"""Where the process begins: Ctrl-C is one line and a status from here to its end.

The rest of the program is imported under a handler that ends the process at once. Work runs under
Python's own, as it cleans up behind itself. This imports little: until it has, Ctrl-C is Python's.
"""

from __future__ import annotations

import atexit
import os
import signal

INTERRUPTED = 130
TERMINATED = 128 + signal.SIGTERM


def main() -> int:
    """The console script `nearfar`; returns its exit status."""
    try:
        _take_over()
    except KeyboardInterrupt:
        _leave()
    from nearfar.cli.main import main as command_line

    return command_line()


def _take_over() -> None:
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # or it is ignored
        signal.signal(signal.SIGINT, _leave)
        # When all is done, and last of all: what Python takes down then, no handler can follow.
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)


class Interruptible:
    """While work runs: SIGINT raises KeyboardInterrupt, where it would end the process; and so does
    SIGTERM, since what was finished is kept for either.
    """

    terminated = False  # it was SIGTERM

    def __enter__(self) -> Interruptible:
        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:  # or it is ignored
            signal.signal(signal.SIGTERM, self._terminate)
        self._before = signal.getsignal(signal.SIGINT)
        if self._before is _leave:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        return self

    def __exit__(self, *_: object) -> None:
        if signal.getsignal(signal.SIGTERM) == self._terminate:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if self._before is _leave:
            signal.signal(signal.SIGINT, _leave)

    def _terminate(self, *_: object) -> None:
        self.terminated = True
        raise KeyboardInterrupt


def _leave(*_: object) -> None:
    try:
        os.write(2, b"nearfar: interrupted\n")
    finally:  # also if nobody listens; the exit status still tells
        os._exit(INTERRUPTED)
