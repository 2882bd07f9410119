"""A measurement as part of a page: its points as curves, and its environment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

from nearfar.report.figures.families import families
from nearfar.report.figures.figure import Figure, Line, Spot, draw
from nearfar.report.frame import Target, notes, tiles
from nearfar.report.pages.probe import cards, environment_section
from nearfar.results import MeasureResult, Point
from nearfar.results.wording import energy_shares, number, size

_SLOW = 20.0  # times the median: a sample worth a dot
_MOST_LINES = 6


def measurement_title(result: MeasureResult) -> str:
    """What stands above it."""
    return f"{str(result.pattern.get('kind', 'measurement')).capitalize()} on {result.target.name}"


def measurement_body(
    result: MeasureResult, prefix: str = "", first_chart: int = 0
) -> tuple[str, list[list[Target]]]:
    """Everything below the title, and what the pointer finds on its figures."""
    drawn = [figure for figure in _figures(result) if figure.points]
    for at, figure in enumerate(drawn):
        figure.name = f"{prefix}figure-{at}"
    pictures = [draw(figure) for figure in drawn]
    lines = sum(point.lines for point in result.points)
    shown = tiles(
        (
            (f"{len(result.points)}", "points"),
            (number(lines), "lines of 64 B"),
            (result.target.mode, result.target.spec),
            *_energy_tiles(result.points),
        )
    )
    remark = "Interrupted: only the points that were finished."
    body = (
        f'<p class="lead">{escape(_about(result))}</p>'
        f"{notes([(result.interrupted, remark)])}{shown}\n"
        + cards(drawn, pictures, first_chart, "Measured", f"{prefix}evidence")
        + environment_section(result, prefix)
    )
    return body, [figure.targets for figure in drawn]


def _energy_tiles(points: Sequence[Point]) -> list[tuple[str, str]]:
    """The range over the points, and what the most went into; nothing without energy."""
    found = sorted(one.energy_pj_per_bit for one in points if one.energy_pj_per_bit is not None)
    if not found:
        return []
    parts: dict[str, int] = {}
    for point in points:
        for name, picojoules in point.energy.items():
            parts[name] = parts.get(name, 0) + picojoules
    bounds = [number(found[0]), number(found[-1])]
    text = bounds[0] if bounds[0] == bounds[1] else " to ".join(bounds)
    return [(f"{text} pJ", f"a bit: {energy_shares(parts)}")]


def _energy_rows(point: Point) -> list[tuple[str, str]]:
    if point.energy_pj_per_bit is None or point.average_power_w is None:
        return []
    text = f"{number(point.energy_pj_per_bit)} pJ/bit, {number(point.average_power_w)} W"
    return [("energy", text)]


def _about(result: MeasureResult) -> str:
    skipped = ("kind", "lines", "seed", "whole")
    facts = [
        f"{name.removesuffix('_bytes').replace('_', ' ')} {_listed(found)}"
        for name, found in result.pattern.items()
        if name not in skipped and not (isinstance(found, (list, tuple)) and len(found) > 4)
    ]
    return ", ".join(facts)


def _listed(found: object) -> str:
    return " ".join(map(str, found)) if isinstance(found, (list, tuple)) else str(found)


def _figures(result: MeasureResult) -> list[Figure]:
    kind = result.pattern.get("kind")
    if kind == "loaded":
        return families(result.points)
    if kind == "chase":
        return [_curves(result.points, "Latency", "region", lambda p: p.region_bytes)]
    if kind == "overwrite" and result.samples:
        return [_samples(result.samples)]
    if len({point.threads for point in result.points}) > 1:
        return [_bandwidth(result.points, "threads", lambda p: p.threads)]
    return [_bandwidth(result.points, "access", lambda p: p.access_bytes)]


def _curves(
    points: Sequence[Point], title: str, axis: str, place: Callable[[Point], int | None]
) -> Figure:
    lines: dict[str, list[Spot]] = {}
    for point in points:
        x = place(point)
        if x is None or point.ns_per_line <= 0:
            continue
        name = point.op if point.threads == 1 else f"{point.op}, {point.threads} threads"
        rows = [("time", f"{number(point.ns_per_line)} ns")]
        if point.p99_ns is not None:
            rows.append(("p99", f"{number(point.p99_ns)} ns"))
        rows += _energy_rows(point)
        low, high = point.interval_ns_per_line or (None, None)
        spot = Spot(x, point.ns_per_line, f"{axis} {size(x)}", rows, low, high)
        lines.setdefault(name, []).append(spot)
    return Figure("", title, axis, "B", "ns a line", _sorted(lines), ())


def _bandwidth(points: Sequence[Point], axis: str, place: Callable[[Point], int | None]) -> Figure:
    lines: dict[str, list[Spot]] = {}
    unit = "" if axis == "threads" else "B"
    for point in points:
        x = place(point)
        if x is None or point.gb_per_s <= 0:
            continue
        name = point.op
        if axis == "threads" and point.access_bytes:
            name += f", {size(point.access_bytes)}"
        label = f"{x} threads" if axis == "threads" else f"{axis} {size(x)}"
        rows = [("bandwidth", f"{point.gb_per_s:.3f} GB/s"), *_energy_rows(point)]
        lines.setdefault(name, []).append(Spot(x, point.gb_per_s, label, rows))
    return Figure("", "Bandwidth", axis, unit, "GB/s", _sorted(lines), ())


def _sorted(lines: dict[str, list[Spot]]) -> list[Line]:
    chosen = list(lines.items())[:_MOST_LINES]
    return [Line(name, sorted(spots, key=lambda spot: spot.x)) for name, spots in chosen]


def _samples(samples: Sequence[float]) -> Figure:
    """The slow ones; all others lie on the median."""
    middle = sorted(samples)[len(samples) // 2]
    spots = [
        Spot(at, ns, f"write {number(at)}", (("took", f"{number(ns)} ns"),))
        for at, ns in enumerate(samples)
        if ns > _SLOW * middle
    ]
    note = f"Writes that took more than 20 times the median, {number(middle)} ns."
    line = Line("slow writes", spots, joined=False)
    return Figure("", "Slow writes", "write", "", "ns", [line], (), note, log_x=False)
