"""How wear-levelling stalls are spread on another DIMM (USENIX Security 2023).

A hundred stalls: their lengths, in cycles of a clock that is not stated, and the writes from
one to the next. Lengths are compared by their spread: percentiles over the median.
"""

from __future__ import annotations

import statistics

from nearfar.measuring.patterns import Overwrite
from nearfar.simulate.validation.series import HardwarePoint, Job, Series
from nearfar.simulate.validation.tables import Table, Tables

SOURCE = "Liu et al., USENIX Security 2023; artefact data (MIT)"
WRITES = 1_700_000  # as for the overwrites of MICRO 2020, whose run is the same

_GAPS, _LENGTHS = "sec23_wearlevel_write_gap_dist", "sec23_wearlevel_write_lat_dist"


def series(tables: Tables, writes: int = WRITES) -> list[Series]:
    """Three figures of the intervals, two of the lengths."""
    job = Job(Overwrite(writes=writes), overrides=(("channels", "1"),), cost=4 * writes)
    points: list[HardwarePoint] = []
    gaps, lengths = tables.named(_GAPS), tables.named(_LENGTHS)
    if gaps is not None:
        values = _values(gaps)
        middle = statistics.median(values)
        rows = tuple(gaps.rows)
        points += [
            HardwarePoint("median interval", middle, "writes", job, "stall_interval", rows=rows),
            _spread("interval, 10th percentile", values, 10, job, "stall_interval_p10"),
            _spread("interval, 90th percentile", values, 90, job, "stall_interval_p90"),
        ]
    if lengths is not None:
        values = _values(lengths)
        points += [
            HardwarePoint(
                "stall, 90th percentile",
                _percentile(values, 90) / statistics.median(values),
                "x median",
                job,
                "stall_length_p90",
                rows=tuple(lengths.rows),
            ),
            _spread("stall, longest", values, 100, job, "stall_length_p100"),
        ]
    title = "Wear-levelling stalls of another DIMM"
    return [Series("wear", title, "wear", SOURCE, tuple(points))][: len(points)]


def _spread(label: str, values: list[float], share: int, job: Job, quantity: str) -> HardwarePoint:
    real = _percentile(values, share) / statistics.median(values)
    return HardwarePoint(label, real, "x median", job, quantity)


def _values(table: Table) -> list[float]:
    return [table.positive(row, "value_cycles_or_count") for row in table.rows]


def _percentile(values: list[float], share: int) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, share * len(ordered) // 100)]
