"""What the processes of a launched tree share: the budget, what was counted, what they are told.

The layout is that of core/tier/tree/control.h and core/tier/tree/orders.h.
"""

from __future__ import annotations

import contextlib
import enum
import errno
import fcntl
import os
import resource
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from nearfar.errors import NearfarError
from nearfar.results.faults import POLICIES

PAGE = 4096
NAME = "nearfar-tier"

_MAGIC = 0x3172656974666E
_BYTES = 512 << 10
SLOTS = 1 << 28  # of 4 KiB: a far file of at most 1 TiB; what is not used costs nothing
_SLOT_BYTES = 4  # a count of users, and the owner
_SLOTS_A_CHUNK, _CHUNK_BYTES = 64, 4
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
    "stored_peak",
    "stall_ns",
    "emulated_ns",
    "delayed_ns",
    "guarded_ins",
    "guards_broken",
    "guarded_drops",
    "filled_drops",
    "window_touches",
    "huge_moves",
    "huge_ins",
    "ready_ins",
    "recycled_ins",
    "split_ins",
    "gathered",
    "followed",
    "outside",
)

_LIMIT_AT = 8
_POLICY_AT = 24
_TOTALS = struct.Struct("<4Q")  # near and managed pages, the far file's slots: end, used
_TOTALS_AT = 32
# process, pages near, managed, unmanaged, thread, region
_MEMBER = struct.Struct("<i4xQQQ8xi4xQ8x")
_MEMBERS_END_AT = _COUNTS_AT + 8 * len(COUNTS)
_STORED_AT = _MEMBERS_END_AT + 8
_MEMBERS_AT = (_STORED_AT + 16 + 63) // 64 * 64  # behind what a process waits for
_ORDERS_AT = 384 << 10
_ORDERS = struct.Struct("<IIQQ4iIIII")
_COMPRESSION_AT = _ORDERS_AT + 40
_EVICTION_AT = _COMPRESSION_AT + 4
_ANSWER = struct.Struct("<I4xQ")
_WORD = struct.Struct("<I")
_LONG = struct.Struct("<Q")
_OWNER, _OWNER_AT = struct.Struct("<4i"), _ORDERS_AT + 24
_GENERATIONS = 1 << 32  # of orders, before they begin again


COMPRESSIONS = ("none", "lz4", "zstd")
FAR_STORES = ("file", "anonymous", "node", "compressed")
BEST, MOVE, COPY = EVICTIONS = ("best", "move", "copy")
AUTO, *_ = PAGER_CPUS = ("auto", "any", "same", "same_idle", "per_cpu")  # serve faults


class Residence(enum.IntEnum):
    """What becomes of pages that are far."""

    FREE = 0  # they leave and come as usual
    COUNTED = 1  # each process says how many there are
    KEPT = 2  # they come back, and none leaves but for want of room


@dataclass(frozen=True)
class Delay:
    """What emulated far memory takes, in picoseconds: each page that moves, and 4 KiB of bytes."""

    latency_ps: int = 0
    transfer_ps: int = 0


@dataclass(frozen=True)
class Owner:
    """A process, and the numbers under which it has its tree's descriptors open."""

    process: int
    control: int
    far: int
    bell: int


@dataclass(frozen=True)
class Member:
    """One process of a tree: its part, in pages, and what it answered last."""

    process: int
    near: int
    managed: int
    followed: int
    far: int
    pager_thread: int
    region: int  # the address at which its memory describes what is managed of it


@dataclass(frozen=True)
class Totals:
    """What a tree has now, in pages, and what the far ones take in bytes."""

    near: int
    managed: int
    far: int
    stored_bytes: int


def create(
    near_bytes: int,
    policy: str,
    fault_log: int,
    delay: Delay,
    compression: str = "none",
    eviction: str = BEST,
    pager_cpu: str = AUTO,
) -> int:
    """Make the shared memory for a tree with so much near memory: its descriptor.

    `policy` is one of POLICIES; `fault_log` this process's number for a file that faults are
    recorded in, or 0; `delay` is charged for what moves from or to far memory; `compression`, of
    COMPRESSIONS, is what lies there compressed with; `eviction`, of EVICTIONS, how pages leave;
    `pager_cpu`, of PAGER_CPUS, where the pager's threads run. Raises NearfarError where no file may
    be so large.
    """
    memory = os.memfd_create(NAME)
    chunks = SLOTS // _SLOTS_A_CHUNK * _CHUNK_BYTES
    length = _BYTES + SLOTS * _SLOT_BYTES + chunks
    try:
        os.ftruncate(memory, length)
    except OSError as error:
        os.close(memory)
        if error.errno != errno.EFBIG:
            raise
        raise NearfarError(
            f"found files of {resource.getrlimit(resource.RLIMIT_FSIZE)[0] >> 10} KiB at "
            f"most (ulimit -f), expected {-(-length >> 10)} KiB or more, of which little is used; "
            "raise the limit"
        ) from None
    words = (_MAGIC, near_bytes // PAGE, SLOTS, POLICIES.index(policy), fault_log)
    os.pwrite(memory, struct.pack("<3QIi", *words), 0)
    delays = (delay.latency_ps, delay.transfer_ps)
    of_pages = (
        COMPRESSIONS.index(compression),
        EVICTIONS.index(eviction),
        PAGER_CPUS.index(pager_cpu),
        FAR_STORES.index("file" if compression == "none" else "compressed"),
    )
    orders = _ORDERS.pack(1, Residence.FREE, *delays, 0, 0, 0, 0, *of_pages)
    os.pwrite(memory, orders, _ORDERS_AT)
    return memory


def counts(memory: int) -> dict[str, int]:
    """What was counted so far, by name."""
    layout = struct.Struct(f"<{len(COUNTS)}Q")
    values = layout.unpack(os.pread(memory, layout.size, _COUNTS_AT))
    return dict(zip(COUNTS, values, strict=True))


def totals(memory: int) -> Totals:
    """What is near, far and managed now."""
    near, managed, _, far = _TOTALS.unpack(os.pread(memory, _TOTALS.size, _TOTALS_AT))
    stored: int = _LONG.unpack(os.pread(memory, _LONG.size, _STORED_AT))[0]
    return Totals(near, managed, far, stored)


def members(memory: int) -> list[Member]:
    """The processes of the tree."""
    used: int = _LONG.unpack(os.pread(memory, _LONG.size, _MEMBERS_END_AT))[0]
    parts = _MEMBER.iter_unpack(os.pread(memory, _MEMBER.size * used, _MEMBERS_AT))
    size = _ANSWER.size * used
    answers = _ANSWER.iter_unpack(os.pread(memory, size, _ORDERS_AT + _ORDERS.size))
    return [
        Member(process, near, managed, followed, far, thread, region)
        for (process, near, managed, _, thread, region), (followed, far) in zip(
            parts, answers, strict=True
        )
        if process > 0
    ]


def limit(memory: int) -> int:
    """The near memory that the tree may have, in pages."""
    pages: int = _LONG.unpack(os.pread(memory, _LONG.size, _LIMIT_AT))[0]
    return pages


def policy(memory: int) -> str:
    """What the tree's pages are replaced by, of POLICIES."""
    return POLICIES[_WORD.unpack(os.pread(memory, _WORD.size, _POLICY_AT))[0]]


def compression(memory: int) -> str:
    """What the tree's far pages are compressed with, of COMPRESSIONS."""
    return COMPRESSIONS[_WORD.unpack(os.pread(memory, _WORD.size, _COMPRESSION_AT))[0]]


def eviction(memory: int) -> str:
    """How the tree's pages leave, of EVICTIONS."""
    return EVICTIONS[_WORD.unpack(os.pread(memory, _WORD.size, _EVICTION_AT))[0]]


def set_limit(memory: int, pages: int) -> None:
    """Change that; `order` makes the processes look at it."""
    os.pwrite(memory, _LONG.pack(pages), _LIMIT_AT)


def residence(memory: int) -> Residence:
    """What becomes of far pages."""
    return Residence(_WORD.unpack(os.pread(memory, _WORD.size, _ORDERS_AT + 4))[0])


def set_residence(memory: int, what: Residence) -> None:
    """Change that; `order` makes the processes look at it."""
    os.pwrite(memory, _WORD.pack(what), _ORDERS_AT + 4)


def owner(memory: int) -> Owner:
    """Who has the tree's descriptors open, where nobody launched it."""
    words = _ORDERS.unpack(os.pread(memory, _ORDERS.size, _ORDERS_AT))
    return Owner(*words[4:8])


def set_owner(memory: int, owner: Owner) -> None:
    """Say who has them open from now on."""
    words = (owner.process, owner.control, owner.far, owner.bell)
    os.pwrite(memory, _OWNER.pack(*words), _OWNER_AT)


def order(memory: int, bell: int) -> int:
    """Make every process look at what was changed: the generation that they will have followed.

    `bell` is the end of a pipe, not blocking, that nobody else reads. Others may give orders at
    the same time where nobody launched the tree, so this is for who has `locked` it.
    """
    before: int = _WORD.unpack(os.pread(memory, _WORD.size, _ORDERS_AT))[0]
    generation = (before + 1) % _GENERATIONS
    os.pwrite(memory, _WORD.pack(generation), _ORDERS_AT)
    try:
        os.write(bell, b"\0")
    except BlockingIOError:  # full of what everybody has heard
        os.read(bell, 1 << 16)
        os.write(bell, b"\0")
    return generation


def has_followed(member: Member, generation: int) -> bool:
    """Whether a process has followed an order, or one after it."""
    return (member.followed - generation) % _GENERATIONS < _GENERATIONS // 2


@contextlib.contextmanager
def locked(memory: int) -> Iterator[None]:
    """Keep others, that have opened it for themselves, from giving orders meanwhile."""
    fcntl.flock(memory, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(memory, fcntl.LOCK_UN)


def open_bell() -> int:
    """Make the pipe that wakes the processes of a tree: one descriptor, to read and write."""
    reading, writing = os.pipe()
    try:
        return os.open(f"/proc/self/fd/{writing}", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    finally:
        os.close(reading)
        os.close(writing)
