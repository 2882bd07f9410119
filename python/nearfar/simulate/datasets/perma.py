"""Random reads and writes on another server (PerMA-Bench, VLDB 2022).

Threads share 10 GiB and use AVX-512; a write is persisted by each access ("nocache":
non-temporal stores and an sfence; "cache": stores, clwb and an sfence). The prefetchers of
that server were on, so only its random accesses are compared. Its rates are GiB/s.

Its modules hold 256 GB; Intel's product brief of the series allows those 18 W.
"""

from __future__ import annotations

from nearfar.measure.patterns import Stream
from nearfar.measure.quantity import LINE
from nearfar.results.wording import size
from nearfar.simulate.series import HardwarePoint, Job, Series
from nearfar.simulate.tables import Row, Table, Tables

SOURCE = "Benson et al., PerMA-Bench, VLDB 2022 (MIT)"
COLUMNS = (
    "family",
    "system",
    "exec_mode",
    "operation",
    "memory_type",
    "numa",
    "threads",
    "access_size_B",
    "persist_instruction",
    "memory_range_B",
    "bandwidth_GiBps",
)
GIB_PER_S = (1 << 30) / 1e9  # in GB/s

_OPERATIONS = {
    ("read", ""): "load",
    ("write", "nocache"): "ntstore",
    ("write", "cache"): "store+clwb",
}


def series(tables: Tables, dimms: int) -> list[Series]:
    """One series an operation, by access size and threads."""
    points: dict[str, list[HardwarePoint]] = {}
    for table in tables.with_columns(*COLUMNS):
        for row in table.rows:
            op = _OPERATIONS.get((row["operation"], row["persist_instruction"]))
            if op and _wanted(row, dimms):
                points.setdefault(op, []).append(_point(table, row, op, dimms))
    name = f"perma-{dimms}dimm"
    plural = "DIMM" if dimms == 1 else "DIMMs"
    return [
        Series(
            name=f"{name}-{op.replace('+', '-')}",
            title=f"Random accesses, PerMA server, {dimms} {plural}, {op}",
            dataset=name,
            source=SOURCE,
            points=tuple(found),
        )
        for op, found in points.items()
    ]


def _wanted(row: Row, dimms: int) -> bool:
    return (
        row["family"] == "dimms"
        and row["system"] == f"{dimms}dimms"
        and row["exec_mode"] == "random"
        and row["memory_type"] == "pmem"
        and row["numa"] == "near"
        and bool(row["bandwidth_GiBps"])
    )


def _point(table: Table, row: Row, op: str, dimms: int) -> HardwarePoint:
    access = table.whole(row, "access_size_B")
    threads = table.whole(row, "threads")
    area = table.whole(row, "memory_range_B") // threads // access * access
    pattern = Stream(
        op=op,
        access=access,
        stride="random",
        threads=threads,
        area=area,
        fence_every=None if op == "load" else access,
        lines=max(65536, 4096 * threads, 4 * threads * access // LINE),
    )
    return HardwarePoint(
        label=f"{size(access)}, {threads} thread{'s' if threads > 1 else ''}",
        real=table.number(row, "bandwidth_GiBps") * GIB_PER_S,
        unit="GB/s",
        job=Job(
            pattern,
            (("channels", str(dimms)), ("nvdimm.power_budget", "18 W")),
            cost=pattern.lines_for(access, threads),
        ),
        quantity="gb_per_s",
    )
