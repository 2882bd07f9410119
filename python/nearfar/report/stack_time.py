"""Where the time went, over time: how many threads were busy with what."""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.report import svg
from nearfar.report.frame import Target
from nearfar.report.picture import Picture, frame
from nearfar.report.scale import LinearScale, linear_ticks
from nearfar.report.stack import COLOURS
from nearfar.report.time_axis import time_axis, unit_of
from nearfar.results import totals
from nearfar.results.machine import Machine
from nearfar.results.totals import CAUSES
from nearfar.results.wording import number

_WIDTH, _LEFT, _RIGHT = 1120, 48, 20
_HEIGHT, _TOP, _BOTTOM = 260, 24, 206
_NAMED = 4  # causes that the pointer tells of

Spans = Sequence[tuple[float, float]]
Column = Sequence[float]  # threads busy in a bucket, by cause


def stack_over_time(machine: Machine) -> Picture | None:
    """Layers of causes, in buckets of equal length; None when nothing ran."""
    over = machine.over_time
    causes = [cause for cause in COLOURS if any(over.stack_ps.get(cause, ()))]
    if not causes:
        return None
    spans = totals.buckets(machine)
    columns = [
        [over.stack_ps[cause][i] / 1000 / (end - begin) for cause in causes]
        for i, (begin, end) in enumerate(spans)
    ]
    # What retires just behind a bucket's end may be counted in it.
    most = max(1.0, *(sum(column) for column in columns))
    y = LinearScale(0.0, most * 1.02, _BOTTOM, _TOP)
    x = LinearScale(0.0, spans[-1][1], _LEFT, _WIDTH - _RIGHT)
    content = [time_axis(x, _TOP, _BOTTOM), _levels(y)]
    below = [0.0] * len(spans)
    for at, cause in enumerate(causes):
        above = [base + column[at] for base, column in zip(below, columns, strict=True)]
        path = svg.curve([*_steps(spans, above, x, y), *reversed(_steps(spans, below, x, y))]) + "Z"
        content.append(svg.element("path", d=path, class_=f"layer s{COLOURS[cause]}"))
        below = above
    return Picture(
        title="Where the time went, over time",
        svg=frame("".join(content), _WIDTH, _HEIGHT, "Threads busy over time, by cause"),
        targets=_targets(machine, causes, columns, spans, x, y),
        legend=[(COLOURS[cause], CAUSES[cause]) for cause in causes],
        wide=True,
    )


def _steps(spans: Spans, heights: Column, x: LinearScale, y: LinearScale) -> list[svg.Place]:
    """The upper edge of bars without gaps."""
    pairs = zip(spans, heights, strict=True)
    return [(x(at), y(height)) for ends, height in pairs for at in ends]


def _levels(y: LinearScale) -> str:
    return svg.text("threads busy", _LEFT, _TOP - 9, class_="unit") + "".join(
        svg.line(_LEFT, y(tick.at), _WIDTH - _RIGHT, y(tick.at), "grid")
        + svg.text(tick.label, _LEFT - 8, y(tick.at) + 4, class_="tick y")
        for tick in linear_ticks(y.low, y.high, 4)
    )


def _targets(
    machine: Machine,
    causes: Sequence[str],
    columns: Sequence[Column],
    spans: Spans,
    x: LinearScale,
    y: LinearScale,
) -> list[Target]:
    unit, length = unit_of(spans[-1][1])
    targets: list[Target] = []
    for i, (column, (begin, end)) in enumerate(zip(columns, spans, strict=True)):
        busy = sum(column)
        rows = [("threads busy", number(busy))]
        if busy:
            cycles = busy * (end - begin) * 1000 / machine.period_ps
            rows.append(("instructions/cycle", number(machine.over_time.instructions[i] / cycles)))
        largest = sorted(zip(causes, column, strict=True), key=lambda pair: -pair[1])[:_NAMED]
        rows += [(CAUSES[cause], f"{100 * part / busy:.0f} %") for cause, part in largest if part]
        at, height = round(x((begin + end) / 2), 1), round(y(busy), 1)
        label = f"at {(begin + end) / 2 / length:.4g} {unit}"
        targets.append((at, height, height, COLOURS[largest[0][0]], label, rows))
    return targets
