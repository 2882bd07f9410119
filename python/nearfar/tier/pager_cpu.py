"""On which processors the pager's threads may serve faults."""

from __future__ import annotations

import os

from nearfar.errors import NearfarError, check_one_of
from nearfar.tier.control import PAGER_CPUS

_BOUND = PAGER_CPUS[2:]  # those that keep threads on processors


def check_pager_cpu(wanted: str) -> None:
    """Whether a program that this process starts can have its pager there, of control.PAGER_CPUS.

    Raises InputError if that is none of them, NearfarError if this machine cannot.
    """
    check_one_of("--pager-cpu", wanted, PAGER_CPUS)
    if wanted not in _BOUND:
        return
    if len(os.sched_getaffinity(0)) < 2:
        raise NearfarError(f"--pager-cpu {wanted}: found one processor, expected at least two")
    if os.sched_getscheduler(0) != os.SCHED_OTHER:
        raise NearfarError(
            f"--pager-cpu {wanted}: found another scheduling policy than SCHED_OTHER"
        )
