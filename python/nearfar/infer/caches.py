"""The caches of a real machine: what the buffers prober means on this machine's memory.

The first cache exactly, the ones behind it as far as noise and unknown placement allow, each
with the reason where it is not.
"""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.infer import caches_conflicts, caches_first, caches_outer, caches_policy, tlb
from nearfar.infer.caches_plan import Experiment
from nearfar.results.findings import Finding, Observation

PROBER = caches_first.PROBER


def _coarse(observations: Sequence[Observation], quick: bool) -> list[Experiment]:
    return caches_first.coarse(observations, quick) + caches_outer.coarse(observations, quick)


def _fine(observations: Sequence[Observation], quick: bool) -> list[Experiment]:
    fine = caches_first.fine(observations, quick) + caches_outer.fine(observations, quick)
    conflicts = caches_first.conflicts(observations)
    if conflicts.ways is not None and conflicts.period is not None:
        fine += caches_policy.experiments(conflicts.ways, conflicts.period, quick)
        fine += caches_conflicts.experiments(conflicts.ways, quick)
    return fine


STAGES = (_coarse, _fine)
# What is played when the others are over: nothing, unless two of them contradict each other.
DOUBTS = (caches_first.again, caches_first.again)


def findings(observations: Sequence[Observation]) -> list[Finding]:
    """Findings of `buffer.N.*` from the chains of this prober and of `tlb`."""
    first, found = caches_first.findings(observations)
    if first.hit_ns is not None and first.next_ns is not None:
        conflicts = caches_first.conflicts(observations)
        found += caches_policy.findings(
            observations, conflicts.ways, conflicts.period, first.hit_ns, first.next_ns
        )
    found += caches_outer.findings(observations, first, _shared(observations))
    if first.ways is not None and first.next_ns is not None:
        known = tlb.translation(observations)
        found.append(caches_conflicts.finding(observations, first.ways, first.next_ns, known))
    return found


def _shared(observations: Sequence[Observation]) -> str | None:
    """Why the last cache is not this machine's alone: what the preconditions say."""
    for one in observations:
        if one.pattern.get("kind") != "preconditions":
            continue
        seen = one.pattern["found"].get("virtualisation")
        if seen is not None and seen["status"] == "bad":
            return f"{seen['found']}: the last cache is shared with whatever else runs below"
    return None
