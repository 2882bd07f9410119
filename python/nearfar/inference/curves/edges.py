"""Where a latency curve leaves a plateau: first rise above the measured noise.

A capacity shows as the *last* region that still costs what smaller ones do. Methods that
look for the steepest place land in the middle of the ramp, at twice the capacity; so the
rise is dated by the first point that noise does not explain, and every further rise of the
same ramp belongs to it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nearfar.inference.noise import Floats, by_chance

_SIGMAS = 5.0  # a point so far above its plateau is no noise
_LEAST = 0.015  # nor is anything below this share of the level a buffer's edge
_LEVEL_SPAN = 1.9  # a plateau spans at least so much, largest over smallest region
_LEVEL_POINTS = 3
_HEIGHT = 3.0  # times the threshold: so much the next plateau lies higher, or it is a slope
_CHANCE = 0.005  # with more shuffles than this as good, there is nothing to explain
_SETTLING = 1.05  # the first points pay for their region's fence; so much is no more than that


@dataclass(frozen=True)
class Rise:
    """One ramp: the last region on the plateau, the first above it, and the plateaus' points."""

    last: float
    first: float
    start: int  # index of the first point of the plateau before
    edge: int  # index of the first point above it
    end: int  # index of the first point of the plateau after
    stop: int  # index after the last point of that plateau


def noise(region: Floats, values: Floats) -> float:
    """The relative standard deviation of one point, from how neighbours disagree.

    Each point is compared with the line through its two neighbours; the median of the
    disagreements is not moved by the few points where the curve itself bends.
    """
    if len(values) < 5:
        return 0.0
    x = np.log(region)
    share = (x[1:-1] - x[:-2]) / (x[2:] - x[:-2])
    expected = values[:-2] * (1 - share) + values[2:] * share
    spread = np.sqrt(1 + share**2 + (1 - share) ** 2)
    off = np.abs(values[1:-1] - expected) / (spread * values[1:-1])
    return float(1.4826 * np.median(off))


def rises(region: Floats, values: Floats) -> list[Rise]:
    """Every ramp between two plateaus, from the smallest region up.

    Regions ascend and are distinct. Empty where the curve stays level, and where what looks
    like ramps would look the same with its points shuffled.
    """
    threshold = max(_SIGMAS * noise(region, values), _LEAST)
    found = []
    start = _settled(values)
    while (edge := _leaves(values, start, threshold)) is not None:
        end = _levels(region, values, edge, threshold)
        stop = _leaves(values, end, threshold) or len(values)
        below, above = np.median(values[start:edge]), np.median(values[end:stop])
        slope = region[edge - 1] < _LEVEL_SPAN * region[start]
        slope |= bool(above < below * (1 + _HEIGHT * threshold))
        if slope or by_chance(values[start:stop]) > _CHANCE:
            start = edge
            continue
        found.append(Rise(float(region[edge - 1]), float(region[edge]), start, edge, end, stop))
        start = end
    return found


def _settled(values: Floats) -> int:
    """The first point that no longer pays visibly for the start of its region."""
    lowest = np.minimum.accumulate(values[::-1])[::-1]
    return int(np.argmax(values <= lowest * _SETTLING))


def _leaves(values: Floats, start: int, threshold: float) -> int | None:
    """The first point of `start`'s plateau's end: it and all that follow lie above."""
    for at in range(start + _LEVEL_POINTS, len(values) - 1):
        level = float(np.median(values[start:at]))
        if np.min(values[at : at + _LEVEL_POINTS]) > level * (1 + threshold):
            return at
    return None


def _levels(region: Floats, values: Floats, edge: int, threshold: float) -> int:
    """The first point after `edge` from which the curve is level again."""
    for at in range(edge, len(values) - _LEVEL_POINTS + 1):
        reach = int(np.searchsorted(region, region[at] * _LEVEL_SPAN))
        if reach == len(region):
            break
        window = values[at : max(reach + 1, at + _LEVEL_POINTS)]
        if np.max(window) <= np.min(window) * (1 + threshold):
            return at
    return len(values) - 1
