"""Reads and writes on another server (PerMA-Bench, VLDB 2022).

Threads share a range of 10 to 50 GiB and use AVX-512; a write is persisted by each access
("nocache": non-temporal stores and an sfence; "cache": stores, clwb and an sfence; "cacheinv"
the same with clflushopt; "none": plain stores). Sequential threads each have a part of the
range. The prefetchers of that server were on. Its rates are GiB/s.
Its modules hold 256 GB; Intel's product brief of the series allows those 18 W.
"""

from __future__ import annotations

from nearfar.measuring.patterns import Stream
from nearfar.measuring.quantity import LINE
from nearfar.results.wording import size
from nearfar.simulate.validation.datasets.bandwidth import dimms_text
from nearfar.simulate.validation.series import HardwarePoint, Job, Series
from nearfar.simulate.validation.tables import Row, Table, Tables

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
PREFETCHERS = (("cpu.prefetch.adjacent", "true"), ("cpu.prefetch.stream", "true"))
# The controller of DRAM: the 32 writes that a channel's queue holds in Intel's servers (Xeon
# E5-2600 uncore performance monitoring guide, WPQ_OCCUPANCY). How many a drain takes is not
# published: a quarter of the queue, calibrated on one figure of AIST's DRAM, scans that change
# every line (37.4 GB/s).
SERVER_DRAM = (
    ("dram.queue.write", "32"),
    ("dram.queue.write_high", "24"),
    ("dram.queue.write_low", "16"),
)
# Its modules: 16 GB a channel of 8 Gbit devices, which is one rank of x4 or two ranks of x8. Which,
# is not said; 16 and 32 threads that write single lines at random places need the banks of two.
_RANKS = (("dram.width", "8"), ("dram.ranks", "2"))
# Store, clwb and sfence to random lines take 219 ns on the DIMMs and 125 ns on DRAM, which is as
# if two of them were under way at a time: a store's line is fetched behind one sfence, not more.
CASCADE_LAKE = (*PREFETCHERS, ("cpu.fence.lines_ahead", "1"), ("cpu.cores", "18"))

OPERATIONS = {
    ("read", ""): "load",
    ("write", "nocache"): "ntstore",
    ("write", "cache"): "store+clwb",
    ("write", "cacheinv"): "store+clwb",  # whether the line stays makes no difference here
    ("write", "none"): "store",
}
_NAMES = {
    "": "load",
    "nocache": "ntstore",
    "cache": "store-clwb",
    "cacheinv": "store-clflushopt",
    "none": "store",
}

# The server with six DIMMs was measured twice, as one of "dimms" and as itself. What is said
# of it at 2666 MT/s repeats the second.
MACHINES = {
    "1dimm": (("dimms", "1dimms"),),
    "6dimm": (("dimms", "6dimms"), ("pmem", "apache-256")),
    "dram": (("dram", "apache-256"),),
    "200": (("pmem", "barlow-256"),),
}
CHANNELS = {"1dimm": 1, "6dimm": 6, "dram": 6, "200": 8}
_TITLES = {"1dimm": dimms_text(1), "6dimm": dimms_text(6), "dram": "DRAM", "200": dimms_text(8)}


def series(tables: Tables, machine: str) -> list[Series]:
    """One series an order and operation, by access size and threads."""
    points: dict[tuple[str, str], list[HardwarePoint]] = {}
    for table in tables.with_columns(*COLUMNS):
        for row in table.rows:
            if _wanted(row, machine):
                kind = (row["exec_mode"], _NAMES[row["persist_instruction"]])
                points.setdefault(kind, []).append(_point(table, row, machine))
    name = f"perma-{machine}"
    return [
        Series(
            name=f"{name}-{op}" if order == "random" else f"{name}-{order}-{op}",
            title=f"PerMA server, {_TITLES[machine]}, {order}, {op}",
            dataset=name,
            source=SOURCE,
            points=tuple(found),
        )
        for (order, op), found in sorted(points.items())
    ]


def _wanted(row: Row, machine: str) -> bool:
    return (
        (row["family"], row["system"]) in MACHINES[machine]
        and row["exec_mode"] in ("random", "sequential")
        and (row["operation"], row["persist_instruction"]) in OPERATIONS
        and row["numa"] == "near"
        and bool(row["bandwidth_GiBps"])
    )


def _point(table: Table, row: Row, machine: str) -> HardwarePoint:
    access = table.count(row, "access_size_B")
    threads = table.count(row, "threads")
    op = OPERATIONS[row["operation"], row["persist_instruction"]]
    area = table.whole(row, "memory_range_B") // threads // access * access
    pattern = perma_stream(op, access, threads, area, random=row["exec_mode"] == "random")
    return HardwarePoint(
        label=f"{size(access)}, {threads} thread{'s' if threads > 1 else ''}",
        real=table.positive(row, "bandwidth_GiBps") * GIB_PER_S,
        unit="GB/s",
        job=Job(
            pattern,
            server(machine),
            cost=pattern.lines_for(access, threads),
        ),
        quantity="gb_per_s",
        x=threads,
        curve=size(access),
        rows=(row,),
    )


def server(machine: str) -> tuple[tuple[str, str], ...]:
    core = PREFETCHERS if machine == "200" else CASCADE_LAKE
    shared = (("channels", str(CHANNELS[machine])), *core)
    if machine == "dram":
        return (*shared, *_RANKS, *SERVER_DRAM)
    return (*shared, ("nvdimm.power_budget", "18 W"))


def perma_stream(op: str, access: int, threads: int, area: int, *, random: bool) -> Stream:
    """The benchmark's threads: each write is persisted before the next one begins."""
    return Stream(
        op=op,
        access=access,
        stride="random" if random else access,
        threads=threads,
        area=area,
        fence_every=access if op in ("ntstore", "store+clwb") else None,
        lines=max(65536, 4096 * threads, 4 * threads * access // LINE),
    )
