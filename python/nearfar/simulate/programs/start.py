"""Starting a program and staying with it until it, and all that it started, has ended.

Signals: what a terminal sends reaches the program directly, because it is in the same process
group; what is sent to this process alone is passed on. So the program ends as it would by itself.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar.simulate.programs.keeper import Keeper

_PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_WAITED_FOR = (*_PASSED_ON, signal.SIGCHLD)
# What Python changes for itself, and a program expects as it is by default.
_TO_DEFAULT = (*_PASSED_ON, signal.SIGPIPE, signal.SIGXFSZ)
_FROM_KERNEL = 0x80  # SI_KERNEL: a terminal
_SET_SUBREAPER = 36  # prctl's PR_SET_CHILD_SUBREAPER


@dataclass(frozen=True)
class Ended:
    """How the program ended: with an exit status, or by a signal."""

    status: int
    signal: int | None
    interrupted: bool  # by Ctrl-C or a signal

    @property
    def exit_code(self) -> int:
        """As shells report it."""
        return self.status if self.signal is None else 128 + self.signal


def run_to_end(
    file: str, arguments: list[str], environment: Mapping[str, str], keeper: Keeper
) -> Ended:
    """Start a program and wait until it and its descendants have ended; then release the keeper.

    When a signal ends the program, those that it left are ended too.
    """
    with _adopting(), _signals_held():
        child = os.posix_spawn(file, arguments, environment, setsigmask=[], setsigdef=_TO_DEFAULT)
        return _Watch(child, keeper).to_end()


class _Watch:
    def __init__(self, child: int, keeper: Keeper) -> None:
        self._child = child
        self._keeper = keeper
        self._ended: tuple[int, int | None] | None = None
        self._asked = False

    def to_end(self) -> Ended:
        while self._alive():
            told = signal.sigwaitinfo(_WAITED_FOR)
            if told.si_signo != signal.SIGCHLD:
                self._pass_on(told)
        assert self._ended is not None
        status, number = self._ended
        return Ended(status, number, interrupted=self._asked)

    def _alive(self) -> bool:
        """Collects ended processes; whether any process is left."""
        while True:
            try:
                pid, how = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                # The last child is the keeper: without it there is none.
                if not self._ours():
                    self._keeper.release()
                return True
            if pid == self._child:
                by_signal = os.WTERMSIG(how) if os.WIFSIGNALED(how) else None
                self._ended = (os.WEXITSTATUS(how) if by_signal is None else 0, by_signal)
                if by_signal is not None:
                    _send(self._ours(), signal.SIGTERM)

    def _ours(self) -> list[int]:
        return [pid for pid in _descendants(os.getpid()) if pid != self._keeper.pid]

    def _pass_on(self, told: signal.struct_siginfo) -> None:
        again = self._asked
        self._asked = True
        if self._ended is not None:
            _send(self._ours(), signal.SIGKILL if again else told.si_signo)
        elif told.si_code != _FROM_KERNEL:
            _send([self._child], told.si_signo)


def _send(processes: Sequence[int], number: int) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(process, number)


def _descendants(process: int) -> list[int]:
    """All processes below `process`, as the kernel lists them."""
    found: list[int] = []
    waiting = [process]
    while waiting:
        parent = waiting.pop()
        for thread in Path(f"/proc/{parent}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                children = [int(word) for word in thread.read_text(encoding="ascii").split()]
                found += children
                waiting += children
    return found


@contextlib.contextmanager
def _signals_held() -> Iterator[None]:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _WAITED_FOR)
    try:
        yield
    finally:
        # One that came after the program's end was meant for it: it is over.
        while signal.sigtimedwait(_PASSED_ON, 0) is not None:
            pass
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _adopting() -> Iterator[None]:
    """A process that loses its parent below this one becomes its child."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    prctl(_SET_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        prctl(_SET_SUBREAPER, 0, 0, 0, 0)
