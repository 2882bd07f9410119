"""The AIST micro-benchmarks: latency and bandwidth, read-only and with write-back.

Hirofuchi and Takano, "A Prompt Report on the Performance of Intel Optane DC Persistent Memory
Module" (2020): a list of 64 B nodes in random order through a buffer far beyond the caches, read
only, and changed at every node; and processes that scan buffers of their own.
"""

from __future__ import annotations

from nearfar.inference.aist import PROBER, findings
from nearfar.measuring import Chase, Pattern, Stream
from nearfar.measuring.quantity import parse_size
from nearfar.probing.points import Bounds, playing

__all__ = ["PROBER", "findings", "plan", "play"]

_REGIONS = ("4MiB", "64MiB", "128MiB", "256MiB")
_HOST_REGIONS = ("4MiB", "16MiB", "64MiB", "256MiB")
_AREA, _HOST_AREA = 256 << 20, 64 << 20
_MOST_PROCESSES = 16


def plan(bounds: Bounds) -> list[Pattern]:
    """Latency over buffer size, then bandwidth over processes."""
    lines = 8192 if bounds.quick else 65536
    processes = bounds.threads_up_to(8 if bounds.quick else _MOST_PROCESSES)
    area = bounds.area(_HOST_AREA if bounds.host else _AREA, max(processes))
    ops = ("load", "load+store")
    if bounds.host:
        wanted = _HOST_REGIONS[: 3 if bounds.quick else 4]
        regions = tuple(one for one in wanted if parse_size("region", one) <= bounds.memory)
        lists = Chase(op=ops, region=regions, regions="repeat")
        scanned = area // 64
    else:
        # A part of each list, with the caches as the whole would leave them.
        lists = Chase(op=ops, region=_REGIONS, regions="repeat", lines=lines, whole=False)
        scanned = lines
    return [lists, Stream(op=ops, access="4KiB", threads=processes, area=area, lines=scanned)]


play = playing(PROBER, plan)
