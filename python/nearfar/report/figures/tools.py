"""What the figures of every kind of experiment share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nearfar.report.figures.figure import Mark, Spot
from nearfar.results import Finding, Histogram, Observation
from nearfar.results.findings import IDENTIFIED

MOST_LINES = 6
_MOST_SPOTS = 1500  # of one line: more would only be a thicker one


class Marks:
    """Findings as places on axes."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        self._known = {
            one.name: float(one.value)
            for one in findings
            if one.status == IDENTIFIED and isinstance(one.value, (int, float))
        }

        self.evidence = {name for one in findings for name in one.evidence}

    def of(self, ending: str) -> list[Mark]:
        """Those whose name ends so, such as every level's capacity."""
        return [Mark(at, name) for name, at in self._known.items() if name.endswith(ending)]

    def lines(self, *names: str) -> list[Mark]:
        return [Mark(self._known[name], name) for name in names if name in self._known]


def params(one: Observation) -> Mapping[str, Any]:
    found = one.pattern.get("order")
    return found.get("params", {}) if isinstance(found, Mapping) else one.pattern


def quantile(histogram: Histogram, share: float) -> float:
    """The value that `share` of the counts do not exceed."""
    total = sum(count for _, count in histogram)
    seen = 0.0
    for value, count in histogram:
        seen += count
        if seen >= share * total:
            return float(value)
    return float(histogram[-1][0]) if histogram else 0.0


def thin(spots: Sequence[Spot]) -> Sequence[Spot]:
    """Evenly chosen ones where there are too many to be seen."""
    step = max(1, -(-len(spots) // _MOST_SPOTS))
    return spots[::step]
