"""Figures of experiments that nothing particular is known about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nearfar.report.figures.figure import Figure, Line, Spot
from nearfar.report.figures.tools import MOST_LINES, Marks, params, quantile, thin
from nearfar.results import Observation
from nearfar.results.wording import number, size


def anything(members: Sequence[Observation], marks: Marks) -> list[Figure]:
    """Over the parameter that was varied, if there is one; else as distributions."""
    varied = _varied(members)
    if varied and any(height_of(one) is not None for one in members):
        return [_over(members, varied)]
    return [
        distribution(members[start : start + MOST_LINES], f"Times, {about(members[0])}", marks)
        for start in range(0, len(members), MOST_LINES)
    ]


def _varied(members: Sequence[Observation]) -> str | None:
    """The numeric parameter with most different values, at least three."""
    values: dict[str, set[float]] = {}
    for one in members:
        for name, value in params(one).items():
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                values.setdefault(name, set()).add(float(value))
    names = sorted(values, key=lambda name: len(values[name]))
    return names[-1] if names and len(values[names[-1]]) >= 3 else None


def height_of(one: Observation) -> float | None:
    if one.ns_per_access is not None:
        return one.ns_per_access
    if one.samples:
        return sorted(one.samples)[len(one.samples) // 2]
    return quantile(one.histogram, 0.5) if one.histogram else None


def _over(members: Sequence[Observation], varied: str) -> Figure:
    """One line for each combination of the other parameters."""
    lines: dict[str, list[Spot]] = {}
    for one in members:
        height = height_of(one)
        if height is None:
            continue
        rest = {
            name: value
            for name, value in params(one).items()
            if name not in (varied, "seed", "base") and isinstance(value, (int, str))
        }
        differs = ", ".join(f"{name} {_value(name, value)}" for name, value in rest.items())
        x = params(one)[varied]
        low, high = one.interval or (None, None)
        rows = (("median", f"{number(height)} ns"), ("observation", one.id))
        spot = Spot(max(float(x), 0.5), height, f"{varied} {_value(varied, x)}", rows, low, high)
        lines.setdefault(differs or "all", []).append(spot)
    chosen = sorted(lines.items(), key=lambda item: -len(item[1]))[:MOST_LINES]
    positive = all(spot.x > 0 for _, spots in chosen for spot in spots)
    return Figure(
        *("", _title(members[0]), _axis(varied), _unit(varied), "ns"),
        [Line(name, sorted(spots, key=lambda spot: spot.x)) for name, spots in chosen],
        [one.id for one in members],
        log_x=positive,
    )


_SIZES = ("region", "stride", "distance", "spacing", "window", "area", "block", "step")


def _unit(name: str) -> str:
    return "B" if name.removesuffix("_bytes") in _SIZES else ""


def _value(name: str, value: Any) -> str:
    if isinstance(value, (int, float)):
        return size(round(value)) if _unit(name) else number(value)
    return str(value)


def _axis(name: str) -> str:
    return name.removesuffix("_bytes").replace("_", " ")


def _title(one: Observation) -> str:
    pages = one.pattern.get("pages")
    where = f" on pages of {pages}" if pages else ""
    return f"{about(one).capitalize()}{where}"


def about(one: Observation) -> str:
    order = one.pattern.get("order")
    kind = order.get("kind") if isinstance(order, Mapping) else one.pattern.get("kind")
    return f"{one.prober}: {_ABOUT.get(str(kind), str(kind))}"


_ABOUT = {"mix": "random lines of random entries"}


def distribution(members: Sequence[Observation], title: str, marks: Marks) -> Figure:
    """How much took no longer than that."""
    lines = []
    unit = str(members[0].pattern.get("unit", "ns"))
    for one in members:
        counts = one.histogram or [(value, 1) for value in sorted(one.samples or ())]
        total = sum(count for _, count in counts)
        seen, spots = 0.0, []
        for value, count in counts:
            seen += count
            rows = (("no longer", f"{100 * seen / total:.1f} %"), ("observation", one.id))
            spots.append(Spot(value, 100 * seen / total, f"{number(value)} {unit}", rows))
        lines.append(Line(one.id, thin(spots)))
    return Figure(
        *("", title, unit, "", "% no longer", lines, [one.id for one in members]),
        log_y=False,
        columns=marks.of(".latency") if unit == "ns" else (),
    )
