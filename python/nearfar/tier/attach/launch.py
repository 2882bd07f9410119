"""Starts a program with nothing loaded into it, and manages it from outside."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

from nearfar.errors import InputError
from nearfar.tier.attach.machine import attach_settings
from nearfar.tier.attach.run import managing
from nearfar.tier.attach.target import Target
from nearfar.tier.control import COUNTS
from nearfar.tier.flat import FlatOptions
from nearfar.tier.outcome import Outcome
from nearfar.tier.server import serving
from nearfar.tier.waiting import held_back, start, wait_for


def run_from_outside(
    file: str, arguments: Sequence[str], near_bytes: int, far: str, options: FlatOptions
) -> Outcome:
    """Run a program with at most `near_bytes` of its memory near, or the share that `options` say;
    its children are not managed. Raises InputError where `attach_settings` or `managing` does."""
    settings = attach_settings(far, options)
    name = Path(arguments[0]).name
    with held_back() as let_through, contextlib.ExitStack() as stack:
        process = start(arguments, file, let_through)
        counts, lost = dict.fromkeys(COUNTS, 0), 0
        limit = near_bytes
        try:
            attached = stack.enter_context(
                managing(Target(process.pid, name), near_bytes, settings)
            )
            stack.enter_context(serving(attached))
        except InputError:
            if process.poll() is None:
                process.kill()
                process.wait()
                raise
            attached = None  # it had ended already
        waited = wait_for(process)
        if attached is not None:
            counts, limit = attached.counts(), attached.limit_bytes()
            settings, lost = attached.flat, attached.lost_events()
    return Outcome(
        waited.status,
        limit,
        settings.policy,
        counts,
        flat=settings,
        runs_on=waited.runs_on,
        lost_events=lost,
    )
