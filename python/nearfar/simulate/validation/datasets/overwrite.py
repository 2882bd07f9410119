"""Overwriting one 256 B block: the ordinary write and the wear-levelling stalls.

Four figures, compared one by one: the median of the ordinary writes, the median length of
a migration's stall, the median number of writes between two, and how regular they are.
"""

from __future__ import annotations

import dataclasses
import statistics

from nearfar.errors import InputError
from nearfar.measuring.patterns import Overwrite
from nearfar.measuring.stalls import intervals, stalls, variation
from nearfar.simulate.validation.series import HardwarePoint, Job, Series
from nearfar.simulate.validation.tables import Row, Table, Tables

SOURCE = "Wang et al., MICRO 2020; data of the VANS repository (MIT)"

# The interval's variation is an estimate: from 100 intervals it is good to 7 %. The
# measured run had 16, which is why the comparison is with a span in the documentation.
WRITES = 1_700_000
QUICK_WRITES = 340_000


def series(tables: Tables, writes: int = WRITES) -> list[Series]:
    """The four figures, from a table of samples (iteration, ns)."""
    return [
        Series(
            name="overwrite",
            title="256 B overwrites: ordinary write and wear-levelling stalls",
            dataset="overwrite",
            source=SOURCE,
            points=_points(table, column, writes),
        )
        for table, column in _sample_tables(tables)
    ]


def _sample_tables(tables: Tables) -> list[tuple[Table, str]]:
    found = [(table, "ns") for table in tables.with_columns("iteration", "ns")]
    return found + [
        (table, "ns_at_2.2GHz") for table in tables.with_columns("iteration", "ns_at_2.2GHz")
    ]


def _points(table: Table, column: str, writes: int) -> tuple[HardwarePoint, ...]:
    job = Job(Overwrite(writes=writes), overrides=(("channels", "1"),), cost=4 * writes)
    ordinary = [table.positive(row, column) for row in table.rows if _regular(table, row)]
    samples = [table.positive(row, column) for row in table.rows]
    at = [table.whole(row, "iteration") for row in table.rows]
    slow = stalls(samples) if ordinary else []
    gaps = intervals([at[i] for i in slow])
    if not ordinary or len(gaps) < 2:
        raise InputError(
            f"{table.name}.csv: found {len(ordinary)} ordinary writes and {len(slow)} stalls, "
            "expected one and three, or more"
        )
    return (
        HardwarePoint(
            "median write",
            statistics.median(ordinary),
            "ns",
            job,
            "ordinary_write",
            rows=tuple(table.rows),
        ),
        HardwarePoint(
            "stall length",
            statistics.median(samples[i] for i in slow),
            "ns",
            job,
            "stall_length",
        ),
        HardwarePoint("median interval", statistics.median(gaps), "writes", job, "stall_interval"),
        HardwarePoint("interval variation", variation(gaps), "", job, "stall_variation"),
    )


def _regular(table: Table, row: Row) -> bool:
    """The table keeps every hundredth write (those ending in 98) and all slow ones."""
    return table.whole(row, "iteration") % 100 == 98


def shorten(point: HardwarePoint) -> HardwarePoint:
    """The point with a run of a fifth of the stalls, for a quick look."""
    pattern = point.job.pattern
    if not isinstance(pattern, Overwrite):
        return point
    shorter = dataclasses.replace(pattern, writes=QUICK_WRITES)
    job = dataclasses.replace(point.job, pattern=shorter, cost=4 * QUICK_WRITES)
    return dataclasses.replace(point, job=job)
