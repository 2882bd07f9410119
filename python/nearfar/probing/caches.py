"""Probes caches and TLBs, this machine's or a model's: chains of loads, in the order the studies
ask for."""

from __future__ import annotations

import math
from collections.abc import Sequence

from nearfar.inference import tlb
from nearfar.inference.caches import prober as caches
from nearfar.measuring.conditions import preconditions
from nearfar.measuring.host.target import Host
from nearfar.model import Model
from nearfar.probing.host_walk import HostWalker
from nearfar.probing.model_walk import CoreWalker
from nearfar.probing.probers import SEED, Asked
from nearfar.probing.walk import Progress, Session, Walker, shares
from nearfar.results import Finding, Observation, Precondition

# What the caches are inferred from includes the page-size control, so it goes first.
_STAGES = {tlb.PROBER: tlb.STAGES, caches.PROBER: caches.STAGES}
_QUICK = {tlb.PROBER: (10, 5.0), caches.PROBER: (10, 15.0)}  # repetitions and seconds
_FULL = {tlb.PROBER: (15, 12.0), caches.PROBER: (15, 90.0)}
_DOUBTS = (6, 2.0)
_USUAL_BATCHES = 5


def play(asked: Asked) -> tuple[list[Observation], bool]:
    """Both probers on a model or a host: one without the other says nothing."""
    told = shares(asked.progress, _USUAL_BATCHES)
    return observe(asked.target, quick=asked.quick, seed=SEED, progress=told)


def findings(observations: Sequence[Observation]) -> list[Finding]:
    """Of translation, then of the caches, which rest on what the page-size control shows."""
    made = {one.prober for one in observations}
    probers = [one for one in (tlb, caches) if one.PROBER in made]
    return [finding for one in probers for finding in one.findings(observations)]


def observe(
    target: Model | Host | None = None,
    *,
    quick: bool = False,
    seed: int = 1,
    progress: Progress | None = None,
) -> tuple[list[Observation], bool]:
    """The observations of `tlb` and `caches`, and whether Ctrl-C ended them early."""
    if isinstance(target, Model):
        return observe_calm(CoreWalker(target), quick=quick, seed=seed, progress=progress)
    session = Session(HostWalker(target), seed, progress=progress)
    session.observations.append(_preconditions(preconditions()))
    for prober, stages in _STAGES.items():
        repetitions, seconds = (_QUICK if quick else _FULL)[prober]
        session.conduct(stages, quick, repetitions, seconds)
    session.conduct(caches.DOUBTS, quick, *_DOUBTS)
    return session.observations, session.interrupted


def observe_calm(
    walker: Walker,
    *,
    quick: bool = False,
    seed: int = 1,
    progress: Progress | None = None,
    repetitions: int = 1,
    judged: Sequence[Precondition] = (),
) -> tuple[list[Observation], bool]:
    """The same of a walker that no clock hurries: every one of the `repetitions` is made."""
    session = Session(walker, seed, progress=progress)
    if judged:
        session.observations.append(_preconditions(judged))
    for stages in _STAGES.values():
        session.conduct(stages, quick, repetitions, math.inf)
    session.conduct(caches.DOUBTS, quick, min(repetitions, _DOUBTS[0]), math.inf)
    return session.observations, session.interrupted


def _preconditions(judged: Sequence[Precondition]) -> Observation:
    """What the inference may rest on, as an observation, because it reads nothing else."""
    found = {one.name: {"status": one.state, "found": one.found} for one in judged}
    pattern = {"kind": "preconditions", "found": found}
    return Observation(id="caches.preconditions", prober=caches.PROBER, pattern=pattern, accesses=0)
