"""A published family of bandwidth-latency curves as a result, to be shown beside measured ones."""

from __future__ import annotations

from pathlib import Path

from nearfar.errors import InputError
from nearfar.measuring.quantity import LINE
from nearfar.results import Environment, MeasureResult, Point, Target
from nearfar.simulate.validation.datasets.loaded import COLUMNS
from nearfar.simulate.validation.tables import Row, Table, external


def published(path: Path) -> MeasureResult:
    """The table of one machine in the layout of the Mess benchmark. What a pause does is another
    thing there for every machine; its number stands where the generators' pause in ns does.

    Raises InputError for another table.
    """
    from nearfar import __version__

    if not path.is_file():
        raise InputError(f"{path}: found no file")
    table = next(one for one in external(path.parent) if one.name == path.stem)
    missing = [name for name in COLUMNS if name not in table.columns]
    if missing:
        raise InputError(
            f"{path}: found no column {missing[0]}, expected a bandwidth-latency family with "
            f"{', '.join(COLUMNS)}"
        )
    return MeasureResult(
        target=Target("published", table.name, table.name, "measured"),
        environment=Environment(version=__version__, seed=0),
        pattern={"kind": "loaded"},
        points=tuple(_point(table, row) for row in table.rows),
    )


def _point(table: Table, row: Row) -> Point:
    percent = table.whole(row, "read_percent")
    total, ns = table.number(row, "bandwidth_gb_s"), table.number(row, "latency_ns")
    if not 0 <= percent <= 100 or total < 0 or ns <= 0:
        raise InputError(
            f"{table.name}.csv: found {percent} % reads, {total} GB/s and {ns} ns, expected a "
            "share, a bandwidth and a latency"
        )
    return Point(
        op="load",
        threads=1,
        lines=1,
        ns_per_line=ns,
        gb_per_s=LINE / ns,
        elapsed_ns=ns,
        reads_percent=percent,
        delay_ns=table.number(row, "pause") if total else None,
        read_gb_per_s=total * percent / 100,
        write_gb_per_s=total * (100 - percent) / 100,
        total_gb_per_s=total,
    )
