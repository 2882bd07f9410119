"""Wear levelling, from how long single overwrites of one place took.

A write that meets a migration takes hundreds of times longer than the others. Shorter slow
events have other causes and lengths of their own, so the slow ones are first split by length;
the class in which most time is lost is the migration. The wear counter's state at the start is
unknown: the time before the first migration says nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_SLOW = 20.0  # times the median of all writes
_CLASS_GAP = 1.3  # two lengths that differ by more belong to two kinds of event
_LEAST_EVENTS = 4
_RESAMPLES = 2000


@dataclass(frozen=True)
class Median:
    """A median, with the central 95 % of what resampled values give, and how many there are."""

    value: float
    low: float
    high: float
    count: int


@dataclass(frozen=True)
class Stalls:
    """Length of the stalls in ns, writes from one to the next, and the indices of the stalls."""

    length: Median
    period: Median
    at: tuple[int, ...]


def stalls(index: Sequence[float], ns: Sequence[float]) -> Stalls | None:
    """The migrations among writes number `index` that took `ns`; None if there are none."""
    number, time = np.array(index), np.array(ns)
    if len(time) < 2 * _LEAST_EVENTS:
        return None
    slow = np.flatnonzero(time > _SLOW * np.median(time))
    if len(slow) < _LEAST_EVENTS:
        return None
    main = slow[_main_class(time[slow])]
    if len(main) < _LEAST_EVENTS:
        return None
    gaps = np.diff(number[main])
    return Stalls(median(time[main]), median(gaps), tuple(int(at) for at in main))


def _main_class(lengths: Floats) -> NDArray[np.intp]:
    """Indices of the class of like lengths in which most time is lost."""
    order = np.argsort(lengths, kind="stable")
    ascending = lengths[order]
    breaks = np.flatnonzero(ascending[1:] > _CLASS_GAP * ascending[:-1]) + 1
    classes = np.split(order, breaks)
    return np.sort(max(classes, key=lambda members: float(lengths[members].sum())))


def median(values: Sequence[float] | Floats) -> Median:
    """The median of `values` and its interval."""
    found = np.sort(np.array(values, dtype=float))
    rng = np.random.default_rng(0)
    again = np.median(rng.choice(found, size=(_RESAMPLES, len(found))), axis=1)
    low, high = np.percentile(again, [2.5, 97.5])
    return Median(float(np.median(found)), float(low), float(high), len(found))
