"""Two sides of many figures of different units: each a dot at b/a, on a logarithmic axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from nearfar.report import svg
from nearfar.report.frame import Target
from nearfar.report.picture import Picture, frame
from nearfar.report.scale import LogScale, decimal_ticks
from nearfar.results.wording import number

_WIDTH, _LEFT, _RIGHT, _TOP, _ROW = 1120, 520, 24, 8, 26
_LETTERS = 46  # of a name that fits before its values
_SAME, _DIFFERS = 6, 1  # colours


@dataclass(frozen=True)
class Ratio:
    """A figure of both; `noise` is what its ratio may be off by, relatively."""

    name: str
    unit: str
    a: float
    b: float
    noise: float
    differs: bool


def ratio_rows(title: str, rows: Sequence[Ratio], note: str) -> Picture:
    """One row each, with the noise as a line through the dot."""
    logs = [abs(math.log(row.b / row.a)) + row.noise for row in rows]
    spread = max(1.1, math.exp(min(max(logs), math.log(1e6))) * 1.08)
    x = LogScale(1 / spread, spread, _LEFT, _WIDTH - _RIGHT)
    bottom = _TOP + _ROW * len(rows)
    content = [_axis(x, bottom)]
    targets: list[Target] = []
    for at, row in enumerate(rows):
        content.append(_row(row, _TOP + _ROW * (at + 0.5), x, targets))
    return Picture(
        title=title,
        svg=frame("".join(content), _WIDTH, bottom + 44, title),
        targets=targets,
        note=note,
        legend=((_DIFFERS, "differs by more than noise"), (_SAME, "within noise")),
        head=("", "a", "b", "b/a", "noise", ""),
        rows=[
            (
                row.name,
                *_values(row),
                number(row.b / row.a),
                f"{100 * row.noise:.1f} %",
                "differs" if row.differs else "",
            )
            for row in rows
        ],
        wide=True,
    )


def _row(row: Ratio, y: float, x: LogScale, targets: list[Target]) -> str:
    colour = _DIFFERS if row.differs else _SAME
    at = x(min(max(row.b / row.a, x.low), x.high))
    low, high = (x(min(max(row.b / row.a * f, x.low), x.high)) for f in _bounds(row.noise))
    a, b = _values(row)
    name = row.name if len(row.name) <= _LETTERS else f"{row.name[: _LETTERS - 1]}…"
    label = f"{a} → {b}"
    rows = (("a", a), ("b", b), ("b/a", number(row.b / row.a)))
    targets.append((round(at, 1), y, y, colour, row.name, rows))
    return "".join(
        (
            svg.text(name, 0, y + 4, class_="row-name"),
            svg.text(label, _LEFT - 14, y + 4, class_="flip"),
            svg.element("path", d=svg.curve(((x(1.0), y), (at, y))), class_=f"stem s{colour}"),
            svg.element("path", d=svg.curve(((low, y), (high, y))), class_=f"interval s{colour}"),
            svg.element("path", d=svg.dots(((at, y),)), class_=f"model dots s{colour}"),
        )
    )


def _bounds(noise: float) -> tuple[float, float]:
    return math.exp(-noise), math.exp(noise)


def _values(row: Ratio) -> tuple[str, str]:
    a, b = (f"{number(value)} {row.unit}".strip() for value in (row.a, row.b))
    return a, b


def _axis(x: LogScale, bottom: float) -> str:
    ticks = "".join(
        svg.line(x(tick.at), _TOP, x(tick.at), bottom, "grid")
        + svg.text(tick.label, x(tick.at), bottom + 18, class_="tick x")
        for tick in decimal_ticks(x.low, x.high)
    )
    one = svg.line(x(1.0), _TOP, x(1.0), bottom, "one")
    return ticks + one + svg.text("b/a", (x.start + x.end) / 2, bottom + 38, class_="axis-name")
