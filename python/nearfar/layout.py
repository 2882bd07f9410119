"""Structs of the core, in files and in memory, by the layouts that it declares (nearfar._lists)."""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping

Field = tuple[int, str]  # offset, and the code of its type in `struct`
Layout = Mapping[str, Field]


def record(layout: Layout, size_bytes: int = 0) -> struct.Struct:
    """The whole of a struct: its fields in the order of their offsets, the first at the beginning.

    `size_bytes`: of the struct, where others follow it; what lies between the fields is passed
    over.
    """
    code, end = "<", min(offset for offset, _ in layout.values())
    begin = end
    for offset, kind in sorted(layout.values()):
        code += f"{offset - end}x{kind}"
        end = offset + struct.calcsize(kind)
    return struct.Struct(f"{code}{max(0, begin + size_bytes - end)}x")


def values(layout: Layout, data: bytes) -> dict[str, int]:
    """The fields of a struct, by name."""
    names = sorted(layout, key=lambda name: layout[name][0])
    return dict(zip(names, record(layout).unpack_from(data), strict=True))


def read_field(descriptor: int, field: Field) -> int:
    """One field of a struct that a file begins with."""
    offset, kind = field
    size = struct.calcsize(kind)
    value: int = struct.unpack(f"<{kind}", os.pread(descriptor, size, offset))[0]
    return value


def write_field(descriptor: int, field: Field, value: int) -> None:
    """Change one field of a struct that a file begins with."""
    offset, kind = field
    os.pwrite(descriptor, struct.pack(f"<{kind}", value), offset)
