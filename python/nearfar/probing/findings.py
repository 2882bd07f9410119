"""What follows from observations, whatever kinds of experiments made them."""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.inference import core, tables
from nearfar.inference.curves.findings import infer_curves
from nearfar.probing.probers import PROBERS
from nearfar.results import Finding, Observation

# Experiments that a prober's own inference reads; all others are read as curves.
_PROBED = (
    *("sequence", "chain", "preconditions", "point", "nodes", "drop", core.KIND),
    tables.KIND,
)


def findings_of(observations: Sequence[Observation]) -> list[Finding]:
    """Findings in the order of the probers, each name once. Nothing but the argument is read."""
    made = {one.prober for one in observations}
    modules = {one.module: one for one in PROBERS if one.name in made}
    found = [finding for one in modules.values() for finding in one.load().findings(observations)]
    found += tables.findings(observations)
    curves = [one for one in observations if one.pattern.get("kind") not in _PROBED]
    if curves:
        found += infer_curves(curves)
    first: dict[str, Finding] = {}
    for finding in found:
        first.setdefault(finding.name, finding)
    return list(first.values())
