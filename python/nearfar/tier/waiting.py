"""Starting a program and waiting for it as a shell does."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

# A terminal sends these to all processes of its foreground group.
_OF_TERMINALS = (signal.SIGINT, signal.SIGQUIT, signal.SIGWINCH)
FORWARDED = (
    *_OF_TERMINALS,
    signal.SIGTERM, signal.SIGHUP, signal.SIGALRM, signal.SIGUSR1, signal.SIGUSR2,
)  # fmt: skip
_AWAITED = (*FORWARDED, signal.SIGCHLD)
_PATIENCE, _LAST_PATIENCE = 0.8, 0.1  # seconds, for the end of a program that gets SIGTERM
_SI_KERNEL = 0x80  # of a signal: sent by the kernel, and by no process
_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
_SHELLS = ("sh", "ash", "bash", "dash", "ksh", "mksh", "zsh")


@contextlib.contextmanager
def held_back(
    numbers: Collection[signal.Signals] = _AWAITED,
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


def start(
    arguments: Sequence[str],
    file: str,
    prepare: Callable[[], None],
    environment: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """Start a program while signals are held back, with the descriptors and the signals that this
    process was given; `prepare` is called in the child, and lets signals through.

    Descriptors of our own are closed by exec, as Python and the core open them.
    """
    early = [came.si_signo for came in iter(lambda: signal.sigtimedwait(FORWARDED, 0), None)]
    ignored = _ignored_at_first()
    of_children = signal.getsignal(signal.SIGCHLD)
    if of_children is signal.SIG_IGN:  # the kernel would keep no status for us
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)

    def as_given() -> None:
        for number in _IGNORED_BY_PYTHON:
            signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)
        if of_children is signal.SIG_IGN:
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # Python's, until exec
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)
        prepare()

    process = subprocess.Popen(
        arguments,
        executable=file,
        env=environment,
        close_fds=False,
        restore_signals=False,
        preexec_fn=as_given,
    )
    for number in early:
        process.send_signal(number)
    return process


@dataclass(frozen=True)
class Waited:
    """The status as a shell gives it: 128 + N when signal N ended the program; and the number of
    the program's process if it had not ended when it was waited for no more, or 0."""

    status: int
    runs_on: int = 0


def wait_for(process: subprocess.Popen[bytes]) -> Waited:
    """Wait while signals are held back, passing them on; what a terminal sends, the program has
    got itself.

    Less than a second after SIGTERM the program is waited for no more. One that does nothing about
    SIGTERM itself and has not ended by then hangs in the kernel, and is killed; any other runs on.
    """
    deadline: float | None = None
    while (status := process.poll()) is None:
        came = _next_signal(deadline)
        if came is None:
            return _leave(process)
        if came.si_signo == signal.SIGTERM and deadline is None:
            deadline = time.monotonic() + _PATIENCE
        if came.si_signo != signal.SIGCHLD and not _has_got(process, came):
            process.send_signal(came.si_signo)
    return Waited(status if status >= 0 else 128 - status)


def _next_signal(deadline: float | None) -> signal.struct_siginfo | None:
    if deadline is None:
        return signal.sigwaitinfo(_AWAITED)
    return signal.sigtimedwait(_AWAITED, max(deadline - time.monotonic(), 0))


def _leave(process: subprocess.Popen[bytes]) -> Waited:
    if _handles(process.pid, signal.SIGTERM):
        return Waited(128 + signal.SIGTERM, runs_on=process.pid)
    process.kill()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_LAST_PATIENCE)
    return Waited(128 + signal.SIGTERM)


def _handles(process: int, number: signal.Signals) -> bool:
    """Whether a process catches, ignores or blocks a signal."""
    try:
        text = Path(f"/proc/{process}/status").read_text(errors="replace")
    except OSError:
        return False
    fields = dict(line.split(":\t", 1) for line in text.split("\n") if ":\t" in line)
    masks = (int(fields[name], 16) for name in ("SigCgt", "SigIgn", "SigBlk"))
    return any(mask >> (number - 1) & 1 for mask in masks)


def _has_got(process: subprocess.Popen[bytes], came: signal.struct_siginfo) -> bool:
    """Whether the program has got a signal that came here: from its terminal, or from itself, to
    all of its group."""
    if came.si_code == _SI_KERNEL:
        return came.si_signo in _OF_TERMINALS
    return came.si_pid == process.pid


def _ignored_at_first() -> list[signal.Signals]:
    """Of the signals that CPython ignores before any code of ours runs, those that were ignored.

    That is not known; but a shell hands on what it ignores itself. Others do not (Python, for
    example), so what they start gets the default.
    """
    try:
        text = Path(f"/proc/{os.getppid()}/status").read_text(errors="replace")
    except OSError:
        return []
    fields = dict(line.split(":\t", 1) for line in text.split("\n") if ":\t" in line)
    if fields.get("Name") not in _SHELLS:
        return []
    mask = int(fields["SigIgn"], 16)
    return [number for number in _IGNORED_BY_PYTHON if mask >> (number - 1) & 1]
