"""Pictures of a swept study: curves, heat maps, parallel coordinates, trade-offs."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from nearfar.report import svg
from nearfar.report.bars import Bar, Part, bars
from nearfar.report.figures.figure import Figure, Line, Spot
from nearfar.report.frame import Target
from nearfar.report.pages.run import as_picture
from nearfar.report.picture import Picture, frame
from nearfar.report.sweep import described, pareto_front
from nearfar.results.sweep import DONE, SweepPoint, SweepResult
from nearfar.results.wording import number

_MOST_LINES = 8  # of a picture of curves
_MOST_FIGURES = 6  # with curves of their own
_LOG_SPAN = 4.0  # highest over lowest value, from which an axis is logarithmic
_WIDTH, _LEFT, _RIGHT, _TOP = 1120, 130, 30, 26
_CELL = 34
_AXES_HEIGHT = 300
_QUANTITY = re.compile(r"([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?)\s*([A-Za-z/]*)")
_SIZES = {"B": 1.0, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "TiB": 2.0**40}
_OTHERS = {
    **{"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9},
    **{"ps": 1e-3, "ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9},
    **{"mW": 1e-3, "W": 1.0, "MHz": 1.0, "GHz": 1e3, "MT/s": 1.0, "%": 1.0},
    **{"MB/s": 1.0, "GB/s": 1e3, "pJ": 1.0, "nJ": 1e3, "uJ": 1e6},
}
# Figures of which more is better; of all others less is.
_MORE = ("gb_per_s", "accuracy", "worst", "mean", "ipc")


@dataclass(frozen=True)
class Axis:
    """What a study varies: its values in order, and as numbers where all of them are."""

    name: str
    values: tuple[str, ...]
    numbers: tuple[float, ...]  # empty if some value is a word
    unit: str  # "B", or none

    def place(self, value: str) -> float:
        """From 0 to 1; numbers by their size, words by their order."""
        if not self.numbers:
            return self.values.index(value) / max(len(self.values) - 1, 1)
        low, high, at = self.numbers[0], self.numbers[-1], self.number(value)
        if self.is_wide():
            return math.log(at / low) / math.log(high / low)
        return (at - low) / (high - low) if high > low else 0.5

    def is_wide(self) -> bool:
        """Whether its numbers are read best on a logarithmic scale."""
        return self.numbers[0] > 0 and self.numbers[-1] / self.numbers[0] >= _LOG_SPAN

    def number(self, value: str) -> float:
        """A value of numbers."""
        return self.numbers[self.values.index(value)]


def pictures(result: SweepResult) -> list[Picture]:
    """Everything that can be drawn of a study's points that are done."""
    points = result.of_state(DONE)
    axes = [axis for axis in _axes(result, points) if len(axis.values) > 1]
    if not points or not result.figures:
        return []
    shown = list(result.figures[:_MOST_FIGURES])
    drawn = [_curves(axes, points, name) for name in shown]
    drawn += [_heat_map(axes, points, name) for name in shown[:2]]
    drawn += [_parallel(axes, points, shown), _trade_off(result, shown), *_sensitivity(result)]
    return [picture for picture in drawn if picture is not None]


def _axes(result: SweepResult, points: Sequence[SweepPoint]) -> list[Axis]:
    named = [(key, [one.settings.get(key, "") for one in points]) for key in result.keys]
    named += [("target", [one.target for one in points])]
    if not any(_varies(values) for _, values in named):
        named += [("work", [one.work for one in points])]
    return [_axis(name, values) for name, values in named]


def _varies(values: Sequence[str]) -> bool:
    return len(set(values)) > 1


def _axis(name: str, values: Sequence[str]) -> Axis:
    matches = [_QUANTITY.fullmatch(value.strip()) for value in dict.fromkeys(values)]
    units = {match[2] for match in matches if match is not None}
    scales = next((one for one in (_SIZES, _OTHERS) if units <= set(one)), None)
    distinct = list(dict.fromkeys(values))
    if None in matches or scales is None:
        return Axis(name, tuple(distinct), (), "")
    numbers = {
        value: float(match[1]) * scales[match[2]]
        for value, match in zip(distinct, matches, strict=True)
        if match is not None
    }
    ordered = sorted(numbers, key=lambda value: numbers[value])
    unit = "B" if scales is _SIZES and units != {""} else ""
    return Axis(name, tuple(ordered), tuple(numbers[value] for value in ordered), unit)


def _value(point: SweepPoint, axis: Axis) -> str:
    return point.target if axis.name == "target" else point.settings.get(axis.name, point.work)


def _curves(axes: Sequence[Axis], points: Sequence[SweepPoint], name: str) -> Picture | None:
    """A figure over the key of most numbers, a line for each combination of the rest."""
    numeric = sorted((one for one in axes if one.numbers), key=lambda one: -len(one.values))
    if not numeric:
        return None
    x = numeric[0]
    rest = [axis for axis in axes if axis is not x]
    groups: dict[str, list[Spot]] = {}
    for point in points:
        if name not in point.figures:
            continue
        label = ", ".join(f"{axis.name} {_value(point, axis)}" for axis in rest) or name
        rows = ((name, number(point.figures[name])), ("point", point.id[:8]))
        spot = Spot(x.number(_value(point, x)), point.figures[name], described(point), rows)
        groups.setdefault(label, []).append(spot)
    if not groups:
        return None
    if len(groups) > _MOST_LINES:
        spots = [spot for group in groups.values() for spot in group]
        lines, note = [Line(name, spots, joined=False)], "Every point a dot."
    else:
        lines = [Line(label, sorted(found, key=_by_x)) for label, found in groups.items()]
        note = ""
    heights = [spot.y for line in lines for spot in line.spots]
    tall = min(heights) > 0 and max(heights) / min(heights) >= _LOG_SPAN
    figure = Figure(
        *("", f"{name} over {x.name}", x.name, x.unit, name, lines, (), note),
        log_x=x.is_wide(),
        log_y=tall,
    )
    return replace(as_picture(figure), rows=())


def _by_x(spot: Spot) -> float:
    return spot.x


def _heat_map(axes: Sequence[Axis], points: Sequence[SweepPoint], name: str) -> Picture | None:
    """The mean of a figure over two keys: the darker, the more."""
    wide = sorted((one for one in axes if len(one.values) <= 32), key=lambda one: -len(one.values))
    if len(wide) < 2:
        return None
    x, y = wide[0], wide[1]
    cells: dict[tuple[str, str], list[float]] = {}
    for point in points:
        if name in point.figures:
            place = (_value(point, x), _value(point, y))
            cells.setdefault(place, []).append(point.figures[name])
    means = {place: sum(found) / len(found) for place, found in cells.items()}
    if not means:
        return None
    low, high = min(means.values()), max(means.values())
    width = (_WIDTH - _LEFT - _RIGHT) / len(x.values)
    content, targets = [], list[Target]()
    for (column, row), mean in means.items():
        left = _LEFT + width * x.values.index(column)
        top = _TOP + _CELL * (len(y.values) - 1 - y.values.index(row))
        share = (mean - low) / (high - low) if high > low else 0.5
        content.append(_cell(left, top, width, share))
        shown = [(name, number(mean)), ("points", str(len(cells[column, row])))]
        label = f"{x.name} {column}, {y.name} {row}"
        middle = round(top + _CELL / 2, 1)
        targets.append((round(left + width / 2, 1), middle, middle, 0, label, shown))
    bottom = _TOP + _CELL * len(y.values)
    content += [
        svg.text(value, _LEFT + width * (at + 0.5), bottom + 18, class_="tick x")
        for at, value in enumerate(x.values)
    ]
    content += [
        svg.text(value, _LEFT - 8, bottom - _CELL * (at + 0.4), class_="tick y")
        for at, value in enumerate(y.values)
    ]
    content.append(svg.text(x.name, _WIDTH / 2, bottom + 40, class_="axis-name"))
    content.append(svg.text(y.name, 4, _TOP - 10, class_="unit"))
    return Picture(
        title=f"{name} by {x.name} and {y.name}",
        svg=frame("".join(content), _WIDTH, bottom + 50, f"{name} by {x.name} and {y.name}"),
        targets=targets,
        note=f"From {number(low)} (lightest) to {number(high)} (darkest); the mean where several "
        "points share a cell.",
        wide=True,
    )


def _cell(left: float, top: float, width: float, share: float) -> str:
    def drawn(class_: str, opacity: float) -> str:
        return svg.element(
            "rect",
            x=left,
            y=top,
            width=width - 1,
            height=_CELL - 1,
            class_=class_,
            opacity=f"{opacity:.2f}",
        )

    return drawn("cold", 1.0) + drawn("fill s0", 0.08 + 0.92 * share)


def _parallel(
    axes: Sequence[Axis], points: Sequence[SweepPoint], names: Sequence[str]
) -> Picture | None:
    """A line for each point through all that varies and the figures, coloured by the first."""
    complete = [one for one in points if all(name in one.figures for name in names)]
    if len(axes) < 2 or len(complete) < 2:
        return None
    measured = {name: sorted(one.figures[name] for one in complete) for name in names}
    count = len(axes) + len(names)
    gap = (_WIDTH - 2 * _LEFT) / (count - 1)
    bottom = _TOP + _AXES_HEIGHT
    heads = [axis.name for axis in axes] + list(names)
    ends = [(axis.values[0], axis.values[-1]) for axis in axes]
    ends += [(number(found[0]), number(found[-1])) for found in measured.values()]
    content, targets = [], list[Target]()
    for at, (head, (low, high)) in enumerate(zip(heads, ends, strict=True)):
        x = _LEFT + gap * at
        content.append(svg.line(x, _TOP, x, bottom, "edge"))
        content += [
            svg.text(low, x, bottom + 16, class_="tick x"),
            svg.text(high, x, _TOP - 6, class_="tick x"),
            svg.text(head, x, bottom + 36 + 16 * (at % 2), class_="axis-name"),
        ]
    first = measured[names[0]]
    for point in complete:
        shares = [axis.place(_value(point, axis)) for axis in axes]
        shares += [_share(point.figures[name], measured[name]) for name in names]
        places = [
            (_LEFT + gap * at, bottom - share * _AXES_HEIGHT) for at, share in enumerate(shares)
        ]
        colour = 0 if point.figures[names[0]] <= first[len(first) // 2] else 1
        content.append(
            svg.element("path", d=svg.curve(places), class_=f"s{colour} across", opacity=0.55)
        )
        x, y = places[len(axes)]
        rows = [(name, number(point.figures[name])) for name in names]
        targets.append((round(x, 1), round(y, 1), round(y, 1), colour, described(point), rows))
    return Picture(
        title="All points, everything that varies",
        svg=frame("".join(content), _WIDTH, bottom + 66, "Parallel coordinates of all points"),
        targets=targets,
        note="A line is a point; it crosses each axis at its value, from the least at the bottom.",
        legend=[(0, f"{names[0]} up to the median"), (1, "above it")],
        wide=True,
    )


def _share(value: float, ordered: Sequence[float]) -> float:
    low, high = ordered[0], ordered[-1]
    return (value - low) / (high - low) if high > low else 0.5


def _trade_off(result: SweepResult, names: Sequence[str]) -> Picture | None:
    """Two figures against each other, with the points that none is better than in both."""
    if len(names) < 2:
        return None
    goals = [(name, name.partition("[")[0].split(".")[-1] in _MORE) for name in names[:2]]
    front = pareto_front(result, goals)
    points = [one for one in result.of_state(DONE) if all(n in one.figures for n, _ in goals)]
    others = [one for one in points if one not in front]
    (x, more_x), (y, more_y) = goals
    lines = [
        Line(label, [_scatter(one, x, y) for one in found], joined=False)
        for label, found in (("Pareto front", front), ("other points", others))
        if found
    ]
    if not lines or len({one.figures[x] for one in points}) < 2:
        return None
    better = {True: "more", False: "less"}
    note = f"Better is {better[more_x]} {x} and {better[more_y]} {y}."
    figure = Figure(*("", f"{y} against {x}", x, "", y, lines, (), note), log_x=False, log_y=False)
    return replace(as_picture(figure), rows=())


def _scatter(point: SweepPoint, x: str, y: str) -> Spot:
    rows = [(name, number(point.figures[name])) for name in (x, y)]
    return Spot(point.figures[x], point.figures[y], described(point), rows)


def _sensitivity(result: SweepResult) -> list[Picture]:
    """For each figure a bar a key: how much it matters."""
    drawn = []
    for of, figure in dict.fromkeys((one.of, one.figure) for one in result.sensitivity):
        found = [one for one in result.sensitivity if (one.of, one.figure) == (of, figure)]
        main = "ST" if found[0].method == "sobol" else "mu_star"
        rows = [Bar(one.key, (Part("", max(one.values[main] or 0.0, 0.0), 2),)) for one in found]
        rows.sort(key=lambda bar: -bar.total)
        title = f"Which key moves {figure}" + (f" ({of})" if of else "")
        drawn.append(bars(title, rows, note=f"{main} of {result.design}"))
    return drawn
