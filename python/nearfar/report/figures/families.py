"""Families of bandwidth-latency curves: one colour a share of reads."""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.report.figures.figure import Figure, Line, Spot
from nearfar.results import Point
from nearfar.results.wording import number

_MOST_CURVES = 6  # as many colours as there are


def families(points: Sequence[Point]) -> list[Figure]:
    """Latency over all that moved. Points stay in the order of their rates: beyond saturation
    bandwidth falls again, so that a curve turns back."""
    curves: dict[int, list[Spot]] = {}
    for point in sorted(points, key=_from_idle):
        if point.reads_percent is not None and point.total_gb_per_s is not None:
            curves.setdefault(point.reads_percent, []).append(_spot(point))
    lines = [Line(f"{share} % reads", spots) for share, spots in sorted(curves.items())]
    note = "Total bandwidth: all that was read and written at the memory, by every thread."
    return [
        Figure(
            *("", "Latency under load", "total bandwidth, GB/s", "", "ns"),
            lines[start : start + _MOST_CURVES],
            (),
            note,
            log_x=False,
            log_y=False,
        )
        for start in range(0, len(lines), _MOST_CURVES)
    ]


def _from_idle(point: Point) -> float:
    return -point.delay_ns if point.delay_ns is not None else float("-inf")


def _spot(point: Point) -> Spot:
    total, delay = point.total_gb_per_s or 0.0, point.delay_ns
    pace = "idle" if delay is None else f"{number(delay)} ns" if delay else "none"
    rows = [
        ("latency", f"{number(point.ns_per_line)} ns"),
        ("read", f"{point.read_gb_per_s or 0.0:.2f} GB/s"),
        ("written", f"{point.write_gb_per_s or 0.0:.2f} GB/s"),
        ("pause of generators", pace),
    ]
    if point.p99_ns is not None:
        rows.insert(1, ("p99", f"{number(point.p99_ns)} ns"))
    low, high = point.interval_ns_per_line or (None, None)
    return Spot(total, point.ns_per_line, f"{total:.2f} GB/s", rows, low, high)
