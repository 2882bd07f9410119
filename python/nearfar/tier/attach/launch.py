"""Starts a program with nothing loaded into it, and manages it from outside."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

from nearfar.errors import InputError
from nearfar.tier.attach.attached import Attached
from nearfar.tier.attach.machine import attach_settings
from nearfar.tier.attach.run import managing
from nearfar.tier.attach.target import Target
from nearfar.tier.control import COUNTS, Flat
from nearfar.tier.flat import FlatOptions
from nearfar.tier.outcome import Outcome
from nearfar.tier.server import serving
from nearfar.tier.waiting import Waited, held_back, start, wait_for


def run_from_outside(
    file: str, arguments: Sequence[str], near_bytes: int, far: str, options: FlatOptions
) -> Outcome:
    """Run a program with at most `near_bytes` of its memory near, or the share that `options` say;
    its children are not managed. Raises InputError where `attach_settings` or `managing` does."""
    settings = attach_settings(far, options)
    name = Path(arguments[0]).name
    with held_back() as let_through, contextlib.ExitStack() as stack:
        process = start(arguments, file, let_through)
        attached: Attached | None = None
        try:
            attached = stack.enter_context(
                managing(Target(process.pid, name), near_bytes, settings)
            )
            stack.enter_context(serving(attached))
        except BaseException as error:
            ended = process.poll() is not None
            if not ended:
                process.kill()
                process.wait()
            if not ended or not isinstance(error, InputError):
                raise
            attached = None
        return outcome_outside(wait_for(process), attached, settings, near_bytes)


def outcome_outside(
    waited: Waited, attached: Attached | None, settings: Flat, near_bytes: int
) -> Outcome:
    """How a process ended that was managed from outside; or was not, as it ended before that."""
    if attached is None:
        return Outcome(
            waited.status,
            near_bytes,
            settings.policy,
            dict.fromkeys(COUNTS, 0),
            flat=settings,
            runs_on=waited.runs_on,
        )
    return Outcome(
        waited.status,
        attached.limit_bytes(),
        settings.policy,
        attached.counts(),
        flat=attached.flat,
        runs_on=waited.runs_on,
        lost_events=attached.lost_events(),
    )
