"""What can be read from a run to stand against a measurement.

Pure functions from a result to a number, in an explicit list. A name may carry an argument
after a colon: "ns_per_line:ntload" is that of the run's ntload points. A run that shows
nothing of the kind gives 0.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence

from nearfar.measuring.stalls import intervals, stalls, variation
from nearfar.results import MeasureResult, Point

WALK = "mean_ns"  # of the timed reads: the one quantity of a walk


def read(result: MeasureResult, quantity: str) -> float:
    """The number that `quantity` names."""
    name, _, op = quantity.partition(":")
    point = next(point for point in result.points if op in ("", point.op))
    return _QUANTITIES[name](point, result) or 0.0


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
