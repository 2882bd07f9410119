"""What a program is, before it runs: found, executable, for this processor, dynamic or not."""

from __future__ import annotations

import os
import shutil
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar.errors import InputError, file_error

_MACHINES = {3: "i386", 40: "arm", 62: "x86-64", 183: "aarch64", 243: "riscv", 21: "ppc64"}
_X86_64 = 62
_INTERPRETED = 3  # a program header's type: names the dynamic linker
_SCRIPTS_IN_SCRIPTS = 5


@dataclass(frozen=True)
class Command:
    """What the kernel would execute: the file, and the arguments with the name in front."""

    file: str
    arguments: tuple[str, ...]
    dynamic: bool  # linked dynamically: a library can be preloaded


def command(words: Sequence[str]) -> Command:
    """Find a program as a shell does and follow `#!` lines to what runs it.

    Raises InputError, naming the file, for what QEMU's x86-64 cannot run.
    """
    name, arguments = words[0], list(words)
    file = _found(name)
    for _ in range(_SCRIPTS_IN_SCRIPTS):
        head = _head(file)
        if not head.startswith(b"#!"):
            return Command(file, tuple(arguments), _is_dynamic(file, head))
        interpreter = os.fsdecode(head[2:].split(b"\n")[0]).strip().split(None, 1)
        if not interpreter:
            raise InputError(f"{file}: found #! with no interpreter behind it")
        arguments = [*interpreter, file, *arguments[1:]]
        script, file = file, interpreter[0]
        if not Path(file).is_file():
            raise InputError(f"{script}: its interpreter {file} is not there")
    raise InputError(f"{name}: scripts that run scripts, more than {_SCRIPTS_IN_SCRIPTS} deep")


def _found(name: str) -> str:
    path = Path(name)
    if "/" not in name:
        found = shutil.which(name)
        if found is None:
            here = f"; ./{name} is meant?" if path.is_file() else ""
            raise InputError(f"{name}: no such program on PATH{here}")
        return found
    if not path.exists():
        raise InputError(f"{name}: no such file")
    if not path.is_file():
        raise InputError(f"{name}: found a folder or device, expected a program")
    if not os.access(path, os.X_OK):
        raise InputError(f"{name}: is not executable (chmod +x {name})")
    return name


def _head(file: str) -> bytes:
    try:
        with Path(file).open("rb") as stream:
            return stream.read(4096)
    except OSError as error:
        raise file_error(file, error) from None


def _is_dynamic(file: str, head: bytes) -> bool:
    """Whether an x86-64 program names a dynamic linker; InputError for any other file."""
    if not head.startswith(b"\x7fELF") or len(head) < 64:
        raise InputError(f"{file}: found neither a program (ELF) nor a script (#!)")
    machine = struct.unpack_from("<H", head, 18)[0]
    if head[4] != 2 or machine != _X86_64:
        found = _MACHINES.get(machine, f"machine {machine}")
        raise InputError(f"{file}: found a program for {found}, expected one for 64-bit x86-64")
    start, size, count = *struct.unpack_from("<Q", head, 32), *struct.unpack_from("<HH", head, 54)
    places = [start + i * size for i in range(count) if start + i * size + 4 <= len(head)]
    return any(struct.unpack_from("<I", head, place)[0] == _INTERPRETED for place in places)


def linked_dynamically(file: str) -> bool:
    """Whether the program in `file` loads shared libraries."""
    return _is_dynamic(file, _head(file))
