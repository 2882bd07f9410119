"""The shared library for other simulators: where it and its headers are installed."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from nearfar.errors import InputError

LIBRARY = "libnearfar.so.1"


def library() -> Path:
    """The library that came with the package. Raises InputError where none was built."""
    spec = importlib.util.find_spec("nearfar._core")
    base = Path(spec.origin) if spec and spec.origin else Path(__file__)
    found = base.parent / "_library" / LIBRARY
    if not found.is_file():
        raise InputError(
            f"{found}: is not there, expected on Linux; to get it: pip install --force-reinstall ."
        )
    return found


def compile_flags() -> list[str]:
    """What a compiler of C or C++ needs to find `nearfar/memory.h`."""
    return [f"-I{library().parent / 'include'}"]


def link_flags() -> list[str]:
    """What the linker needs; a program linked so finds the library where it is."""
    found = library()
    return [str(found), f"-Wl,-rpath,{found.parent}"]
