"""Which process has claimed a point, and whether it still lives."""

from __future__ import annotations

import os
from pathlib import Path


def this_process() -> str:
    """A name that no other process of this boot has or gets."""
    return f"{_boot()} {os.getpid()} {_started(os.getpid())}"


def is_alive(owner: str) -> bool:
    """Whether the process of that name still runs; a store is on one machine's disk."""
    boot, pid, started = owner.split(" ")
    return boot == _boot() and _started(int(pid)) == started


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def _started(pid: int) -> str:
    """When the process began, in clock ticks since the boot; empty of none and of a zombie."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    fields = text.rpartition(")")[2].split()
    return "" if fields[0] == "Z" else fields[19]
