"""Where the sockets of this user's launchers are: a folder that only the user may enter."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nearfar.errors import NearfarError

_SUFFIX = ".sock"


def folders() -> list[Path]:
    """The folders in which there may be sockets, that for a new one first."""
    temporary = Path("/tmp", f"nearfar-{os.getuid()}")
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    usable = runtime.startswith("/") and Path(runtime).is_dir()
    return [Path(runtime) / "nearfar", temporary] if usable else [temporary]


@contextlib.contextmanager
def opened(folder: Path) -> Iterator[Path]:
    """The folder under a short name, as sockets have little room for theirs.

    Raises NearfarError if it is another's or open to others, OSError if it is not there.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        if status.st_uid != os.getuid():
            raise NearfarError(
                f"{folder}: belongs to user {status.st_uid}, expected {os.getuid()}; "
                "remove it, or set XDG_RUNTIME_DIR to a folder of your own"
            )
        if stat.S_IMODE(status.st_mode) & 0o077:
            raise NearfarError(
                f"{folder}: is open to others (mode {stat.S_IMODE(status.st_mode):o}), expected "
                f"700; `chmod 700 {folder}` mends it"
            )
        yield Path(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)


def make() -> Path:
    """The folder for a new socket, made if need be. Raises OSError."""
    folder = folders()[0]
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    return folder


@dataclass
class Listening:
    """A socket that listens and its path, which goes at the end unless it `stays`."""

    socket: socket.socket
    path: Path
    stays: bool = False


@contextlib.contextmanager
def listening(name: str, use: str) -> Iterator[Listening]:
    """A new socket of that name, which listens. `use` says in a message what for.

    It gets its name when it listens: a socket that refuses is taken for that of a launcher which
    has ended, and removed. Raises NearfarError if there is no place for it.
    """
    with contextlib.ExitStack() as stack:
        made = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        try:
            folder = make()
            short = stack.enter_context(opened(folder))
            nameless = short / f"{name}.new"
            nameless.unlink(missing_ok=True)  # of an earlier process with this number
            made.bind(str(nameless))
            nameless.chmod(0o600)
            made.listen()
            nameless.rename(short / name)
        except OSError as error:
            raise NearfarError(
                f"{folders()[0]}: {error.strerror}, so that there is no place for {use}; set "
                "XDG_RUNTIME_DIR to a folder of your own"
            ) from None
        place = Listening(made, folder / name)
        try:
            yield place
        finally:
            if not place.stays:
                (short / name).unlink(missing_ok=True)


def socket_name(process: int) -> str:
    """The name of a launcher's socket."""
    return f"{process}{_SUFFIX}"


def launchers(folder: Path) -> list[int]:
    """The numbers of processes that have, or had, a socket there."""
    names = [path.name.removesuffix(_SUFFIX) for path in folder.glob(f"*{_SUFFIX}")]
    return sorted(int(name) for name in names if name.isdecimal())
