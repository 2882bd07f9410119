"""Findings about the queues, from store curves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nearfar.inference.curves.entry import Size, power_of_two, write_unit
from nearfar.inference.curves.group import STORES, Curve
from nearfar.inference.curves.writes import combining_window, hinge
from nearfar.results.findings import Finding, identified, not_identifiable

LINE = 64
_SATURATED = 1 << 20  # regions from here on are beyond every queue
_COST_ERROR = 0.005  # of a saturated cost, at least
_COMBINED = (512, 2048)  # regions whose lines wait together, and that are no longer all fence
_RATIO_ERROR = 0.1  # of the ratio of two costs that different things may limit
_LEAST_UNIT = 1.5 * LINE


def store_curves(found: Sequence[Curve]) -> list[Curve]:
    """Non-temporal stores over fresh regions, of the fewest modules, small blocks first."""
    stores = [c for c in found if c.op in STORES and c.fresh and not c.held]
    fewest = min((c.modules or 1 for c in stores), default=1)
    chosen = [c for c in stores if (c.modules or 1) == fewest]
    first = min((STORES.index(c.op) for c in chosen), default=0)
    return sorted((c for c in chosen if c.op == STORES[first]), key=lambda c: c.block)


def unit_of_writes(found: Sequence[Curve]) -> Size | None:
    """Bytes that the device writes at a time: saturated costs of several block sizes."""
    costs = []
    for curve in store_curves(found):
        values = curve.values[curve.region >= _SATURATED]
        if len(values):
            cost = float(np.median(values))
            costs.append((curve.block, cost, cost * max(curve.noise, _COST_ERROR)))
    several, one = write_unit(costs), _unit_of_one(store_curves(found))
    if several is None or one is None or several.high < 2 * several.low:
        return several or one
    # Blocks that are all smaller than the unit leave it open upwards: lines alone do not.
    low, high = max(several.low, one.low), min(several.high, one.high)
    return Size(one.value, low, high) if low <= high else None


def _unit_of_one(stores: Sequence[Curve]) -> Size | None:
    """From lines alone: stored to a region that the queue holds they are combined, far beyond
    it none is, so that the costs differ by the lines of a unit."""
    for curve in stores:
        combined = curve.values[(curve.region >= _COMBINED[0]) & (curve.region <= _COMBINED[1])]
        single = curve.values[curve.region >= _SATURATED]
        if curve.block == LINE and len(combined) >= 3 and len(single):
            unit = LINE * float(np.median(single)) / float(np.median(combined))
            if unit > _LEAST_UNIT:
                off = _RATIO_ERROR
                return Size(unit, unit * (1 - off), unit * (1 + off))
    return None


def queue_findings(found: Sequence[Curve]) -> list[Finding]:
    """The write pending queue and the load-store queue; none without a store curve."""
    stores = store_curves(found)
    if not stores:
        return []
    curve = stores[0]
    if (curve.modules or 1) > 1:
        reason = "neighbouring regions lie on different modules: their queues overlap in the curve"
        return [not_identifiable(name, reason, ()) for name in ("wpq.lines", "lsq.lines")]
    return [_pending(curve), _combining(curve, unit_of_writes(found))]


def _pending(curve: Curve) -> Finding:
    name = "wpq.lines"
    bend = hinge(curve.region, curve.values) if curve.block == LINE else None
    if bend is None:
        reason = "the time of small regions has no hinge, or too few are given (64 B to 2 KiB)"
        return not_identifiable(name, reason, ())
    low, high = (float(int(at + 0.1)) for at in (bend.low, bend.high))
    reason = (
        f"up to {bend.value:.1f} lines a region costs its fence alone, from there on each line "
        f"adds its own time; the hinge fits to {100 * bend.error:.1f} %"
    )
    lines = int(bend.value + 0.1)
    return identified(name, lines, reason, curve.evidence(LINE, 2 * LINE * lines), (low, high))


def _combining(curve: Curve, unit: Size | None) -> Finding:
    name = "lsq.lines"
    whole = power_of_two(unit.low, unit.high) if unit else None
    if whole is None or curve.block >= whole:
        reason = "needs stores of several block sizes, from 64 B to beyond the device's unit"
        return not_identifiable(name, reason, ())
    window = combining_window(curve.region, curve.values, whole)
    if window is None:
        reason = f"no window in which lines of one {whole} B unit meet explains the store curve"
        return not_identifiable(name, reason, curve.evidence(0, 1 << 20))
    # The queue also holds what is on its way to the media and meets nothing any more: it is
    # larger than the window, and a power of two.
    lines = 1 << int(np.ceil(np.log2(window.high - 1e-9)))
    reason = (
        f"stores combine as in a window of {window.value:g} lines (interval {window.low:g} to "
        f"{window.high:g}, fits to {100 * window.error:.1f} %); the queue holds as many and those "
        "being written: the next power of two"
    )
    evidence = curve.evidence(16 * LINE, 1 << 20)
    return identified(name, lines, reason, evidence, (window.low, float(lines)))
