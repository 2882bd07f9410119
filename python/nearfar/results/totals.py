"""The machines of a run's processes, added up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

from nearfar.results.machine import NO_LOADS, Cached, Concentration, LoadLatency, Machine
from nearfar.results.run import RunProcess, RunResult

LINE = 64
CAUSES = {
    "base": "the instructions themselves",
    "branch": "branches guessed wrong",
    "l1": "loads from L1",
    "l2": "loads from L2",
    "l3": "loads from L3",
    "memory": "loads from memory",
    "tlb": "translations",
    "store_queue": "a full store queue",
    "fence": "fences",
    "paging": "pages copied between tiers",
}


@dataclass(frozen=True)
class Moved:
    """Bytes that caches and cores asked a tier for, and sent to it."""

    tier: str
    read: int
    written: int


def simulated(ran: RunResult) -> list[tuple[RunProcess, Machine]]:
    """The processes that have a machine, the busiest first."""
    found = [(one, one.machine) for one in ran.processes if one.machine is not None]
    return sorted(found, key=lambda pair: -busy_ps(pair[1]))


def busy_ps(machine: Machine) -> int:
    """The time of all threads together in which they did something."""
    return sum(machine.core.stack_ps.values())


def cycles(machines: Sequence[Machine]) -> dict[str, float]:
    """Cycles of all cores by what they went to."""
    found: dict[str, float] = {}
    for one in machines:
        for cause, ps in one.core.stack_ps.items():
            found[cause] = found.get(cause, 0.0) + ps / one.period_ps
    return found


def instructions(machines: Sequence[Machine]) -> int:
    """That all cores executed."""
    return sum(one.core.counts.get("instructions", 0) for one in machines)


def moved(machines: Sequence[Machine]) -> list[Moved]:
    """By tier; one without accesses is left out."""
    found = []
    for tier in ("near", "far"):
        read = sum(sum(getattr(one.over_time, f"{tier}_reads")) for one in machines) * LINE
        written = sum(sum(getattr(one.over_time, f"{tier}_writes")) for one in machines) * LINE
        if read or written:
            found.append(Moved(tier, read, written))
    return found


def latency(machines: Sequence[Machine]) -> LoadLatency:
    """Of all loads; percentiles of several machines are those of their buckets."""
    if len(machines) == 1:
        return machines[0].load_latency
    sums: dict[int, int] = {}
    for one in machines:
        for highest, count in one.load_latency.buckets:
            sums[highest] = sums.get(highest, 0) + count
    buckets = sorted(sums.items())
    count = sum(sums.values())
    if not count:
        return NO_LOADS
    weighted = sum((one.load_latency.mean_ns or 0) * one.load_latency.count for one in machines)
    top = max(one.load_latency.max_ns or 0.0 for one in machines)
    shares = (0.5, 0.9, 0.99, 0.999)
    p50, p90, p99, p999 = (min(_quantile(buckets, share), top) for share in shares)
    return LoadLatency(
        count, weighted / count, p50, p90, p99, p999, top, [list(pair) for pair in buckets]
    )


def _quantile(buckets: Sequence[tuple[int, int]], share: float) -> float:
    left = share * sum(count for _, count in buckets)
    for highest, count in buckets:
        left -= count
        if left <= 0:
            return highest / 1000
    return 0.0


def buckets(machine: Machine) -> list[tuple[float, float]]:
    """Beginning and end in ns, from the beginning of what is reported, of each bucket.

    The last ends with the run, but is never so short that a single line gives it a bandwidth.
    """
    width = machine.over_time.bucket_ns
    begins = [i * width for i in range(len(machine.over_time.instructions))]
    return [(at, max(min(at + width, machine.time_ns), at + width / 10)) for at in begins]


def energy(machines: Sequence[Machine]) -> dict[str, int]:
    """pJ by component and what they went into."""
    found: dict[str, int] = {}
    for one in machines:
        for name, picojoules in one.energy.items():
            found[name] = found.get(name, 0) + picojoules
    return found


def cached(machines: Sequence[Machine]) -> Cached | None:
    """What near memory did as a cache of pages, where it was one."""
    found = [one.memory.cached for one in machines if one.memory.cached is not None]
    if not found:
        return None
    return Cached(
        **{field.name: sum(getattr(one, field.name) for one in found) for field in fields(Cached)}
    )


def needed_for(concentration: Concentration, share: float) -> tuple[int, int, float]:
    """The fewest counted ones that take at least `share` of all; all there are; their share."""
    if not concentration.sums:
        return 0, 0, 0.0
    total = concentration.sums[-1]
    for most, taken in zip(concentration.most, concentration.sums, strict=True):
        if taken >= share * total:
            return most, concentration.most[-1], taken / total
    return concentration.most[-1], concentration.most[-1], 1.0


def hits(machines: Sequence[Machine]) -> Mapping[str, tuple[int, int]]:
    """Hits and accesses by what was asked."""
    found: dict[str, tuple[int, int]] = {}
    for one in machines:
        for name, (served, asked) in one.hits.items():
            before = found.get(name, (0, 0))
            found[name] = (before[0] + served, before[1] + asked)
    return found
