"""Runs a program over the kernel's own swap, with replacement policies of ours.

Nothing is loaded into the program. A thread of the launcher watches the page tables of its
processes, and has the kernel swap out what a policy names. A control group with the same limit,
where one can be made, holds what comes in faster than the thread takes out.
"""

from __future__ import annotations

import ctypes
import os
import resource
from collections.abc import Sequence

from nearfar._core import SwapMonitor
from nearfar._lists import POLICIES
from nearfar.errors import check_one_of
from nearfar.tier.control import PAGE
from nearfar.tier.group import limited
from nearfar.tier.swap.machine import require_swap
from nearfar.tier.swap.outcome import SwapOutcome
from nearfar.tier.tree import check_near
from nearfar.tier.waiting import held_back, start, wait_for

_PR_SET_CHILD_SUBREAPER = 36


def run_swapped(
    file: str, arguments: Sequence[str], *, near_bytes: int, policy: str
) -> SwapOutcome:
    """Run a program with at most `near_bytes` of near memory and its children's; wait for it.

    Raises InputError for a near memory that is too small and a policy that is none; NearfarError
    if this machine cannot.
    """
    check_near(near_bytes)
    check_one_of("--policy", policy, POLICIES)
    require_swap()
    _inherit_orphans()
    faults_before = _faults()
    with held_back() as let_through, limited(near_bytes) as group:

        def prepare() -> None:
            let_through()
            if group is not None:
                group.enter()

        process = start(arguments, file, prepare)
        monitor = SwapMonitor(
            policy=policy,
            limit_pages=near_bytes // PAGE,
            group=str(group.folder) if group else "",
            unified=group.unified if group else False,
            launcher=os.getpid(),
            program=process.pid,
        )
        try:
            status = wait_for(process)
        finally:
            monitor.stop()
        counts = monitor.counts()
        if group is None:
            counts["faults"] = _faults() - faults_before
        return SwapOutcome(
            status,
            near_bytes,
            policy,
            hard_limit=group is not None,
            kills=group.kills() if group else 0,
            left=counts.pop("processes"),
            counts=counts,
        )


def _faults() -> int:
    """Of ended descendants that were waited for: touches that had to wait for a page."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_majflt


def _inherit_orphans() -> None:
    """Be the parent of descendants whose parent ends, so that they stay in the tree."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
