"""What follows from the observations of a file, whatever kinds of experiments made them."""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.inference import PROBERS, aist, bandwidth, ict, infer, memory_mode, tables, tlb
from nearfar.inference.caches import prober as caches
from nearfar.inference.curves.findings import infer_curves
from nearfar.results.findings import Finding, Observation

# Experiments that have an inference of their own; all others are read as curves.
_PROBED = ("sequence", "chain", "preconditions", "point", "nodes", "drop", tables.KIND)
# Each is given all observations: what the page-size control of `tlb` shows, `caches` rests on.
_MEASURED = (tlb, caches, bandwidth, aist, ict, memory_mode)


def findings_of(observations: Sequence[Observation]) -> list[Finding]:
    """Findings in the order of the probers, each name once. Nothing but the arguments is read."""
    made = {one.prober for one in observations}
    found = infer(observations) if made & set(PROBERS) else []
    for prober in _MEASURED:
        if prober.PROBER in made:
            found += prober.findings(observations)
    found += tables.findings(observations)
    curves = [one for one in observations if one.pattern.get("kind") not in _PROBED]
    if curves:
        found += infer_curves(curves)
    first: dict[str, Finding] = {}
    for one in found:
        first.setdefault(one.name, one)
    return list(first.values())
