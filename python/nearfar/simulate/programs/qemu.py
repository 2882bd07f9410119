"""QEMU and the plug-in for it: where they are, and whether they go together."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from nearfar.errors import InputError
from nearfar.simulate.programs.elf import linked_dynamically

QEMU = "qemu-x86_64"
GET_QEMU = "apt-get install qemu-user"
SYSTEM_QEMU = "qemu-system-x86_64"
GET_SYSTEM_QEMU = "apt-get install qemu-system-x86"
GET_PLUGIN = "apt-get install libzydis-dev, then make install"
_LENGTH = 256  # of the path of the program's library, or a multiple


@dataclass(frozen=True)
class FrontEnd:
    """How programs are run: QEMU, the plug-in that fits it, the library for the program."""

    qemu: str
    version: str  # QEMU's
    plugin: str
    guest: str
    interface: int  # of the plug-in: from 4 on the addresses of flushes are seen


def folder() -> Path:
    """Where the front end's files are installed; they may not have been built."""
    spec = importlib.util.find_spec("nearfar._core")
    base = Path(spec.origin) if spec and spec.origin else Path(__file__).parent
    return base.parent / "_frontend"


def include_folder() -> Path:
    """Where nearfar.h is."""
    return _file("include")


def front_end(qemu: str = QEMU) -> FrontEnd:
    """The front end with `qemu`, a program on PATH or a file.

    Raises InputError saying what is missing and how to get it.
    """
    found = _dynamic(qemu, GET_QEMU)
    version = _version(found)
    interface = _interface(found, version)
    return FrontEnd(
        qemu=found,
        version=version,
        plugin=str(_file(f"nearfar_qemu_v{interface}.so")),
        guest=_of_one_length(str(_file("nearfar_guest.so"))),
        interface=interface,
    )


def _of_one_length(file: str) -> str:
    """`file` with slashes before it, which say nothing.

    The program's environment names it and lies on its stack: it must not be laid out by where
    nearfar is installed.
    """
    return file.rjust(-(-len(file) // _LENGTH) * _LENGTH, "/")


@dataclass(frozen=True)
class Plugin:
    """A QEMU that runs whole machines, and the plug-in that fits it."""

    qemu: str
    version: str
    file: str


def system_plugin(qemu: str) -> Plugin:
    """The plug-in for `qemu`, a program on PATH or a file, which runs whole machines.

    Raises InputError saying what is missing, or that it cannot load plug-ins.
    """
    if not Path(qemu).name.startswith(SYSTEM_QEMU):
        raise InputError(f"found the program {qemu}, expected {SYSTEM_QEMU} and its arguments")
    found = _dynamic(qemu, GET_SYSTEM_QEMU)
    version = _version(found)
    if not re.search(r"^-plugin\b", _said(found, "--help"), re.MULTILINE):
        raise InputError(
            f"{found}: was built without plug-ins (-plugin is no option of it); expected one "
            "that has them, such as Debian's"
        )
    interface = _interface(found, version)
    return Plugin(found, version, str(_file(f"nearfar_system_v{interface}.so")))


def _dynamic(qemu: str, how: str) -> str:
    found = shutil.which(qemu)
    if found is None:
        raise InputError(f"{qemu} is not there; to get it: {how}")
    if not linked_dynamically(found):
        raise InputError(
            f"{found}: is linked statically and cannot load plug-ins (Debian 13's package is); "
            "expected one that is linked dynamically, such as that of Debian 12 or Ubuntu 24.04"
        )
    return found


def _file(name: str) -> Path:
    file = folder() / name
    if not file.exists():
        raise InputError(
            f"this installation of nearfar has no front end for programs ({file} is not there); "
            f"to get it: {GET_PLUGIN}"
        )
    return file


def _said(qemu: str, option: str) -> str:
    try:
        return subprocess.run(
            [qemu, option], capture_output=True, text=True, check=True, timeout=60
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise InputError(f"{qemu}: does not run: {error}") from None


def _version(qemu: str) -> str:
    found = re.search(r"version (\d+\.\d+(\.\d+)?)", _said(qemu, "--version"))
    if found is None:
        raise InputError(f"{qemu}: does not say its version, expected QEMU")
    return found[1]


def _interface(qemu: str, version: str) -> int:
    """QEMU 8 and older load plug-ins of interface 1, 9.2 and newer those of 4."""
    numbers = tuple(int(part) for part in version.split(".")[:2])
    if numbers < (9, 0):
        return 1
    if numbers < (9, 2):
        raise InputError(
            f"{qemu}: found QEMU {version}, whose plug-in interface is not supported; "
            "expected 6.0 to 8.2, or 9.2 and newer"
        )
    return 4
