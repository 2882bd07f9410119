"""Reads beside reads and writes at one DIMM (the side-channel study of USENIX Security 2023).

A sample is the mean of 200 dependent loads, each of another 256 B block, while a second
process does the same or persists random 4 KiB blocks; hence means are compared. The samples
are cycles of a clock that the artefact does not state, so they are compared as ratios to
the undisturbed read.
"""

from __future__ import annotations

import statistics

from nearfar.measuring.patterns import Contention
from nearfar.simulate.validation.series import HardwarePoint, Job, Series
from nearfar.simulate.validation.tables import Tables

SOURCE = "Liu et al., USENIX Security 2023; artefact data (MIT)"

_IDLE = "sec23_rw_cont_read"
_DISTURBED = (
    ("sec23_rw_cont_read_read", "read beside reads", "load"),
    ("sec23_rw_cont_read_write_50", "read beside writes", "ntstore"),
)


def series(tables: Tables) -> list[Series]:
    """How much slower a read is beside each kind of neighbour; empty without the tables."""
    idle = _median(tables, _IDLE)
    alone = _job("none")
    points = tuple(
        HardwarePoint(
            label=label,
            real=disturbed / idle,
            unit="x idle",
            job=_job(other),
            quantity="ns_per_line",
            relative_to=alone,
            rows=(*tables.rows_of(name), *tables.rows_of(_IDLE)),
        )
        for name, label, other in _DISTURBED
        if idle and (disturbed := _median(tables, name))
    )
    series = Series(
        "contention", "Read latency beside another thread", "contention", SOURCE, points
    )
    return [series] if points else []


def _median(tables: Tables, name: str) -> float:
    """0.0 where the table is missing."""
    table = tables.named(name)
    if table is None:
        return 0.0
    return statistics.median(table.positive(row, "value_cycles_or_count") for row in table.rows)


def _job(other: str) -> Job:
    pattern = Contention(other=other, area="1GiB")
    return Job(pattern, (("channels", "1"),), cost=20 * pattern.reads)
