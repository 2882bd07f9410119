"""What placement policies did with the pages of a recorded program on two addressed tiers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from nearfar.results.decode import encode


@dataclass(frozen=True)
class FlatPolicy:
    """One policy on one size of near memory.

    `slowdown` is its time over that of all near; `gap_recovered` is (T_static - T) / (T_static -
    T_near) and `bound_recovered` the same with the offline bound for T_near: below 0 where the
    policy is slower than `static`, missing where there is nothing to recover. A promotion that
    takes another page's place is one of a pair, of which the demotion is counted too.
    `move_ns` and `detect_ns` are the parts of the time that moving and detecting took. `intervals`
    has a column for each count, with a value for each interval between decisions.
    """

    policy: str
    time_ns: float
    slowdown: float
    near_reads: int
    near_writes: int
    far_reads: int
    far_writes: int
    promoted: int
    demoted: int
    pages_scanned: int
    told: int
    move_ns: float
    detect_ns: float
    intervals: Mapping[str, Sequence[int]]
    gap_recovered: Any = None
    bound_recovered: Any = None


@dataclass(frozen=True)
class FlatSize:
    """One size of near memory. `hottest_ns`: the pages near for good that save most, and none
    moved. `bound_ns`: no sequence of exchanges is faster, at the same cost and number of pairs.
    """

    near_bytes: int
    near_pages: int
    hottest_ns: float
    bound_ns: float
    policies: Sequence[FlatPolicy]


@dataclass(frozen=True)
class FlatReplayResult:
    """A trace on two tiers that are both addressed directly.

    Shares of near memory are of `memory_bytes`, the memory of the machine that was recorded, or
    of the `pages` that the trace touches where it is not stated. Each access of the trace stands
    for `time_scale` of them, and so does its time. `times_with_memory`: the trace's times have
    those of memory in them, and are taken for those of near memory.
    """

    SCHEMA: ClassVar[str] = "nearfar/flat-replay/1"

    version: str
    file: str
    format: str
    page_bytes: int
    pages: int
    reads: int
    writes: int
    decisions: int
    interval_ns: float
    pairs: int
    detector: str
    time_scale: float
    move_cost_ns: float
    scan_cost_ns: float
    fault_cost_ns: float
    read_ns: Sequence[float]
    write_ns: Sequence[float]
    all_near_ns: float
    all_far_ns: float
    sizes: Sequence[FlatSize]
    times_with_memory: bool = False
    memory_bytes: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts and lists, as `json.dumps` takes them."""
        return {"schema": self.SCHEMA, **encode(self)}
