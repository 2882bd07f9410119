"""The caches of a real machine: what the buffers prober means on this machine's memory.

The first cache exactly, the ones behind it as far as noise and unknown placement allow, each
with the reason where it is not.
"""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.inference import tlb
from nearfar.inference.caches import conflicts as caches_conflicts
from nearfar.inference.caches import first as caches_first
from nearfar.inference.caches import outer as caches_outer
from nearfar.inference.caches import policy as caches_policy
from nearfar.inference.caches.plan import HUGE, Experiment
from nearfar.results.findings import Finding, Observation

PROBER = caches_first.PROBER


def _coarse(observations: Sequence[Observation], quick: bool) -> list[Experiment]:
    pages = tlb.pages(observations)
    return caches_first.coarse(pages, quick) + caches_outer.coarse(observations, quick)


def _fine(observations: Sequence[Observation], quick: bool) -> list[Experiment]:
    pages = tlb.pages(observations)
    fine = caches_first.fine(observations, pages, quick) + caches_outer.fine(observations, quick)
    conflicts = caches_first.conflicts(observations, pages)
    if conflicts.ways is not None and conflicts.period is not None:
        fine += caches_policy.experiments(conflicts.ways, conflicts.period, pages, quick)
        if pages == HUGE:
            fine += caches_conflicts.experiments(conflicts.ways, conflicts.period, quick)
    return fine


def _exact(observations: Sequence[Observation], quick: bool) -> list[Experiment]:
    pages = tlb.pages(observations)
    first, _ = caches_first.findings(observations, pages)
    found = caches_outer.exact(observations, first, quick)
    conflicts = caches_first.conflicts(observations, pages)
    ways, period = conflicts.ways, conflicts.period
    if pages == HUGE and ways is not None and period is not None and first.next_ns is not None:
        found += caches_conflicts.exact(observations, ways, period, first.next_ns)
    return found


def _again(observations: Sequence[Observation], quick: bool) -> list[Experiment]:
    del quick
    return caches_first.again(observations, tlb.pages(observations))


STAGES = (_coarse, _fine, _exact)
# What is played when the others are over: nothing, unless two of them contradict each other.
DOUBTS = (_again, _again)


def findings(observations: Sequence[Observation]) -> list[Finding]:
    """Findings of `cache.N.*` from the chains of this prober and of `tlb`."""
    known = tlb.translation(observations)
    pages = tlb.pages(observations)
    first, found = caches_first.findings(observations, pages)
    if first.hit_ns is not None and first.next_ns is not None:
        conflicts = caches_first.conflicts(observations, pages)
        found += caches_policy.findings(
            observations, pages, conflicts.ways, conflicts.period, first.hit_ns, first.next_ns
        )
    second = caches_conflicts.Second()
    if first.ways is not None and first.next_ns is not None:
        second = caches_conflicts.second(observations, first.next_ns, known)
    found += caches_outer.findings(observations, first, second.capacity, _shared(observations))
    return found + ([second.ways] if second.ways is not None else [])


def _shared(observations: Sequence[Observation]) -> str | None:
    """Why the last cache is not this machine's alone: what the preconditions say."""
    for one in observations:
        if one.pattern.get("kind") != "preconditions":
            continue
        seen = one.pattern["found"].get("virtualisation")
        if seen is not None and seen["status"] == "bad":
            return f"{seen['found']}: the last cache is shared with whatever else runs below"
    return None
