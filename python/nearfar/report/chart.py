"""Charts of a validation as SVG: curves over an axis, and measured against simulated.

Every series is two paths that carry its name, "hardware" and "model"; the hover targets of
a chart go to the page's script as data, so that the picture is complete without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from nearfar.report import svg
from nearfar.report.scale import LinearScale, LogScale, Tick, log_span, ticks_for
from nearfar.results import ComparedPoint, ComparedSeries
from nearfar.results.wording import number

# About the size at which a card of the page shows it, so that type stays readable.
WIDTH, HEIGHT = 560, 440
LEFT, RIGHT, TOP, BOTTOM = 48, 14, 20, 300  # the plot's edges, from the left and the top
STRIP_TOP, STRIP_BOTTOM = 332, 388  # the accuracy strip shares the x axis
PARITY_BOTTOM = 390
_FLOORS = (0.9, 0.7, 0.5, 0.0)  # where the accuracy strip may begin

# x, y of the model's value, y of the hardware's; then what the tooltip says.
Target = tuple[float, float, float, int, str, str, str, str]


@dataclass
class Chart:
    """The picture, and the points that can be hovered over."""

    name: str
    title: str
    series: Sequence[ComparedSeries]
    svg: str = ""
    targets: list[Target] = field(default_factory=list)


ROWS = 24  # as many figures as can stand one below the other


def draw(name: str, title: str, series: Sequence[ComparedSeries]) -> Chart:
    """Curves where there is an axis; rows for a few figures; a cloud for many of one unit."""
    chart = Chart(name, title, series)
    if series[0].x_name:
        _draw_curves(chart)
    elif sum(one.n for one in series) > ROWS and len(units(series)) == 1:
        _draw_parity(chart)
    else:
        _draw_ratios(chart)
    return chart


def units(series: Sequence[ComparedSeries]) -> set[str]:
    """The units of all points."""
    return {point.unit for one in series for point in one.points}


def _draw_curves(chart: Chart) -> None:
    """Series over a common logarithmic axis, with the accuracy of each point below."""
    series = chart.series
    xs = [point.x for one in series for point in one.points if point.x is not None]
    x = LogScale(*log_span(xs, 1.25), LEFT, WIDTH - RIGHT)
    y = LogScale(*log_span(_values(series)), BOTTOM, TOP)
    worst = min(one.worst for one in series)
    floor = next(level for level in _FLOORS if level <= worst)
    strip = LinearScale(floor, 1.0, STRIP_BOTTOM, STRIP_TOP)
    unit = series[0].points[0].unit
    parts = [
        _x_grid(x, ticks_for(series[0].x_unit, x.low, x.high), STRIP_BOTTOM),
        _y_grid(y, ticks_for(unit, y.low, y.high)),
        _marks(series, x),
        _strip_grid(strip, floor),
        svg.text(f"{unit}", LEFT, TOP - 8, class_="unit"),
        svg.text(series[0].x_name, (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, class_="axis-name"),
    ]
    for index, one in enumerate(series):
        places = [(x(point.x or 0), point) for point in one.points]
        parts.append(_pair(one, index, places, y))
        accuracy = svg.dots((at, strip(max(point.accuracy, floor))) for at, point in places)
        parts.append(svg.element("path", d=accuracy, class_=f"accuracy s{index}"))
        chart.targets += [_target(at, y, index, point) for at, point in places]
    chart.svg = _frame(chart, "".join(parts), HEIGHT)


def _draw_parity(chart: Chart) -> None:
    """Simulated over measured, both logarithmic: on the diagonal the model is right."""
    series = chart.series
    low, high = log_span(_values(series))
    x = LogScale(low, high, LEFT, WIDTH - RIGHT)
    y = LogScale(low, high, PARITY_BOTTOM, TOP)
    unit = series[0].points[0].unit
    ticks = ticks_for("", low, high)
    band = [(low, low * 1.1), (high, high * 1.1), (high, high / 1.1), (low, low / 1.1)]
    parts = [
        svg.element("path", d=svg.curve((x(a), y(b)) for a, b in band) + "Z", class_="band"),
        _x_grid(x, ticks, PARITY_BOTTOM),
        _y_grid(y, ticks, PARITY_BOTTOM),
        svg.text(f"model, {unit}", LEFT, TOP - 8, class_="unit"),
        svg.text(f"hardware, {unit}", (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, class_="axis-name"),
    ]
    for index, one in enumerate(series):
        on_line = sorted({point.real for point in one.points} | {low, high})
        parts.append(
            svg.element(
                "path",
                d=svg.curve((x(real), y(real)) for real in on_line),
                class_="hardware diagonal",
                data_series=one.name,
            )
        )
        parts.append(
            svg.element(
                "path",
                d=svg.dots((x(point.real), y(point.simulated)) for point in one.points),
                class_=f"model dots s{index}",
                data_series=one.name,
            )
        )
        chart.targets += [
            (*_target(x(point.real), y, index, point)[:2], y(point.real), *_words(index, point))
            for point in one.points
        ]
    chart.svg = _frame(chart, "".join(parts), HEIGHT)


def _draw_ratios(chart: Chart) -> None:
    """Figures of different units, one a row: simulated over measured, logarithmic."""
    series = chart.series
    rows = [(index, one, point) for index, one in enumerate(series) for point in one.points]
    found = [max(point.simulated / point.real, 0.01) for _, _, point in rows]
    spread = max(1.5, *(max(ratio, 1 / ratio) for ratio in found)) * 1.05
    x = LogScale(1 / spread, spread, 270, WIDTH - RIGHT - 10)
    bottom = TOP + 40 * len(rows)
    height = bottom + 44
    parts = [
        svg.element(
            "rect",
            x=x(1 / 1.1),
            y=TOP,
            width=x(1.1) - x(1 / 1.1),
            height=bottom - TOP,
            class_="band",
        ),
        _x_grid(x, _ratio_ticks(x), bottom),
        svg.line(x(1.0), TOP, x(1.0), bottom, "one"),
        svg.text("model / hardware", (x.start + x.end) / 2, height - 6, class_="axis-name"),
    ]
    at = {id(point): TOP + 22 + 40 * row for row, (_, _, point) in enumerate(rows)}
    for index, one in enumerate(series):
        real = [(x(1.0), at[id(point)]) for point in one.points]
        model = [
            (x(max(point.simulated / point.real, 0.01)), at[id(point)]) for point in one.points
        ]
        stems = "".join(svg.curve(pair) for pair in zip(real, model, strict=True))
        parts += [
            svg.element("path", d=stems, class_=f"stem s{index}"),
            svg.element("path", d=svg.dots(real), class_="hardware", data_series=one.name),
            svg.element(
                "path", d=svg.dots(model), class_=f"model dots s{index}", data_series=one.name
            ),
        ]
        for point, place in zip(one.points, model, strict=True):
            y = at[id(point)]
            parts.append(svg.text(point.label, 8, y - 2, class_="row-name"))
            parts.append(svg.text(_both(point), 8, y + 14, class_="row-value"))
            chart.targets.append((place[0], y, y, *_words(index, point)))
    chart.svg = _frame(chart, "".join(parts), height)


def _values(series: Sequence[ComparedSeries]) -> list[float]:
    return [v for one in series for point in one.points for v in (point.real, point.simulated)]


def _pair(
    one: ComparedSeries, index: int, places: list[tuple[float, ComparedPoint]], y: LogScale
) -> str:
    hardware = svg.dots((at, y(point.real)) for at, point in places)
    model = svg.curve((at, y(point.simulated)) for at, point in places)
    return svg.element(
        "path", d=hardware, class_=f"hardware s{index}", data_series=one.name
    ) + svg.element("path", d=model, class_=f"model s{index}", data_series=one.name)


def _x_grid(x: LogScale, ticks: Sequence[Tick], bottom: float) -> str:
    return "".join(
        svg.line(x(tick.at), TOP, x(tick.at), bottom, "grid")
        + svg.text(tick.label, x(tick.at), bottom + 18, class_="tick x")
        for tick in ticks
    )


def _y_grid(y: LogScale, ticks: Sequence[Tick], bottom: float = BOTTOM) -> str:
    edge = svg.line(LEFT, bottom, WIDTH - RIGHT, bottom, "edge")
    return edge + "".join(
        svg.line(LEFT, y(tick.at), WIDTH - RIGHT, y(tick.at), "grid")
        + svg.text(tick.label, LEFT - 8, y(tick.at) + 4, class_="tick y")
        for tick in ticks
    )


def _strip_grid(strip: LinearScale, floor: float) -> str:
    levels = sorted({floor, (floor + 1) / 2, 1.0})
    return svg.text("accuracy", LEFT, STRIP_TOP - 9, class_="unit") + "".join(
        svg.line(LEFT, strip(level), WIDTH - RIGHT, strip(level), "grid")
        + svg.text(f"{level:g}", LEFT - 8, strip(level) + 4, class_="tick y small")
        for level in levels
    )


def _marks(series: Sequence[ComparedSeries], x: LogScale) -> str:
    marks = {(mark.x, mark.label) for one in series for mark in one.marks}
    return "".join(
        svg.line(x(at), TOP, x(at), BOTTOM, "mark")
        + svg.text(label, x(at) + 5, TOP + 11, class_="mark-name")
        for at, label in sorted(marks)
        if x.low <= at <= x.high
    )


def _ratio_ticks(x: LogScale) -> list[Tick]:
    values = (0.67, 0.8, 1.0, 1.25, 1.5) if x.high < 1.8 else (0.01, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
    return [Tick(value, f"{value:g}") for value in values if x.low <= value <= x.high]


def _target(at: float, y: LogScale, index: int, point: ComparedPoint) -> Target:
    return (
        round(at, 1),
        round(y(point.simulated), 1),
        round(y(point.real), 1),
        *_words(index, point),
    )


def _words(index: int, point: ComparedPoint) -> tuple[int, str, str, str, str]:
    unit = f" {point.unit}" if point.unit else ""
    return (
        index,
        point.label,
        f"{number(point.real)}{unit}",
        f"{number(point.simulated)}{unit}",
        f"{100 * point.accuracy:.1f} %",
    )


def _both(point: ComparedPoint) -> str:
    unit = f" {point.unit}" if point.unit else ""
    return f"{number(point.real)}{unit} measured, {number(point.simulated)}{unit} model"


def _frame(chart: Chart, content: str, height: float) -> str:
    names = "; ".join(
        f"{one.title}: {one.n} points, mean accuracy {one.mean:.3f}" for one in chart.series
    )
    return svg.element(
        "svg",
        content,
        viewBox=f"0 0 {WIDTH} {height}",
        role="img",
        tabindex=0,
        aria_label=f"{chart.title}. {names}. Arrow keys read the points.",
    )
