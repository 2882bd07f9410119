"""Two results side by side as part of a page: what differs, and curves of both in one picture."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from nearfar.report.comparison import side_text, value_text, verdict
from nearfar.report.figures.figure import Figure, Line, Spot, draw
from nearfar.report.frame import Target, tiles
from nearfar.report.pages.probe import cards
from nearfar.report.picture import Picture, card
from nearfar.report.ratios import Ratio, ratio_rows
from nearfar.results import ComparisonResult
from nearfar.results.comparison import ComparedParameter, PairedPoint, Side
from nearfar.results.wording import number, size

_LEAST = 3  # places that make a curve
_MOST_ROWS = 40
_MOST_CURVES = 24


def comparison_title(comparison: ComparisonResult) -> str:
    """What stands above it."""
    return f"{comparison.a.name} and {comparison.b.name}"


def comparison_body(
    comparison: ComparisonResult, prefix: str = "", first_chart: int = 0
) -> tuple[str, list[list[Target]]]:
    """Everything below the title, and what the pointer finds on its pictures."""
    curves, rest = _curves(comparison.points)
    drawn = [_figure(name, points) for name, points in list(curves.items())[:_MOST_CURVES]]
    for at, figure in enumerate(drawn):
        figure.name = f"{prefix}curve-{at}"
    pictures = [draw(figure) for figure in drawn]
    parts = [
        _lead(comparison),
        _parameters(comparison.parameters, prefix),
        cards(drawn, pictures, first_chart, "Curves of both", f"{prefix}curves"),
    ]
    targets = [figure.targets for figure in drawn]
    if rest:
        picture = _ratios(rest)
        shown = card(picture, f"{prefix}figures", first_chart + len(targets))
        parts.append(
            f'<section class="curves pictures"><h2>Figure by figure</h2>{shown}</section>\n'
        )
        targets.append(list(picture.targets))
    if not comparison.parameters and not comparison.points:
        parts.append('<p class="note">The two have nothing in common.</p>')
    return "".join(parts), targets


def _lead(comparison: ComparisonResult) -> str:
    apart = sum(one.differs for one in comparison.points)
    known = [one for one in comparison.parameters if one.differs is not None]
    shown = []
    if known:
        shown.append(
            (f"{sum(one.differs is True for one in known)}", f"of {len(known)} parameters differ")
        )
    if comparison.points:
        of = f"of {len(comparison.points)} points in both differ by more than their noise"
        shown.append((f"{apart}", of))
        farthest = max(comparison.points, key=lambda one: abs(one.b / one.a - 1) / one.noise)
        if farthest.differs:
            shown.append((number(farthest.b / farthest.a), f"b/a where most: {farthest.label}"))
    lone = comparison.only_a + comparison.only_b
    if lone:
        about = f"{comparison.only_a} only in a, {comparison.only_b} only in b"
        shown.append((f"{lone}", f"points without a counterpart: {about}"))
    sides = "".join(
        _side(side, letter, colour)
        for side, letter, colour in ((comparison.a, "a", 0), (comparison.b, "b", 1))
    )
    return f'<div class="sides">{sides}</div>{tiles(shown)}\n'


def _side(side: Side, letter: str, colour: int) -> str:
    where = escape(side_text(side).removeprefix(side.name).removeprefix(", "))
    return (
        f'<div class="card s{colour}"><b>{letter}: {escape(side.name)}</b>'
        f"<span>{where}</span></div>"
    )


def _parameters(parameters: Sequence[ComparedParameter], prefix: str) -> str:
    """Those that differ first; those that neither side knows are only counted."""
    known = [one for one in parameters if one.a is not None or one.b is not None]
    if not known:
        return ""
    order = {True: 0, None: 1, False: 2}
    rows = "".join(_parameter(one) for one in sorted(known, key=lambda one: order[one.differs]))
    neither = len(parameters) - len(known)
    remark = f'<p class="keys">{neither} more that neither side identified.</p>' if neither else ""
    return (
        f'<section id="{prefix}parameters" class="findings compared"><h2>Parameters</h2>'
        '<div class="card"><div class="scroll"><table><thead><tr><th scope=col>Parameter'
        "<th scope=col>a<th scope=col>b<th scope=col>b/a<th scope=col class=words></tr></thead>"
        f"<tbody>{rows}</tbody></table></div></div>{remark}</section>\n"
    )


def _parameter(one: ComparedParameter) -> str:
    values = (
        value_text(one.a, one.a_interval, one.unit),
        value_text(one.b, one.b_interval, one.unit),
    )
    ratio = ""
    if isinstance(one.a, (int, float)) and isinstance(one.b, (int, float)) and one.a:
        ratio = number(one.b / one.a)
    kind = " class=differs" if one.differs else ""
    cells = "".join(f"<td>{escape(text)}" for text in (*values, ratio))
    return (
        f"<tr{kind}><th scope=row>{escape(one.name)}{cells}"
        f'<td class="words">{escape(verdict(one))}</tr>'
    )


def _curves(
    points: Sequence[PairedPoint],
) -> tuple[dict[str, list[PairedPoint]], list[PairedPoint]]:
    """Points by curve, where there are enough places for one; and the others."""
    curves: dict[str, list[PairedPoint]] = {}
    for one in points:
        if one.place is not None:
            curves.setdefault(one.curve, []).append(one)
    kept = {
        name: sorted(found, key=lambda one: one.place or 0.0)
        for name, found in curves.items()
        if len({one.place for one in found}) >= _LEAST
    }
    return kept, [one for one in points if one.curve not in kept or one.place is None]


def _figure(name: str, points: Sequence[PairedPoint]) -> Figure:
    apart = sum(one.differs for one in points)
    unit = points[0].unit
    lines = [Line(side, [_spot(one, getattr(one, side)) for one in points]) for side in ("a", "b")]
    note = f"{apart} of {len(points)} points differ by more than noise"
    rate = unit == "GB/s"
    return Figure(*("", name, "size", "B", unit, lines, [], note), log_y=not rate)


def _spot(one: PairedPoint, value: float) -> Spot:
    rows = (
        ("a", f"{number(one.a)} {one.unit}"),
        ("b", f"{number(one.b)} {one.unit}"),
        ("b/a", number(one.b / one.a)),
        ("noise", f"{100 * one.noise:.1f} %"),
    )
    place = one.place or 1.0
    label = size(round(place)) + (", differs" if one.differs else "")
    return Spot(place, value, label, rows, value * (1 - one.noise), value * (1 + one.noise))


def _ratios(points: Sequence[PairedPoint]) -> Picture:
    """Those that differ most, in the order of the file."""
    chosen = points
    if len(points) > _MOST_ROWS:
        distance = {id(one): abs(one.b / one.a - 1) / one.noise for one in points}
        kept = sorted(points, key=lambda one: -distance[id(one)])[:_MOST_ROWS]
        chosen = [one for one in points if one in kept]
    left_out = len(points) - len(chosen)
    note = "Left of the line b is the smaller, right of it the larger."
    if left_out:
        note += f" The {len(chosen)} farthest apart; {left_out} more are in the file."
    rows = [Ratio(one.label, one.unit, one.a, one.b, one.noise, one.differs) for one in chosen]
    return ratio_rows("b as a multiple of a", rows, note)
