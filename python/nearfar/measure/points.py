"""From the core's counts to a point: the arithmetic, in one place.

The core reports whole picoseconds and counters; everything a reader wants as a rate or a
ratio is computed here. Amplification needs the model's own counters of bytes at the media.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from nearfar.measure.patterns import OVERWRITE_ACCESS, Overwrite, Stream
from nearfar.measure.quantity import LINE
from nearfar.measure.stalls import intervals, stalls
from nearfar.results import Point

Data = Mapping[str, Any]


def chase_point(data: Data, op: str, region: int, block: int) -> Point:
    """One region and operation of a chase."""
    return replace(_point(data, op), region_bytes=region, block_bytes=block)


def overwrite_point(data: Data, pattern: Overwrite, samples: Sequence[float]) -> Point:
    """The whole of an overwrite; its percentiles are those of the 256 B writes."""
    slow = stalls(samples)
    gaps = intervals(slow)
    return replace(
        _point(data, pattern.op),
        region_bytes=pattern.region,
        access_bytes=OVERWRITE_ACCESS,
        stalls=len(slow),
        stall_ns=statistics.median(samples[i] for i in slow) if slow else None,
        stall_interval_writes=statistics.median(gaps) if gaps else None,
    )


def stream_point(data: Data, pattern: Stream, op: str, access: int, stride: int | str) -> Point:
    """One operation, access size, stride and number of threads of a stream."""
    return replace(
        _point(data, op), access_bytes=access, stride_bytes=stride, area_bytes=pattern.area
    )


def _point(data: Data, op: str) -> Point:
    lines, threads = int(data["lines"]), int(data["threads"])
    elapsed_ns = data["elapsed_ps"] / 1000
    timed = bool(data["max_ps"])
    return Point(
        op=op,
        threads=threads,
        lines=lines,
        elapsed_ns=elapsed_ns,
        ns_per_line=elapsed_ns * threads / lines,
        # bytes a ns are 10^9 bytes a second
        gb_per_s=lines * LINE / elapsed_ns if elapsed_ns else 0.0,
        p50_ns=data["p50_ps"] / 1000 if timed else None,
        p99_ns=data["p99_ps"] / 1000 if timed else None,
        p999_ns=data["p999_ps"] / 1000 if timed else None,
        max_ns=data["max_ps"] / 1000 if timed else None,
        counters=dict(sorted(data["counters"].items())),
    )
