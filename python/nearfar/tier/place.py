"""Where the pager's threads may run."""

from __future__ import annotations

import os
import threading

from nearfar.errors import InputError, NearfarError, suggestion
from nearfar.tier.control import PLACES


def check_place(wanted: str) -> None:
    """Whether a program that this process starts can have it there, of control.PLACES.

    Raises InputError if that is none of them, NearfarError if this machine, or this user, cannot.
    """
    if wanted not in PLACES:
        hint = suggestion(wanted, PLACES)
        raise InputError(f"--pager: found '{wanted}', expected one of {', '.join(PLACES)}{hint}")
    if wanted not in ("beside", "behind", "each"):
        return
    if len(os.sched_getaffinity(0)) < 2:
        raise NearfarError(f"--pager {wanted}: found one processor, expected at least two")
    if os.sched_getscheduler(0) != os.SCHED_OTHER:
        raise NearfarError(f"--pager {wanted}: found another scheduling policy than SCHED_OTHER")
    if not _comes_back():
        raise NearfarError(
            f"--pager {wanted}: this user's threads cannot leave SCHED_IDLE; run it as root, or "
            "after 'ulimit -e 20'"
        )


def _comes_back() -> bool:
    """Whether a thread can leave the policy for idle processors."""
    came_back = []

    def go_and_come() -> None:
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        try:
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        except PermissionError:
            return
        came_back.append(True)

    thread = threading.Thread(target=go_and_come)
    thread.start()
    thread.join()
    return bool(came_back)
