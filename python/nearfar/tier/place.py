"""Where the pager's threads may run."""

from __future__ import annotations

import os

from nearfar.errors import NearfarError, check_one_of
from nearfar.tier.control import PLACES


def check_place(wanted: str) -> None:
    """Whether a program that this process starts can have it there, of control.PLACES.

    Raises InputError if that is none of them, NearfarError if this machine cannot.
    """
    check_one_of("--pager", wanted, PLACES)
    if wanted not in ("beside", "behind", "each"):
        return
    if len(os.sched_getaffinity(0)) < 2:
        raise NearfarError(f"--pager {wanted}: found one processor, expected at least two")
    if os.sched_getscheduler(0) != os.SCHED_OTHER:
        raise NearfarError(f"--pager {wanted}: found another scheduling policy than SCHED_OTHER")
