"""What follows from the observations of a file, whatever kinds of experiments made them."""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.infer import aist, bandwidth, caches, ict, infer, tlb
from nearfar.infer.curves import infer_curves
from nearfar.results.findings import Finding, Observation

# Experiments that have an inference of their own; all others are read as curves.
_PROBED = ("sequence", "chain", "preconditions", "point")
_POINTS = (bandwidth, aist, ict)


def findings_of(observations: Sequence[Observation]) -> list[Finding]:
    """Findings in the order of the probers, each name once. Nothing but the arguments is read."""
    kinds = {one.pattern.get("kind") for one in observations}
    made = {one.prober for one in observations}
    found: list[Finding] = []
    if "sequence" in kinds:
        found += infer(observations)
    if "chain" in kinds:
        found += [*tlb.findings(observations), *caches.findings(observations)]
    if "point" in kinds:
        for prober in _POINTS:
            if prober.PROBER in made:
                found += prober.findings(observations)
    curves = [one for one in observations if one.pattern.get("kind") not in _PROBED]
    if curves:
        found += infer_curves(curves)
    first: dict[str, Finding] = {}
    for one in found:
        first.setdefault(one.name, one)
    return list(first.values())
