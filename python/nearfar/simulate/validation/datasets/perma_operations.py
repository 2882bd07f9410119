"""Operations a second of another server's index and hash workloads (PerMA-Bench).

An operation reads at a random place ("rp_512": 512 B) and may write what it has read
("wp_512_none": the same bytes, left to the caches). Those are accesses of the model's patterns;
chains of several reads, or writes of another size than the read, are not.
"""

from __future__ import annotations

import re

from nearfar.results.wording import size
from nearfar.simulate.validation.datasets.perma import MACHINES, SOURCE, perma_stream, server
from nearfar.simulate.validation.series import HardwarePoint, Job, Series
from nearfar.simulate.validation.tables import Row, Table, Tables

COLUMNS = ("family", "system", "custom_operations", "threads", "ops_per_s", "memory_range_B")

_ONE_ACCESS = re.compile(r"rp_(\d+)(?:,wp_\1_none)?")


def series(tables: Tables, machine: str) -> list[Series]:
    """One series a kind of operation."""
    points: dict[str, list[HardwarePoint]] = {}
    for table in tables.with_columns(*COLUMNS):
        for row in table.rows:
            if (row["family"], row["system"]) in MACHINES[machine]:
                match = _ONE_ACCESS.fullmatch(row["custom_operations"])
                if match and row["ops_per_s"]:
                    op = "load+store" if "wp" in match[0] else "load"
                    point = _point(table, row, machine, op, int(match[1]))
                    points.setdefault(op, []).append(point)
    name = f"operations-{machine}"
    return [
        Series(
            name=f"{name}-{op.replace('+', '-')}",
            title=f"PerMA server, operations, {machine}, {op}",
            dataset=name,
            source=SOURCE,
            points=tuple(found),
        )
        for op, found in points.items()
    ]


# An address is the remainder of a random number by the range: a 64-bit division of some 36
# micro-operations and a call for each operation. Two are under way at a time: 209 ns each on six
# DIMMs, where one takes 430, and 63 ns on DRAM, where one takes 138.
_INSTRUCTIONS = ("cpu.instructions.random", "120")
_LONGEST = 512  # bytes read, whatever is asked for: 1 KiB takes no longer


def _point(table: Table, row: Row, machine: str, op: str, access: int) -> HardwarePoint:
    threads = table.count(row, "threads")
    access = min(access, _LONGEST)
    area = table.whole(row, "memory_range_B") // threads // access * access
    pattern = perma_stream(op, access, threads, area, random=True)
    return HardwarePoint(
        label=f"{row['benchmark']}, {size(access)}, {threads} thread{'s' if threads > 1 else ''}",
        real=table.positive(row, "ops_per_s") * access / 1e9,
        unit="GB/s",
        job=Job(
            pattern,
            (*server(machine), _INSTRUCTIONS),
            cost=pattern.lines_for(access, threads),
        ),
        quantity="gb_per_s",
        x=threads,
        curve=f"{row['benchmark']}, {size(access)}",
        rows=(row,),
    )
