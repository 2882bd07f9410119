"""What can be read from a run to stand against a measurement.

Pure functions from a result to a number, in an explicit list. A name may carry an argument
after a colon: "ns_per_line:ntload" is that of the run's ntload points.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Sequence

from nearfar.results import Point, Result

# A wear-levelling migration stalls an overwrite for 50-54 us on the real DIMM; the smaller
# families of stalls take 9 to 16 us (vans_overwrite256.csv). This lies between them.
MIGRATION_NS = 30_000.0
SLOW = 20  # a stall is a sample above so many medians (LENS uses 100, and sees one family)


def read(result: Result, quantity: str) -> float:
    """The number that `quantity` names. 0.0 where the run shows nothing of the kind."""
    name, _, argument = quantity.partition(":")
    return _QUANTITIES[name](result, argument)


def stalls(samples: Sequence[float]) -> list[int]:
    """Which overwrites (ns each) met a wear-levelling migration: their positions."""
    threshold = max(SLOW * statistics.median(samples), MIGRATION_NS)
    return [i for i, sample in enumerate(samples) if sample > threshold]


def intervals(positions: Sequence[int]) -> list[int]:
    """Writes between one stall and the next."""
    return [after - before for before, after in itertools.pairwise(positions)]


def variation(values: Sequence[float]) -> float:
    """Coefficient of variation: standard deviation over mean; 0.0 for fewer than two."""
    if len(values) < 2:
        return 0.0
    return statistics.stdev(values) / statistics.fmean(values)


def _point(result: Result, op: str) -> Point:
    return next(point for point in result.points if op in ("", point.op))


def _ns_per_line(result: Result, op: str) -> float:
    return _point(result, op).ns_per_line


def _gb_per_s(result: Result, op: str) -> float:
    return _point(result, op).gb_per_s


def _read_amplification(result: Result, op: str) -> float:
    return _point(result, op).read_amplification or 0.0


def _write_amplification(result: Result, op: str) -> float:
    return _point(result, op).write_amplification or 0.0


def _ordinary_write(result: Result, _: str) -> float:
    return statistics.median(result.samples or (0.0,))


def _stall_length(result: Result, _: str) -> float:
    samples = result.samples or ()
    lengths = [samples[i] for i in stalls(samples)]
    return statistics.median(lengths) if lengths else 0.0


def _stall_interval(result: Result, _: str) -> float:
    gaps = intervals(stalls(result.samples or ()))
    return statistics.median(gaps) if gaps else 0.0


def _stall_variation(result: Result, _: str) -> float:
    return variation(intervals(stalls(result.samples or ())))


_QUANTITIES: dict[str, Callable[[Result, str], float]] = {
    "ns_per_line": _ns_per_line,
    "gb_per_s": _gb_per_s,
    "read_amplification": _read_amplification,
    "write_amplification": _write_amplification,
    "ordinary_write": _ordinary_write,
    "stall_length": _stall_length,
    "stall_interval": _stall_interval,
    "stall_variation": _stall_variation,
}
