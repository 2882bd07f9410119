"""What Linux tells of this machine: plain readings of /proc and /sys, no judgement.

Every function answers None where the kernel does not tell.
"""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path

PROC = Path("/proc")
SYS = Path("/sys")


def text(path: Path) -> str | None:
    """A small file of the kernel, stripped."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def number(path: Path) -> int | None:
    """A file of the kernel that holds one number."""
    found = text(path)
    return int(found) if found is not None and found.lstrip("-").isdecimal() else None


def cpu_name() -> str | None:
    """The processor's name as its maker wrote it."""
    return _cpuinfo("model name")


def cpu_vendor() -> str | None:
    """GenuineIntel, AuthenticAMD..."""
    return _cpuinfo("vendor_id")


def _cpuinfo(key: str) -> str | None:
    match = re.search(rf"^{key}\s*: (.+)$", text(PROC / "cpuinfo") or "", re.MULTILINE)
    return match[1] if match else None


def virtual() -> bool:
    """Whether a hypervisor says that it is there."""
    return bool(re.search(r"^flags\s*:.* hypervisor\b", text(PROC / "cpuinfo") or "", re.MULTILINE))


def kernel() -> str:
    """Name and release of the kernel."""
    return f"{platform.system()} {platform.release()}"


def governor() -> str | None:
    """How the first processor's frequency is chosen."""
    return text(SYS / "devices/system/cpu/cpu0/cpufreq/scaling_governor")


def transparent_huge_pages() -> str | None:
    """always, madvise or never."""
    setting = text(SYS / "kernel/mm/transparent_hugepage/enabled")
    chosen = re.search(r"\[(\w+)\]", setting or "")
    return chosen[1] if chosen else None


def free_memory(node: int | None) -> int:
    """Bytes that are available without swapping, on a node or anywhere."""
    if node is None:
        pattern, path = r"^MemAvailable:\s*(\d+) kB", PROC / "meminfo"
    else:
        pattern, path = r"MemFree:\s*(\d+) kB", SYS / f"devices/system/node/node{node}/meminfo"
    match = re.search(pattern, text(path) or "", re.MULTILINE)
    return int(match[1]) * 1024 if match else 0


def memory_nodes() -> list[int]:
    """NUMA nodes that have memory."""
    return _listed(text(SYS / "devices/system/node/has_memory") or "0")


def node_of(cpu: int) -> int | None:
    """The NUMA node that a processor belongs to."""
    for node in sorted((SYS / "devices/system/node").glob("node[0-9]*")):
        if cpu in _listed(text(node / "cpulist") or ""):
            return int(node.name.removeprefix("node"))
    return None


def processors() -> list[int]:
    """The processors this process may use, in the order in which threads should take them.

    One of each core comes before the cores' second threads. Processor 0 comes last of its
    kind, because most interrupts are served there.
    """
    usable = sorted(os.sched_getaffinity(0))

    def order(cpu: int) -> tuple[int, bool, int]:
        siblings = text(SYS / f"devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        together = _listed(siblings) if siblings else [cpu]
        return (together.index(cpu) if cpu in together else 0, cpu == 0, cpu)

    return sorted(usable, key=order)


def load_average() -> float:
    """Processes that wanted to run, over the last minute."""
    return os.getloadavg()[0]


def steal_share() -> float | None:
    """The share of time since boot that a hypervisor gave to others."""
    first = (text(PROC / "stat") or "").partition("\n")[0].split()[1:9]
    ticks = [int(field) for field in first]
    total = sum(ticks)
    return ticks[7] / total if len(ticks) == 8 and total > 0 else None


def last_level_cache() -> int | None:
    """Bytes of the largest cache in front of memory."""
    sizes = [
        int(found[:-1]) * 1024
        for index in range(8)
        if (found := text(SYS / f"devices/system/cpu/cpu0/cache/index{index}/size"))
        and found.endswith("K")
    ]
    return max(sizes, default=None)


def _listed(ranges: str) -> list[int]:
    """ "0-2,5" as numbers."""
    found: list[int] = []
    for part in filter(None, ranges.split(",")):
        first, _, last = part.partition("-")
        found.extend(range(int(first), int(last or first) + 1))
    return found
