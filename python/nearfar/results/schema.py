"""What a measurement is: points with their target, environment and pattern.

The JSON form has the fields of these dataclasses, and every number carries its unit in its
name's ending; what does not apply is left out.

A result of a model holds nothing that depends on the machine or the moment it was computed
at, so that the same model, input and seed give the same bytes anywhere and two files can be
compared with `cmp`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from nearfar.results.decode import encode


@dataclass(frozen=True)
class Target:
    """What a pattern ran on."""

    kind: str  # "model" or "host"
    name: str  # the model's or the device's name
    spec: str  # the target as a command line names it
    mode: str  # "simulated" or "measured"


@dataclass(frozen=True)
class Precondition:
    """Something that a measurement on a real machine rests on.

    `effect` says what its absence does to results, `mend` is the command that provides it.
    """

    name: str
    state: str  # "ok", "bad" or "unknown"
    found: str
    effect: str
    mend: str = ""


@dataclass(frozen=True)
class Environment:
    """What could have influenced the numbers. The machine's facts are for measured results.

    `load` is the load average of the minute before.
    """

    version: str
    seed: int
    model_hash: str | None = None
    cpu: str | None = None
    kernel: str | None = None
    governor: str | None = None
    huge_pages: str | None = None
    load: float | None = None
    timer: str | None = None
    preconditions: Sequence[Precondition] | None = None


@dataclass(frozen=True)
class Point:
    """One size and operation.

    `ns_per_line` is elapsed time per 64-byte line per thread; `gb_per_s` is 10^9 bytes a
    second summed over threads; `lines` counts over all threads. The percentiles are those of
    single accesses. Amplification is bytes moved at the media over bytes the host asked for
    in that direction. `hits` counts by buffer; `counters` holds the model's raw counters.
    `energy` is in pJ by component and what it went into, over the whole run as the counters
    are; `energy_pj` is its sum, also given for each bit of the lines that the memory controller
    accepted, and over time as an average power.
    Writes count when the memory controller has accepted them. `drain_ns` is how long those that it
    still held when the counting ended took to leave its queues: a rate is steady when that is a
    small part of `elapsed_ns`.
    An overwrite also has its wear-levelling stalls: how many, the median length, and the
    median number of writes from one to the next.

    A point measured on a real machine is the median of its repetitions. The interval holds
    ns_per_line with 95 % confidence; `nivcsw` counts involuntary context switches of the
    measuring threads and `steal_ns` time the hypervisor took from them, over all repetitions.
    `elapsed_ns` includes such disturbances, `ns_per_line` leaves them out.
    """

    op: str
    threads: int
    lines: int
    ns_per_line: float
    gb_per_s: float
    elapsed_ns: float
    region_bytes: int | None = None
    block_bytes: int | None = None
    access_bytes: int | None = None
    stride_bytes: int | str | None = None
    area_bytes: int | None = None
    p50_ns: float | None = None
    p99_ns: float | None = None
    p999_ns: float | None = None
    max_ns: float | None = None
    interval_ns_per_line: Sequence[float] | None = None  # lowest, highest
    repetitions: int | None = None
    nivcsw: int | None = None
    steal_ns: float | None = None
    other_gb_per_s: float | None = None  # what disturbing threads moved meanwhile
    reads_percent: int | None = None  # of the traffic that is asked of generators
    read_gb_per_s: float | None = None  # at the memory, all threads
    write_gb_per_s: float | None = None
    total_gb_per_s: float | None = None
    drain_ns: float | None = None
    delay_ns: float | None = None  # from one access of a disturbing thread to its next
    value: str | None = None  # that was written, as hexadecimal digits
    stalls: int | None = None
    stall_ns: float | None = None
    stall_interval_writes: float | None = None
    media_read_bytes: int | None = None
    media_write_bytes: int | None = None
    read_amplification: float | None = None
    write_amplification: float | None = None
    energy_pj: int | None = None
    energy_pj_per_bit: float | None = None
    average_power_w: float | None = None
    energy: Mapping[str, int] = field(default_factory=dict)
    hits: Mapping[str, int] = field(default_factory=dict)
    counters: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class MeasureResult:
    """A measurement: target, environment, pattern, points and, for tails, every sample."""

    SCHEMA: ClassVar[str] = "nearfar/result/1"

    target: Target
    environment: Environment
    pattern: Mapping[str, Any]
    points: Sequence[Point]
    samples: Sequence[float] | None = None  # one entry an access, in ns
    interrupted: bool = False  # Ctrl-C: only the points that were finished are here

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts and lists, as `json.dumps` takes them."""
        return {"schema": self.SCHEMA, **encode(self)}
