"""What of a process can be managed from outside on this machine; if it cannot, why."""

from __future__ import annotations

import errno
import os
import platform
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from nearfar.errors import InputError, check_one_of
from nearfar.tier.attach.damon import damon_obstacle
from nearfar.tier.control import PLACEMENT_POLICIES, Flat
from nearfar.tier.far import node_of
from nearfar.tier.far_names import NODE
from nearfar.tier.flat import DAMON, DIRTY, FlatOptions, settings_of
from nearfar.tier.machine import GET_LIBRARY, Obstacle

# A page written once in a scan, or found read in one, is too little for `payback` to move it soon.
DEFAULT_POLICY = "raminate"
DETECTORS = (DAMON, DIRTY)
_STATIC = "static"  # the policy that asks for no detector
GET_KERNEL = "a Linux kernel of 6.7 or newer"
GET_SOFT_DIRTY = "a kernel that was built with CONFIG_MEM_SOFT_DIRTY, as Debian's are"


def attach_obstacle() -> Obstacle | None:
    """What keeps all processes from being managed from outside; None if nothing does."""
    try:
        from nearfar._core import attach_can_find_written
    except ImportError:
        return Obstacle("this installation cannot manage programs from outside", GET_LIBRARY)
    if -attach_can_find_written() == errno.ENOTTY:
        release = platform.release()
        return Obstacle(
            f"Linux {release} does not let page tables be watched (PAGEMAP_SCAN)", GET_KERNEL
        )
    return None


def notes_writes() -> bool:
    """Whether the kernel notes which pages of any process are written (soft-dirty bits)."""
    from nearfar._core import attach_can_find_written

    return attach_can_find_written() == 0


def attach_settings(far: str, options: FlatOptions) -> Flat:
    """What a manager is told. Raises InputError for a node that is not there, for names that are
    not known, and for what this kernel cannot tell."""
    if not far.startswith(NODE):
        raise InputError(
            f"--far: found {far}, expected node:N: from outside, pages can be moved between NUMA "
            "nodes and nowhere else"
        )
    far_node = node_of(far)
    policy = options.policy or DEFAULT_POLICY
    check_one_of("--policy", policy, PLACEMENT_POLICIES)
    if options.detector is not None:
        check_one_of("--detector", options.detector, DETECTORS)
    obstacle = attach_obstacle()
    if obstacle is not None:
        raise InputError(f"tier: {obstacle}")
    detector = _detector(policy, options.detector)
    settings = settings_of(options, policy, detector, far_node)
    if detector == DAMON and options.detector is None and notes_writes():
        return replace(settings, fallback=DIRTY)
    return settings


def _detector(policy: str, wanted: str | None) -> str:
    """The one that was asked for, or the best; a policy that asks for none has the simplest. Raises
    InputError for one that this kernel does not have, or not for this user."""
    if wanted == DAMON:
        obstacle = damon_obstacle()
        if obstacle is not None:
            raise InputError(f"--detector {DAMON}: {obstacle}")
        return DAMON
    if policy == _STATIC:
        return DIRTY
    reads = None if wanted == DIRTY else damon_obstacle()
    if wanted is None and reads is None:
        return DAMON
    if not notes_writes():
        raise InputError(
            f"--policy {policy}: Linux {platform.release()} does not note which pages of "
            f"other processes are written (soft-dirty bits), expected {GET_SOFT_DIRTY}"
            f"{f', or DAMON: {reads}' if reads else ''}; "
            f"--policy {_STATIC}, which holds the limit alone, does without"
        )
    return DIRTY


def check_process(process: int) -> None:
    """Raise InputError for a process whose memory cannot be managed by this user: one that is not
    there, is the kernel's or another user's."""
    folder, memory = Path(f"/proc/{process}"), b""
    try:
        leader = _leader(folder)
        with suppress(ProcessLookupError):  # what newer kernels say of themselves
            memory = (folder / "maps").read_bytes()
        for name, flags in (("pagemap", os.O_RDONLY), ("clear_refs", os.O_WRONLY)):
            if memory:
                os.close(os.open(folder / name, flags | os.O_CLOEXEC))
    except PermissionError:
        user = folder.stat().st_uid
        of = f"belongs to user {user}" if user != os.geteuid() else "is protected from its own user"
        raise InputError(
            f"{process}: {of}, so that its memory cannot be managed by user {os.geteuid()}; "
            "expected a process of this user, or to be run as root"
        ) from None
    except OSError:
        raise InputError(f"{process}: found no process of this number") from None
    if leader != process:
        raise InputError(
            f"{process}: is a thread, expected a process; that of the thread is {leader}"
        )
    if not memory:
        raise InputError(
            f"{process}: has no memory of its own: it is the kernel's, or has just ended"
        )


def _leader(folder: Path) -> int:
    """The process of a thread. Raises OSError if it has ended."""
    for line in (folder / "status").read_text(encoding="utf-8", errors="replace").splitlines():
        if line.startswith("Tgid:"):
            return int(line.split()[1])
    raise ProcessLookupError(folder.name)
