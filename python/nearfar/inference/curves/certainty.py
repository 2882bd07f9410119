"""What a curve over fresh regions leaves open: whether its rises are a buffer's, and all there are.

A rise may be a TLB's, where pages are translated; a curve that grows as steadily as rows, banks
and tables of pages make it fits a buffer that replaces at random; and a level may lie below the
smallest region, beyond the largest, or between two that are far apart.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nearfar.inference.curves.ascents import SIXTEEN_PAGES, TABLE_WALK_NS, Ascent, Ascents
from nearfar.inference.curves.edges import Rise
from nearfar.inference.curves.group import LOADS, Curve
from nearfar.inference.curves.levels import Fit
from nearfar.inference.curves.repeated import MOST_LEVELS, SMALLEST, not_counted
from nearfar.results.findings import Finding, identified, not_identifiable
from nearfar.results.wording import number, size

_SCATTERED = 0.05  # the relative noise of a point above which a level curve proves nothing
_BEYOND = 4.0  # times the last edge: a level that begins later is not looked for
_NOISES, _LEAST_ERROR = 3.0, 0.015  # of a fit
_CLOSE = 1.5  # times apart are regions where a curve rises, at most
_POINTS, _FAR = 24, 64 << 20  # of a level curve that shows that there is no level


def count(curve: Curve, edges: Sequence[Rise], whole: Fit) -> Finding:
    """`levels`: those edges that are a buffer's if any is, and exactly so where none is unseen."""
    about = "rises above the noise, each absent from the same points shuffled"
    evidence = tuple(one for rise in edges for one in curve.evidence(rise.last, rise.first))
    why = _doubts(curve, edges, whole)
    if not why:
        return identified("levels", len(edges), about, evidence)
    sure = [one for one in edges if translated(curve, one) is None]
    least = len(sure) if whole.error <= allowed(curve) and not slopes(curve) else 0
    reason = f"at least {least}: {len(edges)} {about}; not certain: {', '.join(why)}"
    return not_identifiable("levels", reason, evidence, (least, MOST_LEVELS))


def too_short(found: Sequence[Curve]) -> list[Finding]:
    """What curves of loads say that have too few points for a plateau and a rise."""
    short = [one for one in found if one.op in LOADS and not one.held]
    if not short:
        return []
    most = max(short, key=lambda one: len(one.region))
    reason = f"at least 0: {len(most.region)} regions are too few to see a rise"
    return [not_identifiable("levels", reason, most.evidence(0, np.inf), (0, MOST_LEVELS))]


def among(step: Ascent, edges: Sequence[Rise]) -> bool:
    """Whether one of the edges is this rise."""
    return any(step.last / 2 <= edge.first and edge.last <= 2 * step.end for edge in edges)


def _doubts(curve: Curve, edges: Sequence[Rise], whole: Fit) -> list[str]:
    """Why there may be another level, or one of these be none; empty if not."""
    region, why = curve.region, []
    if region[0] > SMALLEST:
        why.append(f"no region below {size(int(region[0]))} was walked")
    if region[-1] < _BEYOND * edges[-1].first:
        why.append(f"no region beyond {size(int(region[-1]))} was walked")
    if slopes(curve):
        why.append("one straight line over the logarithm of the region explains it as well")
    if whole.error > allowed(curve):
        why.append(f"{len(edges)} levels miss the curve by {100 * whole.error:.1f} %")
    apart = max(edge.first / edge.last for edge in edges)
    if apart > _CLOSE or len(region) < _POINTS:
        why.append(f"{len(region)} regions, up to {apart:.2g} times apart at the edges")
    return why + [told for edge in edges if (told := translated(curve, edge)) is not None]


def slopes(curve: Curve) -> bool:
    """Whether the curve grows as steadily as rows, banks and tables of pages make it."""
    x = np.log2(curve.region)
    slope, at = np.polyfit(x, curve.values, 1, w=1 / curve.values)
    off = (slope * x + at) / curve.values - 1
    return float(np.sqrt(np.mean(off**2))) <= allowed(curve)


def translated(curve: Curve, edge: Rise) -> str | None:
    """Why a rise may be a TLB's: it begins behind sixteen pages and costs no more than a walk."""
    more = height(curve, edge) * float(np.median(curve.values[edge.start : edge.edge]))
    if edge.first <= SIXTEEN_PAGES or not curve.timed or more > TABLE_WALK_NS:
        return None
    return f"translation may cost the {number(more)} ns from {size(int(edge.last))} on"


def allowed(curve: Curve) -> float:
    """The relative error of a fit that noise, or a walk that is timed in parts, explains."""
    return max(_NOISES * curve.noise, _LEAST_ERROR)


def nothing(curve: Curve, seen: Ascents) -> Finding:
    """A level curve has no buffer to show; one that scatters, or has few points, could hide any."""
    everything = curve.evidence(0, float("inf"))
    if curve.noise > _SCATTERED:
        reason = f"neighbouring points differ by {100 * curve.noise:.0f} %: no plateau to leave"
        return not_identifiable("levels", reason, everything, (0, MOST_LEVELS))
    reason = "no rise above the noise that shuffled points would not show as well"
    why = [one for one in _unseen(curve, seen) if one]
    if why:
        reason = f"at least 0: {reason}; others may be unseen: {', '.join(why)}"
        return not_identifiable("levels", reason, everything, (0, MOST_LEVELS))
    return identified("levels", 0, reason, everything)


def _unseen(curve: Curve, seen: Ascents) -> list[str]:
    """Why a level curve may hide a level."""
    region = curve.region
    few = len(region) < _POINTS
    return [
        f"only {len(region)} regions were walked" if few else "",
        f"no region below {size(int(region[0]))} was walked" if region[0] > SMALLEST else "",
        f"no region beyond {size(int(region[-1]))} was walked" if region[-1] < _FAR else "",
        not_counted(seen),
    ]


def height(curve: Curve, rise: Rise) -> float:
    below = float(np.median(curve.values[rise.start : rise.edge]))
    return (float(np.median(curve.values[rise.end : rise.stop])) - below) / below
