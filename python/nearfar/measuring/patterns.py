"""The microbenchmarks as values: what to access, in which order, how often.

A pattern knows nothing of where it runs; `nearfar.measure` plays it on a target.
Constructing one checks it, so a pattern that exists can be run, up to the target's capacity.
Sizes are bytes; text such as "4KiB" is accepted wherever a size is, and so are lists of
them, one point each.
"""

# ruff: noqa: RUF009  (a descriptor as a default is how a dataclass is given one)

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from nearfar.errors import InputError
from nearfar.measuring import fields
from nearfar.measuring.fields import Option
from nearfar.measuring.loaded import Loaded
from nearfar.measuring.quantity import LINE, line_multiple

# The others run on models and on real machines alike, HOST_OPS on real machines alone.
HOST_OPS = ("load+clflushopt", "store+clflushopt")
MODEL_OPS = ("load+store+clwb", "load+mkpt")  # on models alone
CHASE_OPS = (
    *("ntload", "load", "ntstore", "store", "store+clwb", "raw", "load+store"),
    *MODEL_OPS,
    *HOST_OPS,
)
OVERWRITE_OPS = ("ntstore", "store+clwb", "store+clflushopt")
STREAM_OPS = ("load", "ntload", "store", "ntstore", "store+clwb", "load+store", *HOST_OPS)
HOST_FENCE = "cpuid"  # serialises the whole core
FENCES = ("mfence", "sfence", HOST_FENCE)
AGENTS = ("core", "none")  # none: without a core's limits, straight to the controller

OVERWRITE_ACCESS = 256  # bytes in one timed overwrite: an access of the media

# What a point touches unless told: with so many accesses the mean of a load moves by less
# than half a per cent between seeds. A bigger region is walked once.
STEADY_LINES = 65536

_OUTSTANDING = Option("lines in flight at most")
_AGENT = Option("none drives the controller without a core's limits")
_SEED = Option("of every random order; default 1")


@dataclass(frozen=True)
class Chase:
    """A dependent chain through the blocks of a region in random order.

    One point per region size, number of threads and operation. `regions="fresh"` walks
    consecutive regions, each touched once (all stores first, then all loads); "repeat" walks
    one region again and again. "raw" stores a region and then loads it, timed together.
    `lines` fixes how many lines a thread touches, rounded up to whole regions; None: enough
    for a steady figure. With `whole=False` a walk may end inside its region, which bounds
    the cost of a huge one. `outstanding` lowers the core's limit of lines in flight.

    Blocks may begin every `stride` bytes; `region` counts the bytes of blocks. On real machines
    alone, loads may find their successors in a "table" elsewhere in place of the "lines" they
    load.
    """

    region: fields.Sizes = fields.Sizes(
        4096, Option("one point for each", json="region_bytes", required=True)
    )
    block: fields.Size = fields.Size(
        LINE, Option("accessed together; default 64B", json="block_bytes")
    )
    op: fields.Names = fields.Names(
        "ntload",
        CHASE_OPS,
        Option(
            "ntload (default), load, ntstore, store, store+clwb, raw (read after write); "
            "load+store (changes each line it follows); on a model also load+store+clwb (and "
            "writes it back) and load+mkpt (marked for Pre-translation), on a host "
            "load+clflushopt, store+clflushopt",
            metavar="OP[,OP...]",
        ),
    )
    regions: fields.Name = fields.Name(
        "fresh", ("fresh", "repeat"), Option("default fresh: each line once")
    )
    fence: fields.Name = fields.Name(
        "region", ("region", "block", "none"), Option("where; default region")
    )
    fence_kind: fields.Name = fields.Name(
        "mfence", FENCES, Option("default mfence; cpuid on a host")
    )
    threads: fields.Counts = fields.Counts(1, Option("default 1"))
    outstanding: fields.OptionalCount = fields.OptionalCount(None, _OUTSTANDING)
    agent: fields.Name = fields.Name("core", AGENTS, _AGENT)
    lines: fields.OptionalCount = fields.OptionalCount(
        None, Option("lines a thread touches, rounded up to whole regions")
    )
    seed: fields.Count = fields.Count(1, _SEED, least=0)
    whole: bool = True
    stride: fields.OptionalSize = fields.OptionalSize(
        None, Option("between blocks' beginnings", json="stride_bytes")
    )
    successors: fields.OptionalName = fields.OptionalName(
        None,
        ("lines", "table"),
        Option("host: loads find the next block in the lines (default) or in a table elsewhere"),
    )

    kind: ClassVar[str] = "chase"

    def __post_init__(self) -> None:
        if self.stride is not None and self.stride < self.block:
            raise InputError(f"stride: {self.stride} B is smaller than block, {self.block} B")
        for region in self.region:
            if self.block > region:
                raise InputError(f"block: {self.block} B is larger than the region of {region} B")
            if region % self.block:
                raise InputError(f"region: {region} B is not a multiple of block, {self.block} B")

    def lines_for(self, region: int) -> int:
        """How many lines a thread touches for the point over `region`."""
        per_region = region // LINE
        wanted = STEADY_LINES if self.lines is None else self.lines
        if not self.whole and wanted < per_region:
            per_region = self.block // LINE
        return -(-wanted // per_region) * per_region

    def footprint(self, region: int, threads: int) -> int:
        """Bytes of memory that the points over `region` reach: each pass is on fresh ones."""
        spread = (self.stride or self.block) // self.block
        if self.regions == "repeat":
            return region * spread * threads
        passes = max(1, len([op for op in self.op if op != "raw"]))
        return max(region, self.lines_for(region) * LINE) * spread * passes * threads

    def to_dict(self) -> dict[str, Any]:
        """The pattern as a result carries it."""
        return fields.to_dict(self)


@dataclass(frozen=True)
class Overwrite:
    """Writes of 256 B one after another, each fenced and timed, going round a small region."""

    region: fields.Size = fields.Size(OVERWRITE_ACCESS, Option("default 256B", json="region_bytes"))
    writes: fields.Count = fields.Count(262144, Option("default 262144"))
    op: fields.Name = fields.Name(
        "ntstore",
        OVERWRITE_OPS,
        Option("ntstore (default) or store+clwb; on a host store+clflushopt", metavar="OP"),
    )
    fence_kind: fields.Name = fields.Name(
        "mfence", FENCES, Option("default mfence; cpuid on a host")
    )
    seed: fields.Count = fields.Count(1, _SEED, least=0)

    kind: ClassVar[str] = "overwrite"

    def __post_init__(self) -> None:
        line_multiple("region", self.region, OVERWRITE_ACCESS)

    def to_dict(self) -> dict[str, Any]:
        """The pattern as a result carries it."""
        return fields.to_dict(self)


@dataclass(frozen=True)
class OneStream:
    """What one point of a stream is of. A `stride` of "random" is at random."""

    op: str
    access: int
    stride: int | str
    threads: int
    value: str | None = None


@dataclass(frozen=True)
class Stream:
    """Independent accesses at full speed: bandwidth by operation, size, stride and threads.

    Each thread walks its own `area` with accesses of `access` bytes every `stride` bytes
    ("random": each access at a random multiple of `access`). `reads` mixes: that share of
    the accesses, in per cent, loads and the rest does `op`. `agent="none"` drives the memory
    controller directly, without the core's limits. `lines` counts those of all threads,
    rounded up to whole accesses of each.

    On real machines alone, whose memory holds something: stores write each `value` in turn, one
    point for each, over the value `held` before.
    """

    op: fields.Names = fields.Names(
        "load",
        STREAM_OPS,
        Option(
            "load, ntload, store, ntstore, store+clwb, load+store; on a host also "
            "load+clflushopt, store+clflushopt",
            metavar="OP[,OP...]",
            required=True,
        ),
    )
    access: fields.Sizes = fields.Sizes(
        256, Option("bytes of one access; default 256B", json="access_bytes")
    )
    stride: fields.Strides = fields.Strides(
        None, Option("default: the access size, so sequential", json="stride_bytes")
    )
    threads: fields.Counts = fields.Counts(1, Option("default 1"))
    area: fields.Size = fields.Size(
        2 << 30, Option("of each thread; default 2GiB", json="area_bytes")
    )
    reads: fields.Percent = fields.Percent(
        None, Option("mix: this share loads, the rest does OP", json="reads_percent")
    )
    outstanding: fields.OptionalCount = fields.OptionalCount(None, _OUTSTANDING)
    fence_every: fields.OptionalSize = fields.OptionalSize(
        None, Option("bytes between fences; default none", json="fence_every_bytes")
    )
    fence_kind: fields.OptionalName = fields.OptionalName(  # None: sfence
        None, FENCES, Option("default sfence; cpuid on a host")
    )
    agent: fields.Name = fields.Name("core", AGENTS, _AGENT)
    lines: fields.OptionalCount = fields.OptionalCount(
        None, Option("lines a point touches over all threads")
    )
    seed: fields.Count = fields.Count(1, _SEED, least=0)
    value: fields.OptionalValues = fields.OptionalValues(
        None,
        Option(
            "host: what stores write, 1, 2, 4... 64 bytes repeated, such as 0xf0; one point each"
        ),
    )
    held: fields.OptionalValue = fields.OptionalValue(
        None, Option("host: what memory holds before")
    )

    kind: ClassVar[str] = "stream"

    def __post_init__(self) -> None:
        if self.value is not None and set(self.op) <= {"load", "ntload", "load+clflushopt"}:
            raise InputError(f"value: {', '.join(self.op)} writes nothing")
        if self.fence_kind is not None and self.fence_every is None:
            raise InputError("fence-kind: without fence-every there is no fence")
        for access in self.access:
            for stride in self.strides_for(access):
                if isinstance(stride, int) and stride < access:
                    raise InputError(f"stride: {stride} B is smaller than access, {access} B")
                if max(access, stride if isinstance(stride, int) else 0) > self.area:
                    raise InputError(f"area: {self.area} B does not hold one access and stride")

    def strides_for(self, access: int) -> Sequence[int | str]:
        """The strides that the points of this access size run at."""
        return (access,) if self.stride is None else self.stride

    def points(self) -> Iterator[OneStream]:
        """Every point, in order."""
        for op in self.op:
            for access in self.access:
                for stride in self.strides_for(access):
                    for threads in self.threads:
                        for value in self.value or (None,):
                            yield OneStream(op, access, stride, threads, value)

    def lines_for(self, access: int, threads: int) -> int:
        """How many lines the point touches over all threads: whole accesses of each."""
        wanted = max(STEADY_LINES, 4096 * threads) if self.lines is None else self.lines
        per_round = access // LINE * threads
        return -(-wanted // per_round) * per_round

    def reads_percent(self, op: str) -> int:
        """The share of accesses that load: all of a load's and none of a store's, unmixed."""
        if self.reads is not None:
            return self.reads
        return 100 if op in ("load", "ntload", "load+store") else 0

    @property
    def fence(self) -> str:
        """Which fence stands every `fence_every` bytes."""
        return self.fence_kind or "sfence"

    def footprint(self, threads: int) -> int:
        """Bytes of memory that a point with so many threads reaches."""
        return self.area * threads

    def to_dict(self) -> dict[str, Any]:
        """The pattern as a result carries it."""
        return fields.to_dict(self)


@dataclass(frozen=True)
class Contention:
    """Single random reads, one at a time, while other threads load, store or are idle.

    What the others do: "load" the same, one at a time; "ntload" or "ntstore" random lines as
    fast as they can. Each of these waits `delay` (ns) from one access to the next, and one that
    loads singly from the answer to its next, one point for each delay: latency under the load
    that is injected.
    """

    other: fields.Name = fields.Name(
        "ntstore",
        ("none", "load", "ntload", "ntstore"),
        Option(
            "what other threads do: load one at a time, or load or store (default) at full speed"
        ),
    )
    area: fields.Size = fields.Size(
        1 << 30, Option("of each thread; default 1GiB", json="area_bytes")
    )
    reads: fields.Count = fields.Count(20000, Option("default 20000"))
    seed: fields.Count = fields.Count(1, _SEED, least=0)
    threads: fields.OptionalCount = fields.OptionalCount(  # the others; None: one
        None, Option("others; default 1")
    )
    delay: fields.OptionalTimes = fields.OptionalTimes(
        None,
        Option(
            "load that is injected: from one access of another thread to its next; one point each",
            json="delay_ns",
        ),
    )

    kind: ClassVar[str] = "contention"

    def __post_init__(self) -> None:
        if self.other == "none" and (self.threads is not None or self.delay is not None):
            raise InputError("other: none leaves no thread that threads or delay could be about")

    def others(self) -> int:
        """How many threads disturb the reader."""
        return 0 if self.other == "none" else self.threads or 1

    def footprint(self) -> int:
        """Bytes of memory that all threads reach."""
        return (1 + self.others()) * self.area

    def to_dict(self) -> dict[str, Any]:
        """The pattern as a result carries it."""
        return fields.to_dict(self)


Pattern = Chase | Overwrite | Stream | Contention | Loaded
