"""A process that has what a tree shares open for as long as a process of the tree may want it.

What runs on when the program has ended, or its launcher was killed, opens it again whenever it
executes another program: by the holder's number in /proc.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from nearfar.tier import control
from nearfar.tier.control import Owner
from nearfar.tier.faults import FaultLog
from nearfar.tier.process_stat import stat_behind_name

VARIABLE = "NEARFAR_TIER"  # of the environment, whose value begins with the holder's number
_NAME = "nearfar-tier"
_PATIENCE = 3.0  # seconds for it to look for others
_FIRST_PAUSE, _LONGEST_PAUSE = 0.001, 0.25  # seconds
_MOST_LISTS = 10  # of all processes
_MEMORY_FIELD, _ENVIRONMENT_END_FIELD = 20, 48  # of /proc/PID/stat, counted behind the name


@contextlib.contextmanager
def held_open(memory: int, far_file: int, bell: int, log: FaultLog) -> Iterator[int]:
    """Have a process that keeps these descriptors open, by the same numbers: its own number.

    It belongs to no terminal. Afterwards it is gone if no process of the tree runs; otherwise it is
    the tree's owner until the last has ended, and the log is in use.
    """
    ours, its = socket.socketpair()
    with ours:
        with its:
            holder = os.fork()
            if holder == 0:
                _begin(its, Owner(os.getpid(), memory, far_file, bell), log)
        try:
            yield holder
        finally:
            ours.shutdown(socket.SHUT_WR)
            log.in_use = _stays(ours)
            if not log.in_use:
                with contextlib.suppress(ChildProcessError):  # where SIGCHLD was ignored
                    os.waitpid(holder, 0)


def _stays(holder: socket.socket) -> bool:
    """Whether it does; if it cannot look, as where the kernel has it wait for a process that is
    just becoming another program, it finds out later by itself."""
    holder.settimeout(_PATIENCE)
    try:
        return holder.recv(1) != b""
    except TimeoutError:
        return True


def _begin(launcher: socket.socket, own: Owner, log: FaultLog) -> NoReturn:
    try:
        os.setsid()
        os.chdir("/")
        Path("/proc/self/comm").write_text(_NAME)
        kept = {own.control, own.far, own.bell, launcher.fileno()}
        _close_all_but(kept | {log.descriptor} - {0})
        _hold(launcher, own)
    finally:
        os._exit(0)


def _close_all_but(kept: set[int]) -> None:
    for path in list(Path("/proc/self/fd").iterdir()):
        if int(path.name) not in kept:
            with contextlib.suppress(OSError):  # what listed them is closed already
                os.close(int(path.name))


def _hold(launcher: socket.socket, own: Owner) -> None:
    launcher.recv(1)  # nothing, once the launcher has no more to do, or was killed
    told = False
    while (other := _somebody(own.control)) is not None:
        if not told:
            control.set_owner(own.control, own)
            with contextlib.suppress(OSError):
                launcher.sendall(b"s")
            told = True
        _wait(other)
        os.close(other)


def _somebody(memory: int) -> int | None:
    """A descriptor of some process that may want what is held; None if there is none."""
    for process in _named(memory):
        with contextlib.suppress(OSError):
            other = os.pidfd_open(process)
            if not _wait(other, 0):
                return other
            os.close(other)
    return None


def _named(memory: int) -> Iterator[int]:
    """Processes that may run: those of the tree, and those with its environment, which are about
    to become some of it, or start others.

    A process that has ended since they were listed may have started one that is not among them, so
    they are listed again until all that tell nothing told nothing before; on a machine that starts
    programs all the time, a few times only.
    """
    yield from (member.process for member in control.members(memory))
    own = f"{VARIABLE}={os.getpid()}:".encode()
    before: set[int] = set()
    for _ in range(_MOST_LISTS):
        mute = set()
        for process in _all_processes():
            words = _environment(process)
            named = any(word.startswith(own) for word in words)
            if named:
                yield process
            if named or not words:  # the named process has ended, as another is asked for
                mute.add(process)
        if mute <= before:
            return
        before = mute


def _all_processes() -> list[int]:
    return [int(folder.name) for folder in Path("/proc").iterdir() if folder.name.isdecimal()]


def _environment(process: int) -> list[bytes]:
    """What a process got when it became its program; nothing if it has ended or does not tell. One
    that is just becoming another program is waited for, as it has none meanwhile."""
    with contextlib.suppress(OSError):
        pause = _FIRST_PAUSE
        while not (text := Path(f"/proc/{process}/environ").read_bytes()):
            if not _is_becoming_another(process):
                break
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
        return text.split(b"\0")[:-1]
    return []


def _is_becoming_another(process: int) -> bool:
    """Whether a process has memory, but not yet a place in it for its environment."""
    stat = stat_behind_name(Path(f"/proc/{process}"))
    return int(stat[_MEMORY_FIELD]) > 0 and int(stat[_ENVIRONMENT_END_FIELD]) == 0


def _wait(process: int, timeout_ms: int | None = None) -> bool:
    """Wait for the end of a process by its descriptor; whether it has come."""
    poll = select.poll()
    poll.register(process, select.POLLIN)
    return bool(poll.poll(timeout_ms))
