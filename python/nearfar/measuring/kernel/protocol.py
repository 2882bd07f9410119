"""What the Linux module understands: nearfar_ioctl.h in Python.

Fields that are not given are 0, as the module wants them.
"""

from __future__ import annotations

import ctypes
from ctypes import c_int32, c_uint8, c_uint32, c_uint64
from typing import TypeVar

PROTOCOL = 1
DEVICE = "/dev/nearfar"

MOST_ALLOCATED = 1 << 30  # bytes of contiguous memory
MOST_CHUNKS = 1 << 20  # timings that one call answers
MOST_PAUSE_PS = 1_000_000_000_000  # between two accesses of a contention
MOST_BLOCK = 4 << 20  # bytes that the kernel has contiguous without searching

RELEASE, ALLOCATE, RANGE, DAX = range(4)
SMALL_PAGES = 1
REPEAT, READ_BACK, TABLE = 1, 2, 4
HAS_VALUE, HAS_HELD = 1, 2
READS, GENERATES, CHASES, DISTURBS = range(4)

OPS = (
    *("load", "ntload", "load+clflushopt", "load+store"),
    *("store", "ntstore", "store+clwb", "store+clflushopt"),
)
FENCES = ("none", "sfence", "mfence", "cpuid")
FENCE_PLACES = ("none", "region", "block")
FEATURES = {"clflushopt": 1, "clwb": 2, "avx2": 4, "avx512f": 8, "sse41": 16}


class Info(ctypes.Structure):
    """struct nearfar_info."""

    _fields_ = (
        ("protocol", c_uint32),
        ("features", c_uint32),
        ("tsc_khz", c_uint64),
        ("overhead", c_uint32 * 3),
        ("zero", c_uint32),
        ("longest_cycles", c_uint64),
    )


class Place(ctypes.Structure):
    """struct nearfar_memory."""

    _fields_ = (
        ("protocol", c_uint32),
        ("kind", c_uint32),
        ("flags", c_uint32),
        ("zero", c_uint32),
        ("node", c_int32),
        ("fd", c_int32),
        ("physical", c_uint64),
        ("bytes", c_uint64),
    )


class Chunk(ctypes.Structure):
    """struct nearfar_chunk."""

    _fields_ = (("cycles", c_uint64), ("lines", c_uint64), ("at", c_uint64))


class Run(ctypes.Structure):
    """struct nearfar_run."""

    _fields_ = (
        ("protocol", c_uint32),
        ("members", c_uint32),
        ("base", c_uint64),
        ("chunks", c_uint64),
        ("room", c_uint64),
        ("made", c_uint64),
        ("target_ns", c_uint64),
    )


class Chase(ctypes.Structure):
    """struct nearfar_chase."""

    _fields_ = (
        ("run", Run),
        ("region", c_uint64),
        ("block", c_uint64),
        ("stride", c_uint64),
        ("lines", c_uint64),
        ("least_chunks", c_uint64),
        ("seed", c_uint64),
        ("op", c_uint32),
        ("fence", c_uint32),
        ("fence_place", c_uint32),
        ("flags", c_uint32),
    )


class Stream(ctypes.Structure):
    """struct nearfar_stream."""

    _fields_ = (
        ("run", Run),
        ("access", c_uint64),
        ("stride", c_uint64),
        ("area", c_uint64),
        ("fence_every", c_uint64),
        ("lines", c_uint64),
        ("seed", c_uint64),
        ("op", c_uint32),
        ("fence", c_uint32),
        ("reads_percent", c_uint32),
        ("flags", c_uint32),
        ("value", c_uint8 * 64),
        ("held", c_uint8 * 64),
    )


class Overwrite(ctypes.Structure):
    """struct nearfar_overwrite."""

    _fields_ = (
        ("run", Run),
        ("region", c_uint64),
        ("writes", c_uint64),
        ("op", c_uint32),
        ("fence", c_uint32),
    )


class Follow(ctypes.Structure):
    """struct nearfar_follow."""

    _fields_ = (
        ("run", Run),
        ("offsets", c_uint64),
        ("count", c_uint64),
        ("least_chunks", c_uint64),
        ("warm_passes", c_uint32),
        ("changes", c_uint32),
    )


class Drop(ctypes.Structure):
    """struct nearfar_drop."""

    _fields_ = (
        ("run", Run),
        ("lines", c_uint64),
        ("least_chunks", c_uint64),
        ("changes", c_uint32),
        ("zero", c_uint32),
    )


class Contention(ctypes.Structure):
    """struct nearfar_contention."""

    _fields_ = (
        ("run", Run),
        ("area", c_uint64),
        ("reads", c_uint64),
        ("seed", c_uint64),
        ("pause_ps", c_uint64),
        ("lines", c_uint64),
        ("stored", c_uint64),
        ("cycles", c_uint64),
        ("role", c_uint32),
        ("op", c_uint32),
        ("stores", c_uint32),
        ("accesses", c_uint32),
    )


Measurement = TypeVar("Measurement", Chase, Stream, Overwrite, Follow, Drop, Contention)

_NUMBERS: dict[type[ctypes.Structure], int] = {
    Info: 1,
    Place: 2,
    Chase: 16,
    Stream: 17,
    Overwrite: 18,
    Follow: 19,
    Drop: 20,
    Contention: 21,
}


def command(struct: type[ctypes.Structure]) -> int:
    """The number of the call that takes `struct`: _IOWR('N', number, struct)."""
    return 3 << 30 | ctypes.sizeof(struct) << 16 | ord("N") << 8 | _NUMBERS[struct]
