"""What follows from observations, whatever kinds of experiments made them."""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.inference import tables
from nearfar.inference.curves.findings import infer_curves
from nearfar.probing.probers import PROBERS
from nearfar.results import Finding, Observation
from nearfar.results.findings import NEEDED


def findings_of(observations: Sequence[Observation]) -> list[Finding]:
    """Findings in the order of the probers, each name once. Nothing but the argument is read."""
    made = {one.prober for one in observations}
    modules = {one.module: one for one in PROBERS if one.name in made}
    found = [finding for one in modules.values() for finding in one.load().findings(observations)]
    found += tables.findings(observations)
    # The kinds that are known are read by the inference of their probers.
    curves = [one for one in observations if one.pattern.get("kind") not in NEEDED]
    if curves:
        found += infer_curves(curves)
    first: dict[str, Finding] = {}
    for finding in found:
        first.setdefault(finding.name, finding)
    return list(first.values())
