"""Whether this machine can keep programs near a limit by the kernel's swap; if not, why."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from nearfar.errors import NearfarError
from nearfar.tier.machine import GET_LIBRARY, Obstacle

GET_KERNEL = "a Linux kernel of 6.7 or newer"
GET_SWAP = "mkswap DEVICE && swapon DEVICE, where DEVICE is a partition, a file or /dev/zram0"
GET_PERMISSION = "run it as root, or with the capabilities SYS_NICE and SYS_PTRACE"

_SYS_PTRACE, _SYS_NICE = 19, 23


def swap_obstacle() -> Obstacle | None:
    """What is missing on this machine; None if nothing is."""
    try:
        from nearfar._core import swap_can_look
    except ImportError:
        return Obstacle("this installation has no swap backend", GET_LIBRARY)
    if swap_can_look() != 0:
        release = platform.release()
        return Obstacle(
            f"Linux {release} does not let page tables be watched (PAGEMAP_SCAN)", GET_KERNEL
        )
    if not (_capable(_SYS_NICE) and _capable(_SYS_PTRACE)):
        return Obstacle(
            "this user may not have other processes' pages swapped out (process_madvise)",
            GET_PERMISSION,
        )
    if not swap_areas():
        return Obstacle("no swap is on, which is the far memory of --backend swap", GET_SWAP)
    if swap_free() == 0:
        return Obstacle("all of the swap is in use", "swapon a further area")
    return None


def require_swap() -> None:
    """Raise NearfarError if programs cannot run over swap here."""
    found = swap_obstacle()
    if found is not None:
        raise NearfarError(f"tier: {found}")


def swap_areas() -> list[str]:
    """The swap areas in use, by name."""
    try:
        lines = Path("/proc/swaps").read_text(encoding="utf-8").splitlines()[1:]
    except OSError:
        return []
    return [line.split()[0] for line in lines]


def swap_free() -> int:
    """Free swap, in KiB."""
    for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
        if line.startswith("SwapFree:"):
            return int(line.split()[1])
    return 0


def _capable(capability: int) -> bool:
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("CapEff:"):
            return bool(int(line.split()[1], 16) >> capability & 1)
    return os.geteuid() == 0
