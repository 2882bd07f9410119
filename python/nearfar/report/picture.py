"""A drawing in its card: what every picture that is no plain curve has in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from nearfar.report import svg
from nearfar.report.frame import Target


@dataclass(frozen=True)
class Picture:
    """The SVG, what the pointer finds on it, and its numbers as a table.

    `legend` has a colour and a name each; `head` and `rows` are the table's.
    """

    title: str
    svg: str
    targets: Sequence[Target]
    note: str = ""
    legend: Sequence[tuple[int, str]] = ()
    head: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    wide: bool = False  # the whole width of the page


def frame(content: str, width: float, height: float, label: str) -> str:
    """The SVG element of a picture whose points the arrow keys read."""
    return svg.element(
        "svg",
        content,
        viewBox=f"0 0 {width} {height}",
        role="img",
        tabindex=0,
        aria_label=f"{label}. Arrow keys read the points.",
    )


def card(picture: Picture, name: str, chart: int) -> str:
    """The card; `chart` is the picture's number on the page."""
    legend = "".join(
        f'<li class="s{colour}"><i></i>{escape(label)}</li>' for colour, label in picture.legend
    )
    note = f'<p class="keys">{escape(picture.note)}</p>' if picture.note else ""
    wide = ' class="wide"' if picture.wide else ""
    return (
        f'<article id="{name}"{wide}><h3>{escape(picture.title)}</h3>{note}'
        + (f'<ul class="legend">{legend}</ul>' if legend else "")
        + f'<div class="chart" data-chart="{chart}">{picture.svg}</div>{_table(picture)}'
        "</article>\n"
    )


def _table(picture: Picture) -> str:
    """The numbers, as a table."""
    if not picture.rows:
        return ""
    head = "".join(f"<th scope=col>{escape(name)}" for name in picture.head)
    rows = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}' for cell in row)}</tr>" for row in picture.rows
    )
    return (
        f"<details><summary>{len(picture.rows)} rows as a table</summary>"
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'
        "</div></details>"
    )
