"""Probes this machine's caches and TLBs: chains of loads, in the order the studies ask for."""

from __future__ import annotations

import math
from collections.abc import Sequence

from nearfar.infer import caches, tlb
from nearfar.measure.conditions import preconditions
from nearfar.measure.host import Host
from nearfar.probe.host_walk import HostWalker, Progress, Session, Walker
from nearfar.results import Observation, Precondition

# What the caches are inferred from includes the page-size control, so it goes first.
_STAGES = {tlb.PROBER: tlb.STAGES, caches.PROBER: caches.STAGES}
_QUICK = {tlb.PROBER: (10, 5.0), caches.PROBER: (10, 15.0)}  # repetitions and seconds
_FULL = {tlb.PROBER: (15, 12.0), caches.PROBER: (15, 90.0)}
_DOUBTS = (6, 2.0)


def observe(
    host: Host | None = None,
    *,
    quick: bool = False,
    seed: int = 1,
    progress: Progress | None = None,
    walker: Walker | None = None,
    judged: Sequence[Precondition] | None = None,
    hurried: bool = True,
) -> tuple[list[Observation], bool]:
    """The observations of `tlb` and `caches`, and whether Ctrl-C ended them early.

    `walker` and `judged` stand in for this machine and its preconditions; where time does not
    matter, as with a simulated walker, `hurried` says that every repetition is to be made.
    """
    session = Session(walker or HostWalker(host), seed, progress=progress)
    session.observations.append(_preconditions(preconditions() if judged is None else judged))
    for prober, stages in _STAGES.items():
        repetitions, seconds = (_QUICK if quick else _FULL)[prober]
        session.conduct(stages, quick, repetitions, seconds if hurried else math.inf)
    session.conduct(caches.DOUBTS, quick, *_DOUBTS)
    return session.observations, session.interrupted


def _preconditions(judged: Sequence[Precondition]) -> Observation:
    """What the inference may rest on, as an observation, because it reads nothing else."""
    found = {one.name: {"status": one.state, "found": one.found} for one in judged}
    pattern = {"kind": "preconditions", "found": found}
    return Observation(id="caches.preconditions", prober=caches.PROBER, pattern=pattern, accesses=0)
