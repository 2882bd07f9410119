"""The kernel's data access monitor (DAMON), which sees what a process reads: whether it can be
used here."""

from __future__ import annotations

import os
import platform
import socket
from pathlib import Path

from nearfar.errors import InputError
from nearfar.tier.machine import Obstacle

GET_DAMON = "a kernel built with CONFIG_DAMON_SYSFS and CONFIG_DAMON_VADDR, as Debian's are"
GET_TRACE = "mount -t tracefs none /sys/kernel/tracing"
_KDAMONDS = "sys/kernel/mm/damon/admin/kdamonds"
_TRACING = "sys/kernel/tracing"
# Parts of the kernel that use DAMON for themselves; nr_kdamonds does not count these.
_MODULES = ("damon_stat", "damon_reclaim", "damon_lru_sort")


def damon_obstacle(root: Path = Path("/")) -> Obstacle | None:
    """What keeps DAMON from watching a process for this user now; None if nothing does.

    Root sets DAMON up for a moment, as the kernel names what it can watch only then.
    """
    count = root / _KDAMONDS / "nr_kdamonds"
    if not count.exists():
        return Obstacle(f"Linux {platform.release()} was built without DAMON", GET_DAMON)
    if not os.access(count, os.W_OK):
        return Obstacle("DAMON, which sees reads, is for root", "run it as root")
    for module in _MODULES:
        if _is_enabled(root / f"sys/module/{module}/parameters/enabled"):
            return Obstacle(
                f"the kernel's own {module} uses DAMON, of which there is one",
                f"echo N > /sys/module/{module}/parameters/enabled",
            )
    try:
        claim = claimed_damon(root)
    except InputError as error:
        return Obstacle(str(error), "leave out --detector damon")
    with claim:
        obstacle = _cannot_watch(root, count)
    if obstacle is None and not (root / _TRACING / "events/damon/damon_aggregated").exists():
        return Obstacle(
            f"found no events of DAMON in /{_TRACING}, by which it tells what was read", GET_TRACE
        )
    return obstacle


def _is_enabled(setting: Path) -> bool:
    try:
        return setting.read_text().strip() in ("Y", "1")
    except OSError:  # no such module
        return False


def _cannot_watch(root: Path, count: Path) -> Obstacle | None:
    context = root / _KDAMONDS / "0/contexts/0"
    try:
        free = count.read_text().strip() == "0"
        if not free and not (root / _TRACING / "instances/nearfar").exists():
            return Obstacle(
                "another program has set DAMON up", f"echo 0 > /{_KDAMONDS}/nr_kdamonds"
            )
        try:
            if free:
                count.write_text("1")
                (context.parent / "nr_contexts").write_text("1")
            kinds = (context / "avail_operations").read_text().split()
        finally:
            if free:
                count.write_text("0")
    except OSError as error:
        return Obstacle(f"DAMON cannot be set up: {error.strerror}", "leave out --detector damon")
    if "fvaddr" not in kinds:
        return Obstacle(
            f"DAMON of Linux {platform.release()} watches no parts of a process's memory (fvaddr)",
            GET_DAMON,
        )
    return None


def claimed_damon(root: Path = Path("/")) -> socket.socket:
    """The sole right to use DAMON, of which there is one, until it is closed. Raises InputError if
    another manager has it."""
    claim = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        claim.bind(f"\0nearfar-damon{root}")
    except OSError:
        claim.close()
        raise InputError("DAMON is used by another `nearfar tier attach` already") from None
    return claim
