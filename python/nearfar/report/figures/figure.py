"""A picture of measured points: lines or dots over an axis, with marks where something changes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from nearfar.report import svg
from nearfar.report.chart import BOTTOM, LEFT, RIGHT, TOP, WIDTH
from nearfar.report.frame import Target
from nearfar.report.scale import LinearScale, LogScale, Tick, log_span, ticks_for
from nearfar.results.wording import number, size

HEIGHT = 350
COLOURS = 9  # of the page
_TICKS = 5  # on a linear axis, about

Scale = LogScale | LinearScale


@dataclass(frozen=True)
class Spot:
    """A point; `rows` are what the pointer shows, `low` and `high` its interval."""

    x: float
    y: float
    label: str
    rows: Sequence[tuple[str, str]] = ()
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Line:
    """Points of one kind: joined, or dots alone."""

    label: str
    spots: Sequence[Spot]
    joined: bool = True


@dataclass(frozen=True)
class Mark:
    """A place on an axis, with its name and the finding that says so."""

    at: float
    label: str


@dataclass
class Figure:
    """What to draw. `shows` are the ids of the observations in it."""

    name: str
    title: str
    x_name: str
    x_unit: str
    y_name: str
    lines: Sequence[Line]
    shows: Sequence[str]
    note: str = ""
    log_x: bool = True
    log_y: bool = True
    columns: Sequence[Mark] = ()  # at places of x
    levels: Sequence[Mark] = ()  # at heights of y
    targets: list[Target] = field(default_factory=list)

    @property
    def points(self) -> int:
        """How many points it shows."""
        return sum(len(line.spots) for line in self.lines)


def draw(figure: Figure) -> str:
    """The SVG; fills in the figure's hover targets."""
    spots = [spot for line in figure.lines for spot in line.spots]
    heights = [h for spot in spots for h in (spot.y, spot.low, spot.high) if h is not None]
    x = _scale([spot.x for spot in spots], figure.log_x, LEFT, WIDTH - RIGHT)
    y = _scale(heights, figure.log_y, BOTTOM, TOP)
    parts = [_x_axis(figure, x), _y_axis(figure, y), *_marks(figure, x, y)]
    figure.targets = []
    for index, line in enumerate(figure.lines):
        parts.append(_line(line, index % COLOURS, x, y))
        figure.targets += [
            (
                round(x(spot.x), 1),
                round(y(spot.y), 1),
                round(y(spot.y), 1),
                index % COLOURS,
                spot.label,
                list(spot.rows),
            )
            for spot in line.spots
        ]
    names = "; ".join(
        f"{line.label}: {len(line.spots)} points" for line in figure.lines if line.spots
    )
    return svg.element(
        "svg",
        "".join(parts),
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        tabindex=0,
        aria_label=f"{figure.title}. {names}. Arrow keys read the points.",
    )


def _scale(values: Sequence[float], log: bool, start: float, end: float) -> Scale:
    if log and min(values) > 0:
        return LogScale(*log_span(values, 1.2), start, end)
    low, high = min(values), max(values)
    margin = 0.06 * (high - low) or abs(high) * 0.5 or 1.0
    low = 0.0 if 0 <= low < 0.3 * high else low - margin
    return LinearScale(low, high + margin, start, end)


def _ticks(unit: str, scale: Scale) -> list[Tick]:
    if isinstance(scale, LogScale):
        found = ticks_for(unit, scale.low, scale.high)
        return found if unit == "B" else [Tick(tick.at, _short(tick.at)) for tick in found]
    wanted = (scale.high - scale.low) / _TICKS
    step = 2.0 ** math.ceil(math.log2(wanted)) if unit == "B" else _round_step(wanted)
    first = int(scale.low / step)
    places = [n * step for n in range(first, int(scale.high / step) + 1)]
    show = size_of if unit == "B" else _short
    return [Tick(at, show(at)) for at in places if scale.low <= at <= scale.high]


def size_of(value: float) -> str:
    """A size on a linear axis."""
    return size(round(value))


def _short(value: float) -> str:
    """A number that fits beside an axis."""
    if abs(value) >= 1_000_000:
        return f"{number(value / 1_000_000)}M"
    return number(value) if abs(value) < 10_000 else f"{number(value / 1000)}k"


def _round_step(step: float) -> float:
    power = 10.0 ** math.floor(math.log10(step))
    return next(power * digit for digit in (1, 2, 5, 10) if power * digit >= step * 0.999)


def _x_axis(figure: Figure, x: Scale) -> str:
    grid = "".join(
        svg.line(x(tick.at), TOP, x(tick.at), BOTTOM, "grid")
        + svg.text(tick.label, x(tick.at), BOTTOM + 18, class_="tick x")
        for tick in _ticks(figure.x_unit, x)
    )
    middle = (LEFT + WIDTH - RIGHT) / 2
    return grid + svg.text(figure.x_name, middle, BOTTOM + 42, class_="axis-name")


def _y_axis(figure: Figure, y: Scale) -> str:
    grid = "".join(
        svg.line(LEFT, y(tick.at), WIDTH - RIGHT, y(tick.at), "grid")
        + svg.text(tick.label, LEFT - 8, y(tick.at) + 4, class_="tick y")
        for tick in _ticks("", y)
    )
    edge = svg.line(LEFT, BOTTOM, WIDTH - RIGHT, BOTTOM, "edge")
    return grid + edge + svg.text(figure.y_name, LEFT, TOP - 8, class_="unit")


def _marks(figure: Figure, x: Scale, y: Scale) -> list[str]:
    """Dashed lines; a name that would touch the one before it goes below it."""
    parts = []
    last, row = -1e9, 0
    for mark in sorted(figure.columns, key=lambda mark: mark.at):
        if not x.low <= mark.at <= x.high:
            continue
        at = x(mark.at)
        row = row + 1 if at - last < 90 else 0
        last = at
        parts.append(svg.line(at, TOP, at, BOTTOM, "mark"))
        flip = at > WIDTH - RIGHT - 100
        parts.append(
            svg.text(
                mark.label,
                at - 5 if flip else at + 5,
                TOP + 11 + 14 * row,
                class_="mark-name flip" if flip else "mark-name",
            )
        )
    for mark in figure.levels:
        if y.low <= mark.at <= y.high:
            parts.append(svg.line(LEFT, y(mark.at), WIDTH - RIGHT, y(mark.at), "mark"))
            parts.append(
                svg.text(mark.label, WIDTH - RIGHT - 4, y(mark.at) - 4, class_="mark-name flip")
            )
    return parts


def _line(line: Line, colour: int, x: Scale, y: Scale) -> str:
    places = [(x(spot.x), y(spot.y)) for spot in line.spots]
    bars = [
        ((x(spot.x), y(spot.low)), (x(spot.x), y(spot.high)))
        for spot in line.spots
        if spot.low is not None and spot.high is not None and spot.high > spot.low
    ]
    parts = []
    if bars:
        data = "".join(svg.curve(bar) for bar in bars)
        parts.append(svg.element("path", d=data, class_=f"interval s{colour}"))
    if line.joined and len(places) > 1:
        parts.append(svg.element("path", d=svg.curve(places), class_=f"model s{colour}"))
    if not line.joined or len(places) <= 60:
        parts.append(svg.element("path", d=svg.dots(places), class_=f"spots s{colour}"))
    return "".join(parts)
