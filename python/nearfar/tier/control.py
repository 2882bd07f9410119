"""What the processes of a launched tree share: the budget, what was counted, what they are told.

core/tier/tree/control.h and core/tier/tree/orders.h declare it.
"""

from __future__ import annotations

import contextlib
import enum
import errno
import fcntl
import os
import resource
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from nearfar import _lists
from nearfar.errors import NearfarError
from nearfar.layout import Layout, read_field, record, write_field
from nearfar.results.faults import DEFAULT_POLICY, POLICIES
from nearfar.tier.share import Share

PAGE = 4096
NAME = "nearfar-tier"
SLOTS = _lists.FAR_SLOTS

COUNTS = tuple(_lists.COUNTS)
COMPRESSIONS = tuple(_lists.COMPRESSIONS)
FAR_STORES = tuple(_lists.FAR_STORES)
EVICTIONS = tuple(_lists.EVICTIONS)
BEST, MOVE, COPY = "best", "move", "copy"  # of EVICTIONS
PLACEMENT_POLICIES = tuple(_lists.PLACEMENT_POLICIES)
DETECTORS = tuple(_lists.DETECTORS)
PAGER_CPUS = tuple(_lists.PAGER_CPUS)  # where the pager's threads run
AUTO, ANY = "auto", "any"
_RESIDENCES = tuple(_lists.RESIDENCES)

_MEMBER = record(_lists.MEMBER, _lists.MEMBER_BYTES)
_ANSWER = record(_lists.ANSWER, _lists.ANSWER_BYTES)
_OWNER = ("owner", "control_descriptor", "far_descriptor", "bell_descriptor")
_GENERATIONS = 1 << 32  # of orders, before they begin again


class Residence(enum.IntEnum):
    """What becomes of pages that are far, as nearfar._lists.RESIDENCES says."""

    FREE = _RESIDENCES.index("free")
    COUNTED = _RESIDENCES.index("counted")
    KEPT = _RESIDENCES.index("kept")


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
    obeyed: int
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


@dataclass(frozen=True)
class Flat:
    """How two tiers are managed that are both addressed directly: `policy` of PLACEMENT_POLICIES,
    `detector` of DETECTORS, two NUMA nodes, the time between decisions, and the pairs of pages that
    change places in one. `share`: of the managed memory, what is near; None: near memory has a size
    of its own. `fallback`: the detector where the kernel refuses to begin with that one; None: that
    is an error.
    """

    policy: str
    detector: str
    near_node: int
    far_node: int
    interval_ns: int
    pairs: int
    share: Share | None = None
    fallback: str | None = None


@dataclass(frozen=True)
class Settings:
    """What is settled for a tree before its first program begins.

    `fault_log` is this process's number for a file that faults are recorded in, or 0; `delay` is
    charged for what moves from or to far memory.
    """

    policy: str = DEFAULT_POLICY  # of POLICIES
    fault_log: int = 0
    delay: Delay = field(default_factory=Delay)
    far_store: str = FAR_STORES[0]
    compression: str = COMPRESSIONS[0]
    eviction: str = BEST
    pager_cpu: str = AUTO
    flat: Flat | None = None


def create(near_bytes: int, settings: Settings) -> int:
    """Make the shared memory for a tree with so much near memory: its descriptor.

    Raises NearfarError where no file may be so large.
    """
    memory = os.memfd_create(NAME)
    try:
        os.ftruncate(memory, _lists.CONTROL_BYTES)
    except OSError as error:
        os.close(memory)
        if error.errno != errno.EFBIG:
            raise
        raise NearfarError(
            f"found files of {resource.getrlimit(resource.RLIMIT_FSIZE)[0] >> 10} KiB at "
            f"most (ulimit -f), expected {-(-_lists.CONTROL_BYTES >> 10)} KiB or more, of which "
            "little is used; raise the limit"
        ) from None
    _write(
        memory,
        _lists.CONTROL,
        {
            "magic": _lists.CONTROL_MAGIC,
            "limit_pages": near_bytes // PAGE,
            "far_slots": SLOTS,
            "policy": POLICIES.index(settings.policy),
            "fault_log": settings.fault_log,
        },
    )
    _write(
        memory,
        _lists.ORDERS,
        {
            "generation": 1,
            "residence": Residence.FREE,
            "latency_ps": settings.delay.latency_ps,
            "transfer_ps": settings.delay.transfer_ps,
            "compression": COMPRESSIONS.index(settings.compression),
            "eviction": EVICTIONS.index(settings.eviction),
            "pager_cpu": PAGER_CPUS.index(settings.pager_cpu),
            "far_store": FAR_STORES.index(settings.far_store),
        },
    )
    if settings.flat is not None:
        _write(memory, _lists.FLAT, _flat_words(settings.flat))
    return memory


def _flat_words(flat: Flat) -> dict[str, int]:
    return {
        "policy_plus_one": PLACEMENT_POLICIES.index(flat.policy) + 1,
        "detector": DETECTORS.index(flat.detector),
        "near_node": flat.near_node,
        "far_node": flat.far_node,
        "interval_ns": flat.interval_ns,
        "pairs": flat.pairs,
        "share": 0 if flat.share is None else flat.share.millionths,
    }


def _write(memory: int, layout: Layout, values: Mapping[str, int]) -> None:
    for name, value in values.items():
        write_field(memory, layout[name], value)


def counts(memory: int) -> dict[str, int]:
    """What was counted so far, by name."""
    offset, kind = _lists.CONTROL["counts"]
    words = struct.Struct(f"<{len(COUNTS)}{kind}")
    return dict(zip(COUNTS, words.unpack(os.pread(memory, words.size, offset)), strict=True))


def totals(memory: int) -> Totals:
    """What is near, far and managed now."""
    if is_flat(memory):
        near, far = (_flat(memory, name) for name in ("near_pages", "far_pages"))
        return Totals(near, near + far, far, far * PAGE)
    names = ("near_total", "managed_total", "slots_used", "stored_bytes")
    return Totals(*(read_field(memory, _lists.CONTROL[name]) for name in names))


def members(memory: int) -> list[Member]:
    """The processes of the tree."""
    used = read_field(memory, _lists.CONTROL["members_end"])
    members_at, answers_at = _lists.CONTROL["members"][0], _lists.ORDERS["answers"][0]
    parts = _MEMBER.iter_unpack(os.pread(memory, _MEMBER.size * used, members_at))
    answers = _ANSWER.iter_unpack(os.pread(memory, _ANSWER.size * used, answers_at))
    flat = is_flat(memory)
    return [
        Member(process, flat_near if flat else near, managed, obeyed, far, thread, region)
        for (process, near, managed, thread, flat_near, region), (obeyed, far) in zip(
            parts, answers, strict=True
        )
        if process > 0
    ]


def is_flat(memory: int) -> bool:
    """Whether both tiers are addressed directly."""
    return _flat(memory, "policy_plus_one") != 0


def share(memory: int) -> Share | None:
    """What part of the managed memory may be near, if that is no size."""
    millionths = _flat(memory, "share")
    return Share(millionths) if millionths else None


def _flat(memory: int, name: str) -> int:
    return read_field(memory, _lists.FLAT[name])


def limit(memory: int) -> int:
    """The near memory that the tree may have, in pages."""
    part = share(memory)
    if part is not None:
        return part.of(totals(memory).managed)
    return read_field(memory, _lists.CONTROL["limit_pages"])


def policy(memory: int) -> str:
    """What the tree's pages are replaced by, of POLICIES, or, where both tiers are addressed
    directly, what exchanges them, of PLACEMENT_POLICIES."""
    placement = _flat(memory, "policy_plus_one")
    if placement:
        return PLACEMENT_POLICIES[placement - 1]
    return POLICIES[read_field(memory, _lists.CONTROL["policy"])]


def compression(memory: int) -> str:
    """What the tree's far pages are compressed with, of COMPRESSIONS."""
    return COMPRESSIONS[read_field(memory, _lists.ORDERS["compression"])]


def eviction(memory: int) -> str:
    """How the tree's pages leave, of EVICTIONS."""
    return EVICTIONS[read_field(memory, _lists.ORDERS["eviction"])]


def set_limit(memory: int, pages: int, part: Share | None = None) -> None:
    """Change that, or make it a part of the managed memory; `order` makes the processes look at
    it."""
    write_field(memory, _lists.FLAT["share"], 0 if part is None else part.millionths)
    write_field(memory, _lists.CONTROL["limit_pages"], pages)


def residence(memory: int) -> Residence:
    """What becomes of far pages."""
    return Residence(read_field(memory, _lists.ORDERS["residence"]))


def set_residence(memory: int, what: Residence) -> None:
    """Change that; `order` makes the processes look at it."""
    write_field(memory, _lists.ORDERS["residence"], what)


def owner(memory: int) -> Owner:
    """The process that has the tree's descriptors open, if no launcher started the tree."""
    return Owner(*(read_field(memory, _lists.ORDERS[name]) for name in _OWNER))


def set_owner(memory: int, owner: Owner) -> None:
    """Name the process that has them open from now on."""
    words = (owner.process, owner.control, owner.far, owner.bell)
    _write(memory, _lists.ORDERS, dict(zip(_OWNER, words, strict=True)))


def order(memory: int, bell: int) -> int:
    """Make every process look at what was changed: the generation of orders that begins.

    `bell` is the end of a pipe, not blocking, that no other process reads. Where no launcher
    started the tree, several processes may give orders, so the caller must have `locked` it.
    """
    generation = (read_field(memory, _lists.ORDERS["generation"]) + 1) % _GENERATIONS
    write_field(memory, _lists.ORDERS["generation"], generation)
    try:
        os.write(bell, b"\0")
    except BlockingIOError:  # full of bytes that have woken every process
        os.read(bell, 1 << 16)
        os.write(bell, b"\0")
    return generation


def has_obeyed(member: Member, generation: int) -> bool:
    """Whether a process has obeyed an order, or one after it."""
    return (member.obeyed - generation) % _GENERATIONS < _GENERATIONS // 2


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
