"""Starting a program and staying with it until it, and all that it started, has ended.

Signals: what a terminal sends reaches the program directly, because it is in the same process
group; what is sent to this process alone is passed on. So the program ends as it would by itself.
SIGTERM is a wish that the whole run ends: a program that takes its time over that, or that the
simulation holds up, is stopped where it is, with what is known of it so far.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar.simulate.programs.keeper import Keeper

_PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_WAITED_FOR = (*_PASSED_ON, signal.SIGCHLD)
# What Python changes for itself, and a program expects as it is by default.
_TO_DEFAULT = (*_PASSED_ON, signal.SIGPIPE, signal.SIGXFSZ)
_FROM_KERNEL = 0x80  # SI_KERNEL: a terminal
# After a first SIGTERM: until the plug-in is to stop the program, and until nothing else helps.
_PATIENCE_S = 0.3
_LAST_PATIENCE_S = 0.8
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
    file: str,
    arguments: list[str],
    environment: Mapping[str, str],
    keeper: Keeper,
    folder: str,
    streams: Sequence[tuple[int, int]] = (),
) -> Ended:
    """Start a program and wait until it and its descendants have ended; then release the keeper.

    `streams` are descriptors of the program and those of this process that they become. Children
    that this process had before are left alone: it waits neither for them nor for their status.
    When a signal ends the program, the processes that it left are ended too. At a SIGTERM all of
    them end, by themselves or because the file `stop` in the run's `folder` tells them to.
    """
    with _adopting(), _signals_held():
        others = _children(os.getpid())
        actions = [(os.POSIX_SPAWN_DUP2, ours, theirs) for theirs, ours in streams]
        child = os.posix_spawn(
            *(file, arguments, environment),
            file_actions=actions,
            setsigmask=[],
            setsigdef=_TO_DEFAULT,
        )
        return _Watch(child, others, keeper, Path(folder, "stop")).to_end()


class _Watch:
    def __init__(self, child: int, others: set[int], keeper: Keeper, stop: Path) -> None:
        self._child = child
        self._others = others  # of this process's children: none of the run's, but for the keeper
        self._keeper = keeper
        self._stop = stop
        self._terminated: float | None = None  # when, by the monotonic clock
        self._ended: tuple[int, int | None] | None = None
        self._asked = False

    def to_end(self) -> Ended:
        while self._alive():
            told = self._signal()
            if told is None:
                self._force()
            elif told.si_signo != signal.SIGCHLD:
                self._pass_on(told)
        assert self._ended is not None
        status, number = self._ended
        return Ended(status, number, interrupted=self._asked)

    def _signal(self) -> signal.struct_siginfo | None:
        """The next signal; None when it is time to force an end."""
        if self._terminated is None:
            return signal.sigwaitinfo(_WAITED_FOR)
        patience = _LAST_PATIENCE_S if self._stop.exists() else _PATIENCE_S
        left = self._terminated + patience - time.monotonic()
        return signal.sigtimedwait(_WAITED_FOR, max(left, 0))

    def _force(self) -> None:
        if not self._stop.exists():
            self._stop.touch()
        else:
            _send(self._ours(), signal.SIGKILL)
            self._terminated = None

    def _alive(self) -> bool:
        """Collects ended processes; whether any of the run's is left."""
        while ours := self._adopted():
            ended = [pid for pid in ours if self._collect(pid)]
            if not ended:
                return True
        self._keeper.release()
        return False

    def _adopted(self) -> set[int]:
        """The program, and what came to this process when its parent ended."""
        return _children(os.getpid()) - self._others

    def _collect(self, pid: int) -> bool:
        """Whether it has ended."""
        try:
            ended, how = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:  # another thread was first
            return True
        if ended == pid == self._child:
            by_signal = os.WTERMSIG(how) if os.WIFSIGNALED(how) else None
            self._ended = (os.WEXITSTATUS(how) if by_signal is None else 0, by_signal)
            if by_signal is not None:
                _send(self._ours(), signal.SIGTERM)
        return ended == pid

    def _ours(self) -> list[int]:
        found = self._adopted()
        waiting = list(found)
        while waiting:
            below = _children(waiting.pop())
            found |= below
            waiting += below
        return sorted(found)

    def _pass_on(self, told: signal.struct_siginfo) -> None:
        again = self._asked
        self._asked = True
        if told.si_signo == signal.SIGTERM and self._terminated is None:
            self._terminated = time.monotonic()
        if self._ended is not None:
            _send(self._ours(), signal.SIGKILL if again else told.si_signo)
        elif told.si_code != _FROM_KERNEL:
            _send([self._child], told.si_signo)


def _send(processes: Sequence[int], number: int) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(process, number)


def _children(process: int) -> set[int]:
    """As the kernel lists them: those that ended and are not collected too."""
    found: set[int] = set()
    for thread in Path(f"/proc/{process}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found |= {int(word) for word in thread.read_text(encoding="ascii").split()}
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
