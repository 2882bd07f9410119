"""Stops the threads of a program, but not those that bring in its pages, and reads registers."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from nearfar.errors import NearfarError

_SEIZE, _INTERRUPT, _DETACH, _GET_REGISTERS = 0x4206, 0x4207, 17, 0x4204
_ANY_CHILD = 0x40000000  # __WALL: threads, too
_PATIENCE = 3.0  # seconds for a thread to stop, as one in the middle of a page fault
_LOOK_EVERY = 0.001
_LARGEST = 1 << 16  # of a set of registers

GENERAL, FLOATING, EXTENDED = 1, 2, 0x202  # the sets, by their types in a core file


class _Vector(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


@dataclass(frozen=True)
class Thread:
    """A stopped thread: its number, and its registers by set; a set that it has not is missing."""

    number: int
    registers: dict[int, bytes]


@contextlib.contextmanager
def stopped(process: int, running: Callable[[], set[int]]) -> Iterator[list[Thread]]:
    """Stop all threads of a process but those `running`, the first thread first; then let them go
    on. Which run on is asked for again where new ones have appeared.

    Raises NearfarError if this user may not, or a thread does not stop.
    """
    held: set[int] = set()
    try:
        while found := set(_threads(process)) - held - running():  # until no new ones appear
            for thread in sorted(found):
                if _stop(process, thread):
                    held.add(thread)
                elif Path(f"/proc/{process}/task/{thread}").exists():
                    raise NearfarError(f"{process}: thread {thread} does not stop")
        if not held:
            raise NearfarError(f"{process}: has ended")
        in_order = sorted(held, key=lambda number: (number != process, number))
        yield [Thread(number, _registers(number)) for number in in_order]
    finally:
        for thread in held:
            with contextlib.suppress(OSError):
                _ptrace(_DETACH, thread, 0, 0)


def _threads(process: int) -> list[int]:
    try:
        return [int(path.name) for path in Path(f"/proc/{process}/task").iterdir()]
    except OSError:
        return []


def _stop(process: int, thread: int) -> bool:
    """Whether it has stopped; False too if it has ended."""
    try:
        _ptrace(_SEIZE, thread, 0, 0)
    except OSError as error:
        if error.errno == errno.ESRCH:
            return False
        raise NearfarError(
            f"{process}: may not be looked into ({error.strerror}), as only root may, or a "
            "debugger already does; as root `sysctl kernel.yama.ptrace_scope=0` lets you"
        ) from None
    try:
        _ptrace(_INTERRUPT, thread, 0, 0)
        begun = time.monotonic()
        while time.monotonic() - begun < _PATIENCE:
            number, status = os.waitpid(thread, os.WNOHANG | _ANY_CHILD)
            if number == thread:
                return os.WIFSTOPPED(status)
            time.sleep(_LOOK_EVERY)
    except (ChildProcessError, ProcessLookupError):
        return False
    return False


def _registers(thread: int) -> dict[int, bytes]:
    found = {}
    for kind in (GENERAL, FLOATING, EXTENDED):
        memory = ctypes.create_string_buffer(_LARGEST)
        vector = _Vector(ctypes.addressof(memory), _LARGEST)
        with contextlib.suppress(OSError):
            _ptrace(_GET_REGISTERS, thread, kind, ctypes.addressof(vector))
            found[kind] = memory.raw[: vector.length]
    return found


def _ptrace(request: int, thread: int, address: int, data: int) -> None:
    call = ctypes.CDLL(None, use_errno=True).ptrace
    call.restype = ctypes.c_long
    words = (ctypes.c_long(request), ctypes.c_int(thread), ctypes.c_void_p(address))
    if call(*words, ctypes.c_void_p(data)) == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
