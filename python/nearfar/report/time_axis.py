"""An axis of simulated time, in the unit that suits its length."""

from __future__ import annotations

from nearfar.report import svg
from nearfar.report.scale import LinearScale, linear_ticks


def unit_of(ns: float) -> tuple[str, float]:
    """The unit of an axis of that length, and the unit in ns."""
    for unit, length in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= length:
            return unit, length
    return "ns", 1.0


def time_axis(x: LinearScale, top: float, bottom: float) -> str:
    """Grid, labels and name; `x` is in ns."""
    unit, length = unit_of(x.high)
    grid = "".join(
        svg.line(x(tick.at * length), top, x(tick.at * length), bottom, "grid")
        + svg.text(tick.label, x(tick.at * length), bottom + 18, class_="tick x")
        for tick in linear_ticks(x.low / length, x.high / length, 8)
    )
    name = svg.text(
        f"simulated time, {unit}", (x.start + x.end) / 2, bottom + 42, class_="axis-name"
    )
    return grid + svg.line(x.start, bottom, x.end, bottom, "edge") + name
