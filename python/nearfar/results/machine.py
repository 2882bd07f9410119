"""What the simulated machine of a program counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class CoreTime:
    """A core's sums, or those of all: `stack_ps` has its time by what it went to.

    `instructions_over_time` goes with the machine's buckets; only single threads have it.
    """

    counts: Mapping[str, int]
    stack_ps: Mapping[str, int]
    instructions_over_time: Sequence[int] = ()


@dataclass(frozen=True)
class LoadLatency:
    """Of loads that L1 did not have, from their asking to their data.

    `buckets` are pairs of a range's highest latency in ps and the loads in it; eight ranges
    share a power of two. The percentiles come from finer ones. Where there are no loads, there are
    no latencies.
    """

    count: int
    mean_ns: float | None
    p50_ns: float | None
    p90_ns: float | None
    p99_ns: float | None
    p999_ns: float | None
    max_ns: float | None
    buckets: Sequence[Sequence[int]] = ()


NO_LOADS = LoadLatency(0, None, None, None, None, None, None)


@dataclass(frozen=True)
class OverTime:
    """Sums of buckets of equal length, the first from the beginning of what is reported.

    Traffic is in lines of 64 B that caches and cores asked memory for, or sent to it;
    `stack_ps` sums threads.
    """

    bucket_ns: float
    near_reads: Sequence[int]
    near_writes: Sequence[int]
    far_reads: Sequence[int]
    far_writes: Sequence[int]
    pages_moved: Sequence[int]
    instructions: Sequence[int]
    stack_ps: Mapping[str, Sequence[int]]


@dataclass(frozen=True)
class Page:
    """A page and the lines that memory was asked for of it.

    `kind` says what it belongs to: "heap", "stack", "file" (the program, a library, a file),
    "persistent", "memory" (without a name), or "other".
    """

    address: int
    tier: str
    bytes: int
    kind: str
    reads: int
    writes: int


@dataclass(frozen=True)
class Area:
    """Pages near each other, from `address` on in cells of `cell_bytes`.

    `near_bytes` and `far_bytes` say where the cell's pages lie.
    """

    address: int
    cell_bytes: int
    kind: str
    reads: Sequence[int]
    writes: Sequence[int]
    near_bytes: Sequence[int]
    far_bytes: Sequence[int]


@dataclass(frozen=True)
class Concentration:
    """What the `most[i]` of a kind with the most take together: `sums[i]`.

    `most` goes 1, 2, 4... up to all of them.
    """

    most: Sequence[int] = ()
    sums: Sequence[int] = ()


@dataclass(frozen=True)
class Cached:
    """What near memory did as a cache of far pages, in pages.

    `hits` are accesses of the program, in its caches or not, to pages that were near; `faults`
    those to others: `first_touches`, which copy nothing, and `copies_in`. Of the pages that left,
    `copies_out` had been written, and `clean_drops` had not; `unmapped` were unmapped while they
    were near. `scans` of the accessed bits saw `pages_scanned`. `resident_pages` were near in the
    end, of at most `near_pages`.
    """

    near_pages: int
    resident_pages: int
    hits: int
    faults: int
    first_touches: int
    copies_in: int
    copies_out: int
    clean_drops: int
    scans: int
    pages_scanned: int
    unmapped: int = 0


@dataclass(frozen=True)
class WrittenLine:
    """A line of 64 B of far memory. Those of one `wear_block` share its `moves` by wear-levelling.

    `address` is the program's, None if the page has been unmapped; `kind` as a page's.
    """

    address: int | None
    kind: str
    writes: int
    wear_block: int
    moves: int


@dataclass(frozen=True)
class WrittenLines:
    """The ten lines of far memory that were written most (MICRO 2020, figure 12).

    `writes` and `moves` are those of all lines and all wear blocks. A line is written when it
    leaves the caches.
    """

    lines: Sequence[WrittenLine] = ()
    count: int = 0
    writes: int = 0
    moves: int = 0

    def writes_of_these(self) -> int:
        """Of the ten, together."""
        return sum(one.writes for one in self.lines)

    def moves_of_these(self) -> int:
        """Moves of the blocks that hold the ten, each block once."""
        return sum({one.wear_block: one.moves for one in self.lines}.values())


@dataclass(frozen=True)
class LoadCost:
    """Cycles of loads against those of the rest (MICRO 2020, figure 12).

    `cycles_per_load` is the time in which a core could not go on for want of a load's data or of
    their translation; of it `llc_cycles_per_load` went to data that the last cache did not have
    and `tlb_cycles_per_load` to translations. `cycles_per_other` is all other time, an instruction
    that is no load. Misses are those of the last cache and of all TLBs, page walks that is, a
    thousand instructions.
    """

    cycles_per_load: float
    llc_cycles_per_load: float
    tlb_cycles_per_load: float
    cycles_per_other: float
    llc_misses_per_1000: float
    tlb_misses_per_1000: float


@dataclass(frozen=True)
class Memory:
    """Where pages lie, how often they moved, and which are hot.

    `pages` are the hottest, hottest first; `areas` all that were asked for, by address;
    `gone_lines` were asked for of pages that had been unmapped at the end, `table_lines` of page
    tables.
    `written_blocks` are blocks of 256 B of far memory, a DIMM's unit of wear. `held_blocks` are
    blocks of instructions that waited because too many pages waited to be copied; `cached` is
    there where near memory was a cache of pages.
    """

    near_bytes: int
    far_bytes: int
    pages_moved: int
    lines_moved: int
    gone_lines: int
    table_lines: int
    pages: Sequence[Page]
    areas: Sequence[Area]
    hot_pages: Concentration
    written_blocks: Concentration
    written_lines: WrittenLines = field(default_factory=WrittenLines)
    held_blocks: int = 0
    cached: Cached | None = None


@dataclass(frozen=True)
class Machine:
    """Everything of one process. Amplification and energy are a point's, over both tiers.

    `hits` are pairs of hits and accesses by what was asked: caches, TLBs, DRAM rows and the
    buffers on DIMMs. `period_ps` is a core's cycle. `begin_ns` is where what is reported begins,
    in simulated time from the run's beginning: the process's start or its region of interest.
    """

    begin_ns: float
    time_ns: float
    period_ps: int
    core: CoreTime
    threads: Sequence[CoreTime]
    load_latency: LoadLatency
    over_time: OverTime
    memory: Memory
    load_cost: LoadCost | None = None
    hits: Mapping[str, Sequence[int]] = field(default_factory=dict)
    media_read_bytes: int | None = None
    media_write_bytes: int | None = None
    read_amplification: float | None = None
    write_amplification: float | None = None
    energy_pj: int | None = None
    energy_pj_per_bit: float | None = None
    average_power_w: float | None = None
    energy: Mapping[str, int] = field(default_factory=dict)
    counters: Mapping[str, int] = field(default_factory=dict)
