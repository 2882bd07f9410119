"""Manages a process that runs already, until it has ended or is managed no more."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from nearfar._core import AttachManager
from nearfar.errors import InputError
from nearfar.tier.attach.attached import Attached, claimed
from nearfar.tier.attach.damon import claimed_damon
from nearfar.tier.attach.machine import check_process
from nearfar.tier.attach.target import Target
from nearfar.tier.control import PAGE, Flat
from nearfar.tier.flat import DAMON
from nearfar.tier.outcome import lost_text
from nearfar.tier.server import serving
from nearfar.tier.tree import check_near

_LOOK_EVERY = 0.05  # seconds


def manage(
    target: Target,
    near_bytes: int,
    flat: Flat,
    begun: Callable[[], None],
    warn: Callable[[str], None],
) -> dict[str, Any]:
    """Keep at most `near_bytes`, or the share that `flat` says, of a process's memory near, and
    exchange its pages, until it has ended, is detached, or the user interrupts: its last figures.

    `begun` is called when its memory has been looked at and the limit holds, or cannot; `warn` once
    when DAMON's events are lost. Raises InputError for a process that cannot be managed, or is
    already.
    """
    with managing(target, near_bytes, flat) as attached, serving(attached):
        told = warned = False
        with contextlib.suppress(KeyboardInterrupt):
            while not attached.over.wait(_LOOK_EVERY) and not attached.is_over:
                attached.counts()
                if not warned and (lost := attached.lost_events()):
                    warned = True
                    warn(f"{target.process}: {lost_text(lost)}")
                if not told and attached.manager.is_settled():
                    told = True
                    begun()
        return attached.stats()


@contextlib.contextmanager
def managing(target: Target, near_bytes: int, flat: Flat) -> Iterator[Attached]:
    """Manage it for as long as the block runs. Raises InputError as `manage` does."""
    check_near(near_bytes)
    check_process(target.process)
    with contextlib.ExitStack() as claims:
        claim = claims.enter_context(claimed(target.process))
        try:
            manager = _begun(target, near_bytes, flat, claims)
        except InputError:
            if flat.fallback is None:
                raise
            flat = replace(flat, detector=flat.fallback, fallback=None)
            manager = _begun(target, near_bytes, flat, claims)
        try:
            yield Attached(manager, target, flat, claim)
        finally:
            manager.stop()


def _begun(
    target: Target, near_bytes: int, flat: Flat, claims: contextlib.ExitStack
) -> AttachManager:
    """Its manager, at work; DAMON, where that is used, is claimed for as long as `claims` holds.
    Raises InputError where the kernel or another manager refuses."""
    with contextlib.ExitStack() as own:
        if flat.detector == DAMON:
            own.enter_context(claimed_damon())
        manager = AttachManager(
            process=target.process,
            only=list(target.only),
            policy=flat.policy,
            nodes=(flat.near_node, flat.far_node),
            interval_ns=flat.interval_ns,
            pairs=flat.pairs,
            limit=(near_bytes // PAGE, 0 if flat.share is None else flat.share.millionths),
            watches_reads=flat.detector == DAMON,
        )
        claims.push(own.pop_all())
    return manager
