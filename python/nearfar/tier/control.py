"""What the processes of a launched tree share: the budget, and what was counted.

The layout is that of core/tier/control.h.
"""

from __future__ import annotations

import os
import struct

PAGE = 4096

_MAGIC = 0x3172656974666E
_BYTES = 64 << 10
_SLOTS = 1 << 28  # of 4 KiB: a far file of at most 1 TiB; what is not used costs nothing
_SLOT_BYTES = 2
_COUNTS_AT = 64

COUNTS = (
    "faults",
    "copies_in",
    "copies_out",
    "first_touches",
    "evictions",
    "second_chances",
    "clean_drops",
    "zero_drops",
    "read_ahead",
    "read_ahead_hits",
    "pinned",
    "over_budget",
    "forks",
    "near_peak",
    "managed_peak",
    "unmanaged_peak",
    "slots_peak",
)


def create(near_bytes: int) -> int:
    """Make the shared memory for a tree with so much near memory: its descriptor."""
    memory = os.memfd_create("nearfar-tier")
    os.ftruncate(memory, _BYTES + _SLOTS * _SLOT_BYTES)
    os.pwrite(memory, struct.pack("<4Q", _MAGIC, near_bytes // PAGE, _SLOTS, 0), 0)
    return memory


def counts(memory: int) -> dict[str, int]:
    """What was counted so far, by name."""
    layout = struct.Struct(f"<{len(COUNTS)}Q")
    values = layout.unpack(os.pread(memory, layout.size, _COUNTS_AT))
    return dict(zip(COUNTS, values, strict=True))
