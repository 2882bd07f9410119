"""Which programs can be managed: those into which the dynamic linker loads a library."""

from __future__ import annotations

import mmap
import os
import stat
from pathlib import Path

from nearfar.errors import InputError

_GO_BUILD = b"\xff Go buildinf:"
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
    if _changes_user(file):
        raise InputError(
            f"{file}: runs as another user or with capabilities (set-uid, set-gid, file "
            "capabilities), and the dynamic linker preloads nothing into such programs; "
            f"{_OTHER_BACKEND}"
        )


def _is_go(file: str) -> bool:
    with (
        Path(file).open("rb") as stream,
        mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as contents,
    ):
        return contents.find(_GO_BUILD) >= 0


def _changes_user(file: str) -> bool:
    status = Path(file).stat()
    if status.st_mode & stat.S_ISUID and status.st_uid != os.geteuid():
        return True
    if status.st_mode & stat.S_ISGID and status.st_gid != os.getegid():
        return True
    return os.geteuid() != 0 and _CAPABILITIES in os.listxattr(file)
