"""What can be read from a run to stand against a measurement.

Pure functions from a result to a number, in an explicit list. A name may carry an argument
after a colon: "ns_per_line:ntload" is that of the run's ntload points. A run that shows
nothing of the kind gives 0.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Sequence

from nearfar.measuring.stalls import intervals, stalls, variation
from nearfar.results import MeasureResult, Point

WALK = "mean_ns"  # of the timed reads: the one quantity of a walk


def read(result: MeasureResult, quantity: str) -> float:
    """The number that `quantity` names."""
    name, _, op = quantity.partition(":")
    if name == "latency_at":
        return latency_at(result, float(op))
    point = next(point for point in result.points if op in ("", point.op))
    return _QUANTITIES[name](point, result) or 0.0


def latency_at(result: MeasureResult, gb_per_s: float) -> float:
    """Of a family of one curve: the reader's latency where so much moves in all, on the line
    between the rates beside it; that of the highest bandwidth where the curve does not go so far.
    """
    rising = _to_the_highest(result.points)
    for (low, fast), (high, slow) in itertools.pairwise(rising):
        if low <= gb_per_s <= high:
            return fast + (slow - fast) * (gb_per_s - low) / (high - low)
    return rising[0][1] if gb_per_s < rising[0][0] else rising[-1][1]


def _to_the_highest(points: Sequence[Point]) -> list[tuple[float, float]]:
    """Total bandwidth and latency, from idle by falling pauses up to the highest bandwidth. A rate
    that brings no more bandwidth than the one before is left out."""

    def pause(point: Point) -> float:
        return float("inf") if point.delay_ns is None else point.delay_ns

    rising: list[tuple[float, float]] = []
    for point in sorted(points, key=pause, reverse=True):
        total = point.total_gb_per_s or 0.0
        if not rising or total > rising[-1][0]:
            rising.append((total, point.ns_per_line))
    return rising


def _highest_total(_: Point, result: MeasureResult) -> float:
    return max(point.total_gb_per_s or 0.0 for point in result.points)


def _alone(_: Point, result: MeasureResult) -> float:
    return next(point.ns_per_line for point in result.points if point.delay_ns is None)


def _ordinary_write(_: Point, result: MeasureResult) -> float:
    return statistics.median(result.samples or (0.0,))


def _stall_variation(_: Point, result: MeasureResult) -> float:
    return variation(intervals(stalls(result.samples or (0.0,))))


def _spread(values: Sequence[float], share: int) -> float:
    """A percentile over the median; 0 where there is none."""
    if not values:
        return 0.0
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, share * len(ordered) // 100)] / statistics.median(values)


def _interval_spread(share: int) -> Callable[[Point, MeasureResult], float]:
    def read(_: Point, result: MeasureResult) -> float:
        return _spread(intervals(stalls(result.samples or (0.0,))), share)

    return read


def _length_spread(share: int) -> Callable[[Point, MeasureResult], float]:
    def read(_: Point, result: MeasureResult) -> float:
        samples = result.samples or (0.0,)
        return _spread([samples[i] for i in stalls(samples)], share)

    return read


_QUANTITIES: dict[str, Callable[[Point, MeasureResult], float | None]] = {
    "ns_per_line": lambda point, _: point.ns_per_line,
    "gb_per_s": lambda point, _: point.gb_per_s,
    "peak_gb_per_s": lambda _, result: max(point.gb_per_s for point in result.points),
    "peak_total_gb_per_s": _highest_total,
    "idle_ns": _alone,
    "p50_ns": lambda point, _: point.p50_ns,
    "read_amplification": lambda point, _: point.read_amplification,
    "write_amplification": lambda point, _: point.write_amplification,
    "ordinary_write": _ordinary_write,
    "stall_length": lambda point, _: point.stall_ns,
    "stall_interval": lambda point, _: point.stall_interval_writes,
    "stall_variation": _stall_variation,
    "stall_interval_p10": _interval_spread(10),
    "stall_interval_p90": _interval_spread(90),
    "stall_length_p90": _length_spread(90),
    "stall_length_p100": _length_spread(100),
}
