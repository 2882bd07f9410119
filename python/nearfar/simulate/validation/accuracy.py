"""How far a model is from the hardware: pure functions over (real, simulated) pairs.

Accuracy of a point is 1 - |sim - real| / real, clipped at 0. A mean hides a model that is
exact at half of the points and absurd at the others, so the worst point is always shown
with it, and so is the mean of |ln(sim / real)|, which treats a factor of two too much and
too little alike. No constant is added and no point is left out.

A share (of reads that miss, say) may be zero, and a hundredth more is as far off at a
hundredth as at a half: for shares the difference itself stands in place of the relative one.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Score:
    """How a series fares: `worst` is the index of its worst point, `n` counts the points."""

    n: int
    mean: float
    worst: float
    worst_index: int
    mean_abs_log: float


SHARE = "share"  # the unit of points that are shares


def accuracy(real: float, simulated: float, unit: str = "") -> float:
    """1 - |simulated - real| / real, clipped at 0. `real` is above zero, if not a share."""
    off = abs(simulated - real)
    return max(0.0, 1.0 - (off if unit == SHARE else off / real))


def score(pairs: Sequence[tuple[float, float]], unit: str = "") -> Score:
    """Score (real, simulated) pairs; there is at least one."""
    each = [accuracy(real, simulated, unit) for real, simulated in pairs]
    worst_index = min(range(len(each)), key=each.__getitem__)
    return Score(
        n=len(each),
        mean=statistics.fmean(each),
        worst=each[worst_index],
        worst_index=worst_index,
        mean_abs_log=statistics.fmean(abs_log(real, simulated, unit) for real, simulated in pairs),
    )


def abs_log(real: float, simulated: float, unit: str = "") -> float:
    """|ln(simulated / real)|; a simulated zero counts as a factor of a thousand."""
    if unit == SHARE:
        return abs(simulated - real)
    return abs(math.log(max(simulated, real / 1000) / real))


def ceiling(keys: Sequence[Hashable], reals: Sequence[float], unit: str = "") -> float:
    """The mean accuracy that predicting each key's own median measurement would reach.

    Hardware does not repeat itself exactly: no model, however good, can be expected to
    score above this. It is 1.0 where no key was measured twice.
    """
    by_key: dict[Hashable, list[float]] = defaultdict(list)
    for key, real in zip(keys, reals, strict=True):
        by_key[key].append(real)
    medians = {key: statistics.median(values) for key, values in by_key.items()}
    return statistics.fmean(
        accuracy(real, medians[key], unit) for key, real in zip(keys, reals, strict=True)
    )
