"""ptrace(2) of threads of other processes."""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Callable

CONTINUE, DETACH, GET_REGISTERS, SEIZE, INTERRUPT, LISTEN = 7, 17, 0x4204, 0x4206, 0x4207, 0x4208
ANY_CHILD = 0x40000000  # of waitpid: threads, too (__WALL)


def ptrace(request: int, thread: int, address: int, data: int) -> None:
    """One request. Raises OSError."""
    words = (ctypes.c_long(request), ctypes.c_int(thread), ctypes.c_void_p(address))
    if _call()(*words, ctypes.c_void_p(data)) == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


@functools.cache
def _call() -> Callable[..., int]:
    call = ctypes.CDLL(None, use_errno=True).ptrace
    call.restype = ctypes.c_long
    found: Callable[..., int] = call
    return found
