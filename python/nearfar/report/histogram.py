"""How long loads took: a histogram with both axes logarithmic, so that its tail shows."""

from __future__ import annotations

import math

from nearfar.report import svg
from nearfar.report.chart import BOTTOM, LEFT, RIGHT, TOP, WIDTH
from nearfar.report.picture import Picture, frame
from nearfar.report.scale import LogScale, decimal_ticks
from nearfar.results.machine import LoadLatency
from nearfar.results.wording import number

_HEIGHT = 350
_STEP = 2 ** (1 / 8)  # from a range's highest value to the next one's


def latency_histogram(
    latency: LoadLatency, title: str = "Loads that L1 did not have", what: str = "loads"
) -> Picture | None:
    """Of accesses called `what`; None when there were none."""
    if not latency.buckets or latency.mean_ns is None:
        return None
    # Ranges of several values end where the next begins; the last ends at the longest.
    ranges = [
        ((highest + 1) / _STEP / 1000, (highest + 1) / 1000, n) for highest, n in latency.buckets
    ]
    x = LogScale(
        ranges[0][0] / 1.1, max(latency.max_ns or 0.0, ranges[-1][1]) * 1.1, LEFT, WIDTH - RIGHT
    )
    y = LogScale(0.6, max(n for *_, n in ranges) * 2, BOTTOM, TOP)
    bars, targets = [], []
    seen = 0
    for low, high, n in ranges:
        seen += n
        left, right = x(low), x(high)
        bars.append(
            svg.element(
                "rect",
                x=left,
                y=y(n),
                width=max(right - left - 0.6, 0.8),
                height=BOTTOM - y(n),
                class_="fill s0",
            )
        )
        shown = ((what, f"{n:,}"), ("not longer", f"{100 * seen / latency.count:.3f} %"))
        label = f"{number(low)} to {number(high)} ns"
        middle, top = round((left + right) / 2, 1), round(y(n), 1)
        targets.append((middle, top, top, 0, label, shown))
    content = "".join((_axes(x, y, what), *bars, _marks(latency, x)))
    quantiles = ", ".join(f"{name} {number(ns)} ns" for name, ns in _quantiles(latency))
    return Picture(
        title=title,
        svg=frame(content, WIDTH, _HEIGHT, f"{title}. {quantiles}"),
        targets=targets,
        note=f"{quantiles}; mean {number(latency.mean_ns)} ns",
        head=("from ns", "to ns", what, "not longer"),
        rows=[
            (number(low), number(high), f"{n:,}", f"{100 * part:.3f} %")
            for (low, high, n), part in zip(ranges, _shares(latency), strict=True)
        ],
    )


def _shares(latency: LoadLatency) -> list[float]:
    seen, found = 0, []
    for _, n in latency.buckets:
        seen += n
        found.append(seen / latency.count)
    return found


def _quantiles(latency: LoadLatency) -> list[tuple[str, float]]:
    found = (
        ("p50", latency.p50_ns),
        ("p90", latency.p90_ns),
        ("p99", latency.p99_ns),
        ("p99.9", latency.p999_ns),
        ("max", latency.max_ns),
    )
    return [(name, ns) for name, ns in found if ns is not None]


def _marks(latency: LoadLatency, x: LogScale) -> str:
    """Quantiles as dashed lines; a name that would touch the one before goes below it."""
    drawn, last, row = [], -1e9, 0
    for name, ns in _quantiles(latency):
        at = x(ns)
        row = row + 1 if at - last < 40 else 0
        last = at
        drawn.append(svg.line(at, TOP, at, BOTTOM, "mark"))
        flip = at > WIDTH - RIGHT - 40
        drawn.append(
            svg.text(
                name,
                at - 4 if flip else at + 4,
                TOP + 11 + 14 * row,
                class_="mark-name flip" if flip else "mark-name",
            )
        )
    return "".join(drawn)


def _axes(x: LogScale, y: LogScale, what: str) -> str:
    columns = "".join(
        svg.line(x(tick.at), TOP, x(tick.at), BOTTOM, "grid")
        + svg.text(tick.label, x(tick.at), BOTTOM + 18, class_="tick x")
        for tick in decimal_ticks(x.low, x.high)
    )
    powers = range(0, math.floor(math.log10(y.high)) + 1)
    step = 1 if len(powers) < 6 else 2
    levels = "".join(
        svg.line(LEFT, y(10.0**p), WIDTH - RIGHT, y(10.0**p), "grid")
        + svg.text(_power(p), LEFT - 8, y(10.0**p) + 4, class_="tick y")
        for p in powers
        if p % step == 0
    )
    edge = svg.line(LEFT, BOTTOM, WIDTH - RIGHT, BOTTOM, "edge")
    middle = (LEFT + WIDTH - RIGHT) / 2
    return (
        columns
        + levels
        + edge
        + svg.text(what, LEFT, TOP - 8, class_="unit")
        + svg.text("latency, ns", middle, BOTTOM + 42, class_="axis-name")
    )


def _power(power: int) -> str:
    """1, 10, ... as they are read: 1M for a million."""
    unit = ("", "k", "M", "G", "T")[power // 3]
    return f"{10 ** (power % 3)}{unit}"
