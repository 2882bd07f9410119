"""Which programs can be managed: those into which the dynamic linker loads a library."""

from __future__ import annotations

import mmap
import os
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nearfar.errors import InputError

_GO_BUILD = b"\xff Go buildinf:"
_SANITIZERS = {
    b"__asan_init": "AddressSanitizer",
    b"__hwasan_init": "HWAddressSanitizer",
    b"__msan_init": "MemorySanitizer",
    b"__tsan_init": "ThreadSanitizer",
}
_SECTION_BYTES = 64
_STRINGS = 3  # a section's type: names
_LOADED = 2  # a section's flag: for the dynamic linker
_CAPABILITIES = "security.capability"
_OTHER_BACKEND = "--backend swap (in place of --far) runs any program"


def check_manageable(file: str, dynamic: bool) -> None:
    """Raise InputError, with the reason, if the program in `file` cannot be managed.

    `dynamic`: it names a dynamic linker.
    """
    if _is_go(file):
        raise InputError(
            f"{file}: is a Go program, whose memory is its runtime's own, by system calls "
            f"that a preloaded library does not see; {_OTHER_BACKEND}"
        )
    if not dynamic:
        raise InputError(
            f"{file}: is linked statically, so no library can be preloaded to manage its "
            f"memory; {_OTHER_BACKEND}"
        )
    sanitizer = _sanitizer(file)
    if sanitizer is not None:
        raise InputError(
            f"{file}: is built with {sanitizer}, which has an allocator and addresses of its own; "
            f"build it without -fsanitize, or {_OTHER_BACKEND}"
        )
    if _changes_user(file):
        raise InputError(
            f"{file}: runs as another user or with capabilities (set-uid, set-gid, file "
            "capabilities), and the dynamic linker preloads nothing into such programs; "
            f"{_OTHER_BACKEND}"
        )


def _is_go(file: str) -> bool:
    with _contents(file) as contents:
        return contents.find(_GO_BUILD) >= 0


def _sanitizer(file: str) -> str | None:
    """The sanitizer that a program needs, by the names that it is linked to or has linked in."""
    with _contents(file) as contents:
        (start,) = struct.unpack_from("<Q", contents, 40)
        size, count = struct.unpack_from("<HH", contents, 58)
        if size < _SECTION_BYTES:
            return None
        for at in range(start, min(start + size * count, len(contents) - size + 1), size):
            kind, flags, _, begin, length = struct.unpack_from("<IQQQQ", contents, at + 4)
            if kind != _STRINGS or not flags & _LOADED:
                continue
            names = contents[begin : begin + length].split(b"\0")
            for name, sanitizer in _SANITIZERS.items():
                if name in names:
                    return sanitizer
    return None


@contextmanager
def _contents(file: str) -> Iterator[mmap.mmap]:
    with (
        Path(file).open("rb") as stream,
        mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as contents,
    ):
        yield contents


def _changes_user(file: str) -> bool:
    status = Path(file).stat()
    if status.st_mode & stat.S_ISUID and status.st_uid != os.geteuid():
        return True
    if status.st_mode & stat.S_ISGID and status.st_gid != os.getegid():
        return True
    return os.geteuid() != 0 and _CAPABILITIES in os.listxattr(file)
