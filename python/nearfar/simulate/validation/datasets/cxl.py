"""A CXL memory device seen from the processor (Intel MLC, published with CXLMemSim).

Idle latency of a random dependent read, and the bandwidth of reads by every core. The table's
loaded latencies are of the local DRAM node, so they belong to a model of that memory; of the
device the curve is checked against laws, not against points.
"""

from __future__ import annotations

from nearfar.measuring.patterns import Chase, Stream
from nearfar.simulate.validation.datasets.published import figures
from nearfar.simulate.validation.series import HardwarePoint, Job, Series
from nearfar.simulate.validation.tables import Row, Table, Tables

SOURCE = "Intel MLC 3.10 on Sapphire Rapids; data of CXLMemSim (BSD)"
COLUMNS = ("host", "metric", "key", "inject_delay", "value")
HOST = "mlc-sapphirerapids"

DEVICE = "cpu_node0->mem_node1"
_THREADS = 16


def device(tables: Tables) -> list[Series]:
    """Idle latency and read bandwidth of the device."""
    points = []
    for table in tables.with_columns(*COLUMNS):
        for row in table.rows:
            if row["host"] == HOST and row["key"] == DEVICE:
                points.append(_point(table, row, row["metric"] == "idle_latency_ns"))
    # The same two, as the list of single figures has them.
    for table, row in figures(tables, "SPR + CXL"):
        if "node 1" in row["metric"]:
            points.append(_point(table, row, "latency" in row["metric"]))
    title = "A CXL memory device"
    return [Series("cxl", title, "cxl", SOURCE, tuple(points))][: len(points)]


def _point(table: Table, row: Row, idle: bool) -> HardwarePoint:
    if idle:
        pattern = Chase(op="load", region="256MiB", lines=16384, whole=False, fence="none")
        real = table.positive(row, "value")
        job = Job(pattern, cost=16384)
        return HardwarePoint("idle read", real, "ns", job, "ns_per_line", rows=(row,))
    job = Job(read_all(_THREADS), cost=131072)
    real = table.positive(row, "value") / 1000
    return HardwarePoint("reads by all", real, "GB/s", job, "gb_per_s", rows=(row,))


def read_all(threads: int) -> Stream:
    """Sequential reads of every thread's own area."""
    return Stream(op="load", access=256, threads=threads, area="256MiB", lines=131072)
