"""Amounts as horizontal bars, one a row, each of one part or several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nearfar.report import svg
from nearfar.report.chart import WIDTH
from nearfar.report.frame import Target
from nearfar.report.picture import Picture, frame
from nearfar.results.wording import number

_WIDE = 1120
_ROW, _BAR, _TOP = 46, 16, 4
_NAME = 15  # from a row's top to its name's line


@dataclass(frozen=True)
class Part:
    """A piece of a bar, in a colour of the page."""

    label: str
    value: float
    colour: int


@dataclass(frozen=True)
class Bar:
    """A row: its parts lie end to end; `mark` is a value that the bar is compared with."""

    name: str
    parts: Sequence[Part]
    mark: float | None = None

    @property
    def total(self) -> float:
        return sum(part.value for part in self.parts)


def bars(
    title: str,
    rows: Sequence[Bar],
    *,
    show: Callable[[float], str] = number,
    note: str = "",
    mark_name: str = "",
    wide: bool = False,
) -> Picture:
    """All rows to one scale; `show` writes an amount."""
    width = _WIDE if wide else WIDTH
    most = max([1e-12, *(max(row.total, row.mark or 0.0) for row in rows)])
    scale = (width - 8) / most
    content: list[str] = []
    targets: list[Target] = []
    for at, row in enumerate(rows):
        content.append(_row(row, _TOP + _ROW * at, scale, show, targets, width))
    parts = [part for row in rows for part in row.parts if part.value]
    legend = list(dict.fromkeys((part.colour, part.label) for part in parts if part.label))
    cells = [
        (row.name, part.label, show(part.value)) for row in rows for part in row.parts if part.value
    ]
    cells += [(row.name, mark_name, show(row.mark)) for row in rows if row.mark is not None]
    return Picture(
        title=title,
        svg=frame("".join(content), width, _TOP + _ROW * len(rows), title),
        targets=targets,
        note=note,
        legend=legend if len(legend) > 1 else (),
        head=("", "", "amount"),
        rows=cells,
        wide=wide,
    )


def _row(
    row: Bar,
    top: float,
    scale: float,
    show: Callable[[float], str],
    targets: list[Target],
    width: float,
) -> str:
    y = top + _NAME + 6
    drawn = [
        svg.text(row.name, 0, top + _NAME, class_="row-name"),
        svg.text(show(row.total), width - 8, top + _NAME, class_="row-name flip"),
        svg.element("rect", x=0, y=y, width=width - 8, height=_BAR, rx=3, class_="cold"),
    ]
    left = 0.0
    for part in row.parts:
        if part.value <= 0:
            continue
        length = max(part.value * scale, 1.0)
        drawn.append(
            svg.element(
                "rect",
                x=left,
                y=y,
                width=max(length - 0.8, 0.8),
                height=_BAR,
                rx=2,
                class_=f"fill s{part.colour}",
            )
        )
        share = f"{100 * part.value / row.total:.1f} %"
        middle = round(left + length / 2, 1)
        label = f"{row.name}: {part.label}" if part.label else row.name
        rows = (("amount", show(part.value)), ("share", share))
        targets.append((middle, y + _BAR / 2, y + _BAR / 2, part.colour, label, rows))
        left += length
    if row.mark is not None:
        at = row.mark * scale
        drawn.append(svg.element("line", x1=at, y1=y - 3, x2=at, y2=y + _BAR + 3, class_="limit"))
    return "".join(drawn)
