"""Figures of chains of dependent loads: what probes of this machine make."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from nearfar.report.figures.figure import Figure, Line, Spot
from nearfar.report.figures.tools import MOST_LINES, Marks, params
from nearfar.results import Observation
from nearfar.results.wording import number, size

LINE = 64


def chains(members: Sequence[Observation], marks: Marks) -> list[Figure]:
    """One picture for each kind of chain that varies something."""
    kinds: dict[str, list[Observation]] = {}
    for one in members:
        if one.ns_per_access is not None:
            kinds.setdefault(one.pattern["order"]["kind"], []).append(one)
    return [
        figure
        for kind, found in kinds.items()
        if kind in _KINDS
        for figure in _KINDS[kind](found, marks)
    ]


def _picture(
    title: str,
    axis: str,
    unit: str,
    found: Sequence[Observation],
    place: Callable[[Observation], float],
    name: Callable[[Observation], str],
    marks: Marks,
) -> Figure:
    """A line for each `name`: those that findings rest on first, then the longest."""
    lines: dict[str, list[Observation]] = {}
    for one in found:
        lines.setdefault(name(one), []).append(one)

    def rank(item: tuple[str, list[Observation]]) -> tuple[int, int]:
        return -sum(one.id in marks.evidence for one in item[1]), -len(item[1])

    longest = sorted(lines.items(), key=rank)[:MOST_LINES]
    shown = [one for _, members in longest for one in members]
    return Figure(
        *("", title, axis, unit, "ns a load"),
        [
            Line(label, sorted((_spot(one, place(one), axis, unit) for one in members), key=_x))
            for label, members in longest
        ],
        [one.id for one in shown],
    )


def _x(spot: Spot) -> float:
    return spot.x


def _spot(one: Observation, x: float, axis: str, unit: str) -> Spot:
    low, high = one.interval or (None, None)
    shown = size(round(x)) if unit == "B" else number(x)
    value = one.ns_per_access or 0.0
    rows = [("a load", f"{number(value)} ns")]
    if low is not None and high is not None:
        rows.append(("interval", f"{number(low)} to {number(high)} ns"))
    rows.append(("observation", one.id))
    return Spot(x, value, f"{axis} {shown}", rows, low, high)


def _pages(one: Observation) -> str:
    return f"{one.pattern.get('pages', '')} pages"


def _regions(found: Sequence[Observation], marks: Marks) -> list[Figure]:
    """Whole regions in random order: the caches, one after the other."""
    title = "Every line of a region, in random order"
    if found[0].pattern["order"]["kind"] == "windows":
        title += ", few pages at a time"
    picture = _picture(
        *(title, "region", "B", found),
        lambda one: LINE * float(params(one)["lines"]),
        lambda one: f"{_pages(one)}, {one.prober}",
        marks,
    )
    picture.columns = marks.of(".capacity")
    picture.levels = marks.of(".latency")
    return [picture]


def _translations(found: Sequence[Observation], marks: Marks) -> list[Figure]:
    picture = _picture(
        *("One line of each page", "pages", "", found),
        lambda one: float(params(one)["count"]),
        _pages,
        marks,
    )
    picture.note = "On huge pages the same loads need no translation, if the pages are whole."
    picture.columns = marks.lines("tlb.1.entries", "tlb.2.entries")
    return [picture]


def _conflicts(found: Sequence[Observation], marks: Marks) -> list[Figure]:
    """Lines that meet in few sets, over how many there are."""
    drawn = []
    for pages in dict.fromkeys(_pages(one) for one in found):
        picture = _picture(
            f"Lines a stride apart, {pages}",
            *("lines", "", [one for one in found if _pages(one) == pages]),
            lambda one: float(params(one)["count"]),
            lambda one: f"stride {size(params(one)['stride'])}",
            marks,
        )
        picture.columns = marks.of(".ways")
        drawn.append(picture)
    return drawn


def _twins(found: Sequence[Observation], marks: Marks) -> list[Figure]:
    picture = _picture(
        *("A load, then one at a distance", "distance", "B", found),
        lambda one: float(params(one)["distance"]),
        _pages,
        marks,
    )
    picture.columns = marks.of(".entry")
    return [picture]


def _near(found: Sequence[Observation], marks: Marks) -> list[Figure]:
    """Conflict tests for a near memory: over how many places, and over how far one is moved."""
    plain = [one for one in found if not any(params(one).get(name) for name in _SHIFTS)]
    moved = [one for one in found if params(one).get("shift") and not params(one).get("beside")]
    counts = _picture(
        *("Places that share a set of a near memory", "places", "", plain),
        lambda one: float(params(one)["count"]),
        lambda one: f"stride {size(params(one)['stride'])}",
        marks,
    )
    counts.columns = marks.lines("near.ways")
    shifts = _picture(
        *("Some of the places moved", "moved by", "B", moved),
        lambda one: float(params(one)["shift"]),
        lambda one: f"{params(one)['count']} places, stride {size(params(one)['stride'])}",
        marks,
    )
    shifts.columns = marks.lines("near.line")
    return [counts, shifts] if moved else [counts]


_SHIFTS = ("moved", "shift", "beside")

_KINDS: Mapping[str, Callable[[Sequence[Observation], Marks], list[Figure]]] = {
    "dense": _regions,
    "windows": _regions,
    "pages": _translations,
    "strided": _conflicts,
    "twins": _twins,
    "conflict": _near,
}
