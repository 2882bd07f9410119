"""The AIST micro-benchmarks: latency and bandwidth, read-only and with write-back.

Hirofuchi and Takano, "A Prompt Report on the Performance of Intel Optane DC Persistent Memory
Module" (2020): a list of 64 B nodes in random order through a buffer far beyond the caches, read
only, and changed at every node; and processes that scan buffers of their own.
"""

from __future__ import annotations

from nearfar.infer.aist import PROBER
from nearfar.measure import Chase, Pattern, Stream
from nearfar.probe.points import Bounds

__all__ = ["PROBER", "plan"]

_REGIONS = ("1MiB", "4MiB", "16MiB", "64MiB")
_HOST_REGIONS = ("4MiB", "16MiB", "64MiB", "256MiB")
_AREA, _HOST_AREA = 256 << 20, 64 << 20
_MOST_PROCESSES = 16


def plan(bounds: Bounds) -> list[Pattern]:
    """Latency over buffer size, then bandwidth over processes."""
    lines = 8192 if bounds.quick else 65536
    processes = bounds.threads_up_to(8 if bounds.quick else _MOST_PROCESSES)
    area = bounds.area(_HOST_AREA if bounds.host else _AREA, max(processes))
    made: list[Pattern] = []
    changing = "store"
    if bounds.host:
        regions = _HOST_REGIONS[: 3 if bounds.quick else 4]
        changing = "load+store"
        made.append(Chase(op=("load", changing), region=regions, regions="repeat"))
        scanned = area // 64
    else:
        # Whole regions, so that what a buffer keeps of the last pass plays its part.
        made.append(Chase(op="load", region=_REGIONS, lines=lines, whole=False))
        # One store out at a time: the line is fetched, changed, and evicts a changed one.
        made += [
            Stream(op=op, access="64B", stride="random", outstanding=1, area=area, lines=lines)
            for op in ("load", "store")
        ]
        scanned = lines
    scans = Stream(
        op=("load", changing), access="4KiB", threads=processes, area=area, lines=scanned
    )
    return [*made, scans]
