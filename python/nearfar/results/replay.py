"""What a replayed trace did to a memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from nearfar.results.decode import encode
from nearfar.results.machine import LoadLatency
from nearfar.results.schema import Environment, Target


@dataclass(frozen=True)
class Traffic:
    """Lines of 64 B by the time at which their requests completed, in buckets of equal length."""

    bucket_ns: float
    reads: Sequence[int]
    writes: Sequence[int]


@dataclass(frozen=True)
class ReplayResult:
    """Totals, and percentiles of the read latency. What was not measured is None: the latencies
    where nothing was read, the bandwidth where no time has passed, lateness where accesses have no
    cycle to be late for.

    `elapsed_ps` is from when the first request was due to the last completion, and to the moment
    at which the last write left the memory's queues if `trace` says `drain`. `late` counts accesses
    that entered after their cycle, `late_max_ns` is the longest such
    wait: a sign that the trace asks for more than the memory gives. `commands` counts DRAM
    commands by kind over all channels, `commands_by_device` those of host DRAM ("dram"), near DRAM
    and the DRAM on DIMMs ("nvdimm"); energy is a point's; `trace` says what was played and how.
    """

    SCHEMA: ClassVar[str] = "nearfar/replay/1"

    target: Target
    environment: Environment
    trace: Mapping[str, Any]
    requests: int
    reads: int
    writes: int
    elapsed_ps: int
    gb_per_s: float | None
    read_p50_ns: float | None
    read_p99_ns: float | None
    read_p999_ns: float | None
    read_max_ns: float | None
    late: int | None
    late_max_ns: float | None
    commands: Mapping[str, int] = field(default_factory=dict)
    counters: Mapping[str, int] = field(default_factory=dict)
    energy_pj: int | None = None
    energy_pj_per_bit: float | None = None
    average_power_w: float | None = None
    energy: Mapping[str, int] = field(default_factory=dict)
    fences: int = 0
    commands_by_device: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    read_latency: LoadLatency | None = None
    over_time: Traffic | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts and lists, as `json.dumps` takes them."""
        return {"schema": self.SCHEMA, **encode(self)}
