"""Two workloads at once on another server: one on its DIMMs, one on its DRAM (PerMA-Bench).

A log or a scan on the DIMMs runs beside index or aggregation updates in DRAM. The model has one
memory at a time, and nothing that both share: each workload is run alone, so what is off here
is what the neighbour costs. Reads and writes of pages beside each other on the same DIMMs are
not played.
"""

from __future__ import annotations

import json

from nearfar.results.wording import size
from nearfar.simulate.validation.datasets.perma import (
    GIB_PER_S,
    OPERATIONS,
    SOURCE,
    perma_stream,
    server,
)
from nearfar.simulate.validation.series import HardwarePoint, Job, Series
from nearfar.simulate.validation.tables import Row, Table, Tables

OTHERS = "other_workloads(threads,size)"
COLUMNS = ("family", "system", "workload", "exec_mode", "bandwidth_GiBps", OTHERS)

_CHANNELS = {("dimms", "1dimms"): 1, ("dimms", "6dimms"): 6, ("pmem", "apache-256"): 6}
_ON_DIMMS = ("pmem_log", "pmem_scan")
_IN_DRAM = ("dram_index", "dram_aggregation")
_RANGE = 10 << 30


def series(tables: Tables) -> list[Series]:
    """One series a workload and number of DIMMs."""
    points: dict[tuple[str, int], list[HardwarePoint]] = {}
    for table in tables.with_columns(*COLUMNS):
        for row in table.rows:
            dimms = _CHANNELS.get((row["family"], row["system"]))
            if dimms and row["workload"] in (*_ON_DIMMS, *_IN_DRAM):
                key = (row["workload"], dimms)
                points.setdefault(key, []).append(_point(table, row, dimms))
    return [
        Series(
            name=f"parallel-{dimms}dimm-{workload.replace('_', '-')}",
            title=f"PerMA server, two workloads, {dimms} DIMMs, {workload}",
            dataset="parallel",
            source=SOURCE,
            points=tuple(found),
        )
        for (workload, dimms), found in sorted(points.items())
    ]


def _point(table: Table, row: Row, dimms: int) -> HardwarePoint:
    threads, access = table.count(row, "threads"), table.count(row, "access_size_B")
    op = OPERATIONS[row["operation"], row["persist_instruction"]]
    area = _RANGE // threads // access * access
    pattern = perma_stream(op, access, threads, area, random=row["exec_mode"] == "random")
    on_dimms = row["workload"] in _ON_DIMMS
    overrides = server(f"{dimms}dimm" if on_dimms else "dram")
    ((other, (others, _)),) = json.loads(row[OTHERS]).items()
    return HardwarePoint(
        label=f"{size(access)}, {threads} threads beside {others} of {other}",
        real=table.positive(row, "bandwidth_GiBps") * GIB_PER_S,
        unit="GB/s",
        job=Job(
            pattern,
            overrides,
            cost=pattern.lines_for(access, threads),
            machine="" if on_dimms else "ddr4-2666",
        ),
        quantity="gb_per_s",
        rows=(row,),
    )
