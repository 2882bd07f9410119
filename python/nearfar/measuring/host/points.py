"""From the repetitions of one setting on a real machine to its point."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nearfar.measuring.chunks import Chunks, median_interval, posted_ns, serial_ns, together_ns
from nearfar.measuring.loaded import Loaded
from nearfar.measuring.patterns import OVERWRITE_ACCESS
from nearfar.measuring.points import percentiles
from nearfar.measuring.quantity import LINE
from nearfar.measuring.stalls import intervals, stalls
from nearfar.results import Point

Data = Mapping[str, Any]


@dataclass(frozen=True)
class Repetition:
    """One run of one setting, in fresh memory."""

    ns_per_line: float
    lines: int  # of all threads
    elapsed_ns: float  # of the slowest thread, disturbed chunks included
    nivcsw: int
    steal_ns: float
    other_gb_per_s: float | None = None
    loads_per_ns: float | None = None  # lines, of generators
    stores_per_ns: float | None = None
    delay_ns: float | None = None


def chase_repetition(data: Data, op: str, region: int) -> Repetition:
    """A chase; `region` in bytes. Loads wait for one another, stores do not."""
    extent = region // LINE * (2 if op == "raw" else 1)
    serial = op == "raw" or "load" in op
    return _repetition(
        data,
        data["threads"],
        [serial_ns(t, extent) if serial else posted_ns(t) for t in data["threads"]],
    )


def stream_repetition(data: Data) -> Repetition:
    """Independent accesses of one or more threads."""
    return _repetition(data, data["threads"], [posted_ns(t) for t in data["threads"]])


def contention_repetition(data: Data) -> Repetition:
    """The reading thread alone, and what the others moved."""
    # The median: which share of the reads met the other thread's is the question here.
    found = _repetition(data, [data], [posted_ns(data)])
    return replace(found, other_gb_per_s=data["other_gb_per_s"])


def loaded_repetition(data: Data, delay_ns: float | None) -> Repetition:
    """The reader, and the lines that generators loaded and stored meanwhile."""
    found = _repetition(data, [data], [posted_ns(data)])
    return replace(
        found,
        loads_per_ns=data["loads_per_ns"],
        stores_per_ns=data["stores_per_ns"],
        delay_ns=delay_ns,
    )


def loaded_point(pattern: Loaded, percent: int, repetitions: Sequence[Repetition]) -> Point:
    """One rate of a curve. A cached store counts as a line read and a line written."""
    one = point("load", 1, repetitions, area_bytes=pattern.area, reads_percent=percent)

    def median(values: Sequence[float | None]) -> float:
        return statistics.median(value or 0.0 for value in values)

    loads = median([each.loads_per_ns for each in repetitions])
    stores = median([each.stores_per_ns for each in repetitions])
    delays = [each.delay_ns for each in repetitions if each.delay_ns is not None]
    read = one.gb_per_s + LINE * (loads + (stores if pattern.op == "store" else 0.0))
    return replace(
        one,
        delay_ns=statistics.median(delays) if delays else None,
        read_gb_per_s=read,
        write_gb_per_s=LINE * stores,
        total_gb_per_s=read + LINE * stores,
    )


def _repetition(data: Data, threads: Sequence[Chunks], ns: Sequence[float]) -> Repetition:
    return Repetition(
        ns_per_line=together_ns(ns),
        lines=sum(sum(thread["lines"]) for thread in threads),
        elapsed_ns=max(sum(thread["ns"]) for thread in threads),
        nivcsw=data["nivcsw"],
        steal_ns=data["steal_ns"],
    )


def point(op: str, threads: int, repetitions: Sequence[Repetition], **sizes: Any) -> Point:
    """The point of a setting, by the median of its repetitions."""
    ns_per_line = statistics.median(one.ns_per_line for one in repetitions)
    others = [one.other_gb_per_s for one in repetitions if one.other_gb_per_s is not None]
    other = statistics.median(others) if others else None
    gb_per_s = threads * LINE / ns_per_line  # bytes a ns are 10^9 bytes a second
    return Point(
        op=op,
        threads=threads,
        lines=round(statistics.median_low(one.lines for one in repetitions)),
        ns_per_line=ns_per_line,
        gb_per_s=gb_per_s,
        elapsed_ns=statistics.median(one.elapsed_ns for one in repetitions),
        interval_ns_per_line=median_interval([one.ns_per_line for one in repetitions]),
        repetitions=len(repetitions),
        nivcsw=sum(one.nivcsw for one in repetitions),
        steal_ns=sum(one.steal_ns for one in repetitions),
        other_gb_per_s=other,
        total_gb_per_s=None if other is None else gb_per_s + other,
        **sizes,
    )


def overwrite_point(data: Data, op: str, region: int) -> Point:
    """The whole of an overwrite, every write timed: nothing is repeated and nothing left out."""
    samples: list[float] = data["ns"]
    slow = stalls(samples)
    gaps = intervals(slow)
    lines = len(samples) * OVERWRITE_ACCESS // LINE
    elapsed = sum(samples)
    return Point(
        op=op,
        threads=1,
        lines=lines,
        ns_per_line=elapsed / lines,
        gb_per_s=lines * LINE / elapsed if elapsed else 0.0,
        elapsed_ns=elapsed,
        region_bytes=region,
        access_bytes=OVERWRITE_ACCESS,
        **percentiles(samples),
        repetitions=1,
        nivcsw=data["nivcsw"],
        steal_ns=data["steal_ns"],
        stalls=len(slow),
        stall_ns=statistics.median(samples[i] for i in slow) if slow else None,
        stall_interval_writes=statistics.median(gaps) if gaps else None,
    )
