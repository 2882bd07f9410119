"""Where the pager's thread may run."""

from __future__ import annotations

import os
import resource

from nearfar.errors import InputError, NearfarError, suggestion
from nearfar.tier.control import PLACES
from nearfar.tier.machine import SYS_NICE, capable

_LEAST_NICE = 20  # of RLIMIT_NICE: from SCHED_IDLE back to where all start


def check_place(wanted: str) -> None:
    """Whether it can always run there, of control.PLACES.

    Raises InputError if that is none of them, NearfarError if this machine, or this user, cannot.
    """
    if wanted not in PLACES:
        hint = suggestion(wanted, PLACES)
        raise InputError(f"--pager: found '{wanted}', expected one of {', '.join(PLACES)}{hint}")
    if wanted not in ("beside", "behind"):
        return
    if len(os.sched_getaffinity(0)) < 2:
        raise NearfarError(f"--pager {wanted}: found one processor, expected at least two")
    limit = resource.getrlimit(resource.RLIMIT_NICE)[0]
    if limit != resource.RLIM_INFINITY and limit < _LEAST_NICE and not capable(SYS_NICE):
        raise NearfarError(
            f"--pager {wanted}: this user may not raise a thread's priority; run it as root, or "
            f"after 'ulimit -e {_LEAST_NICE}'"
        )
