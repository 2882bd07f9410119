"""Observations as figures: what was varied along the axis, what was measured up it.

Experiments of one kind that differ in one parameter make one picture. What has no picture is
named by the findings that rest on it, and is in the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from nearfar.report.figures.any import anything
from nearfar.report.figures.chain import chains
from nearfar.report.figures.curves import chases, overwrites, rereads
from nearfar.report.figures.figure import Figure
from nearfar.report.figures.point import measured
from nearfar.report.figures.sequence import SEQUENCES
from nearfar.report.figures.tools import Marks
from nearfar.results import Finding, Observation


def figures(
    observations: Sequence[Observation], findings: Sequence[Finding], prefix: str = ""
) -> list[Figure]:
    """Every picture, in the order of the observations; ids begin with `prefix`."""
    groups: dict[tuple[str, str], list[Observation]] = {}
    for one in observations:
        groups.setdefault(_kind(one), []).append(one)
    marks = Marks(findings)
    drawn = [
        figure
        for (kind, order), members in groups.items()
        for figure in _draw(kind, order, members, marks)
        if figure.points
    ]
    for at, figure in enumerate(drawn):
        figure.name = f"{prefix}figure-{at}"
    return drawn


def places(drawn: Iterable[Figure]) -> dict[str, str]:
    """The figure of each observation that one shows."""
    return {one: figure.name for figure in drawn for one in figure.shows}


def _kind(one: Observation) -> tuple[str, str]:
    """What is drawn together: the pattern's kind and, of single accesses, the order's."""
    kind, order = str(one.pattern.get("kind", "")), one.pattern.get("order")
    if kind != "chain" and isinstance(order, Mapping):
        return kind, str(order.get("kind", ""))
    return kind, ""


def _draw(kind: str, order: str, members: Sequence[Observation], marks: Marks) -> list[Figure]:
    if kind == "preconditions":
        return []
    if kind == "sequence" and order in SEQUENCES:
        return SEQUENCES[order](members, marks)
    draw = {
        "chase": chases,
        "reread": rereads,
        "overwrite": overwrites,
        "chain": chains,
        "point": measured,
    }
    return draw.get(kind, anything)(members, marks)
