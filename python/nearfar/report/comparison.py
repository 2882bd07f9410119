"""A comparison as text: parameters first, then the points that differ."""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.report.findings import quantity
from nearfar.report.text import table
from nearfar.results.comparison import ComparedParameter, ComparisonResult, PairedPoint, Side
from nearfar.results.wording import number

_SHOWN = 20  # points; all are in the JSON


def comparison_text(comparison: ComparisonResult, every: bool = False) -> str:
    """The whole text; with `every`, points within noise too."""
    text = f"a: {side_text(comparison.a)}\nb: {side_text(comparison.b)}\n"
    if comparison.parameters:
        rows = [_parameter(one) for one in comparison.parameters]
        text += "\n" + table(("parameter", "a", "b", "b/a", ""), rows, "<<<><")
    if comparison.points or comparison.only_a or comparison.only_b:
        text += "\n" + _points(comparison, every)
    if not comparison.parameters and not comparison.points:
        text += "nothing that both have\n"
    return text


def side_text(side: Side) -> str:
    """Its file, and its target where the file says so."""
    where = f", {side.target.spec} ({side.target.mode})" if side.target is not None else ""
    return f"{side.name}{where}"


def _parameter(one: ComparedParameter) -> tuple[str, ...]:
    shown = [value_text(value, bounds, one.unit) for value, bounds in _sides(one)]
    ratio = ""
    if isinstance(one.a, (int, float)) and isinstance(one.b, (int, float)) and one.a:
        ratio = number(one.b / one.a)
    return (one.name, *shown, ratio, verdict(one))


def verdict(one: ComparedParameter) -> str:
    """In a word or two; nothing for parameters that agree."""
    if one.a is None and one.b is None:
        return "neither"
    return {True: "differs", False: "", None: "one side only"}[one.differs]


def _sides(
    one: ComparedParameter,
) -> list[tuple[int | float | str | None, Sequence[float] | None]]:
    return [(one.a, one.a_interval), (one.b, one.b_interval)]


def value_text(value: int | float | str | None, bounds: Sequence[float] | None, unit: str) -> str:
    """A value with what it may be off by; a question mark where it is not known."""
    if value is None:
        return "?"
    shown = quantity(value, unit)
    if bounds is None or bounds[0] == bounds[1] or isinstance(value, str):
        return shown
    off = max(abs(bounds[1] - value), abs(value - bounds[0])) / value if value else 0.0
    return f"{shown} ±{100 * off:.1f} %"


def _points(comparison: ComparisonResult, every: bool) -> str:
    points = comparison.points
    apart = [one for one in points if one.differs]
    text = f"{len(points)} points in both, {len(apart)} differ by more than noise"
    lone = [(comparison.only_a, "a"), (comparison.only_b, "b")]
    text += "".join(f"; {count} only in {side}" for count, side in lone if count) + "\n"
    chosen = points if every else _farthest(apart)
    if not chosen:
        return text
    rows = [
        (
            one.label,
            f"{number(one.a)} {one.unit}",
            f"{number(one.b)} {one.unit}",
            number(one.b / one.a),
            f"{100 * one.noise:.1f} %",
            "differs" if one.differs else "",
        )
        for one in chosen
    ]
    text += table(("point", "a", "b", "b/a", "noise", ""), rows, "<>>>><")
    if not every and len(apart) > len(chosen):
        text += f"the {len(chosen)} farthest apart; --all shows every point\n"
    return text


def _farthest(apart: Sequence[PairedPoint]) -> list[PairedPoint]:
    """Those that differ most, in the order of the curve."""

    def distance(one: PairedPoint) -> float:
        return abs(one.b / one.a - 1) / one.noise

    kept = sorted(apart, key=distance, reverse=True)[:_SHOWN]
    chosen = {id(one) for one in kept}
    return [one for one in apart if id(one) in chosen]
