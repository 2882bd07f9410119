"""The sizes of the caches behind the first, from the whole curve over regions at once.

Pages of 4 KiB fill the sets at random. Of a cache with few ways some sets overflow when a third of
it is full, and some hold their lines when it has been exceeded twice; of two caches one behind the
other the ramps may meet. So neither where a rise begins nor where it ends is a size. The curve is

    t(R) = hit + extra2 * miss2(R) + extra3 * miss3(R)

with each cache's share of misses from the occupancy of its sets, for every size, number of ways,
replacement and placement; the latencies are linear, and follow. A size is possible if some
organisation of it, with any organisation of the other cache, explains the points about as well as
the best pair does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nearfar.inference.caches.model import CONTIGUOUS, RANDOM, Organisation, miss_shares
from nearfar.inference.noise import Floats

POLICIES = ("lru", "qlru", "random")  # a tree of pointers is between the first two
WAYS = (4, 8, 12, 16, 24)
_STEPS = 12  # sizes an octave
_BELOW, _ABOVE = 0.8, 8.0  # times the last region on the plateau: the sizes that are tried
_LEAST_ERROR = 0.01  # relative, of a point: a walk is timed in parts, which are not all alike
# Chi-squared above the best pair's that is as good: five standard deviations, for what is walked in
# few placements scatters more than its repetitions show.
_WORSE = 25.0
_ROBUST = 3.0  # times the best fit's residual: points beyond count as if they were there
_ROUNDS = 2
_ROWS = 128


@dataclass(frozen=True)
class Span:
    """Lines, least and greatest, of the sizes that explain the curve; and the best fit's error."""

    low: float
    high: float
    best: float
    error: float
    bounded: bool  # whether no larger size was tried and found as good


@dataclass(frozen=True)
class Reading:
    """What walks took, ns, one way or another read from their repetitions; the relative error."""

    values: Floats
    error: Floats


def fit(walked: Floats, readings: Sequence[Reading], plateaus: Sequence[float]) -> list[Span]:
    """The span of each cache, one or two, that ends behind a plateau.

    The readings are of the same walks, of `walked` lines each.
    """
    candidates = [_candidates(last, float(walked[-1])) for last in plateaus]
    sizes = [np.array([one.lines for one in some], dtype=np.float64) for some in candidates]
    shares = [miss_shares(walked, some) for some in candidates]
    found: list[list[Span]] = [[] for _ in plateaus]
    for reading in readings:
        squares, off = _squares(shares, reading)
        best = float(squares.min())
        allowed = best + _WORSE * max(1.0, best / len(walked))
        at = np.unravel_index(int(np.argmin(squares)), squares.shape)
        for level, own in enumerate(sizes):
            profile = squares.min(axis=1 - level) if squares.ndim == 2 else squares
            good = own[profile <= allowed]
            step = 2 ** (1 / _STEPS)
            low, high = float(good.min()) / step, float(good.max()) * step
            found[level].append(Span(low, high, float(own[at[level]]), off, high < own.max()))
    return [_together(some) for some in found]


def _together(spans: Sequence[Span]) -> Span:
    return Span(
        min(one.low for one in spans),
        max(one.high for one in spans),
        spans[0].best,
        min(one.error for one in spans),
        all(one.bounded for one in spans),
    )


def _candidates(last: float, largest: float) -> list[Organisation]:
    low, high = _BELOW * last, min(_ABOVE * last, 2 * largest)
    count = max(2, int(np.log2(high / low) * _STEPS) + 1)
    lines = {round(float(one)) for one in np.geomspace(low, high, count)}
    lines |= {odd << k for odd in (1, 3, 5) for k in range(32) if low <= odd << k <= high}
    made = []
    for size in sorted(lines):
        for ways in WAYS:
            for policy in POLICIES:
                for placement in (CONTIGUOUS, RANDOM):
                    made.append(Organisation(size // ways * ways, ways, policy, placement))
    return made


def _squares(shares: Sequence[Floats], reading: Reading) -> tuple[Floats, float]:
    """Chi-squared of every candidate, or every pair, and the best one's relative error; twice, the
    second time with points far off the best fit (a neighbour was busy) counted less."""
    # Where no set overflowed in any repetition, its neighbour tells what might have happened.
    near = np.maximum(reading.error, np.maximum(
        np.append(reading.error[1:], 0.0), np.insert(reading.error[:-1], 0, 0.0)
    ))  # fmt: skip
    values, error = reading.values, np.hypot(near, _LEAST_ERROR)
    kept = np.ones(len(values))
    for _ in range(_ROUNDS):
        squares, best = _solved(shares, values, kept / (values * error) ** 2)
        off = np.abs(values - best) / values
        limit = _ROBUST * max(float(np.median(off / error)), 1 / 3)
        kept = np.minimum(1.0, limit * error / np.maximum(off, 1e-12)) ** 2
    return squares, float(np.sqrt(np.mean(np.minimum(off, limit * error) ** 2)))


def _solved(shares: Sequence[Floats], values: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Squares of all, and the best one's curve."""
    total = weight.sum()
    value = values - values @ weight / total
    own = [one - (one @ weight / total)[:, None] for one in shares]
    norm = float(value**2 @ weight)
    spread = [np.maximum(one**2 @ weight, 1e-12) for one in own]
    along = [one @ (weight * value) for one in own]
    if len(own) == 1:
        steps = np.maximum(along[0] / spread[0], 0.0)
        squares = norm - 2 * steps * along[0] + steps**2 * spread[0]
        at = int(np.argmin(squares))
        fitted = steps[at] * own[0][at]
    else:
        squares = np.empty((len(own[0]), len(own[1])))
        for row in range(0, len(own[0]), _ROWS):  # so many stay in a processor's cache
            rows = slice(row, row + _ROWS)
            cross = (own[0][rows] * weight) @ own[1].T
            first, second = _steps(
                (spread[0][rows, None], spread[1][None, :], cross),
                (along[0][rows, None], along[1][None, :]),
            )
            explained = first * along[0][rows, None] + second * along[1][None, :]
            # A miss cannot be faster than a hit.
            possible = (first > 0) & (second > 0)
            squares[rows] = np.where(possible, norm - explained, np.inf)
        x, y = np.unravel_index(int(np.argmin(squares)), squares.shape)
        cross = np.array((own[0][x] * weight) @ own[1][y])
        one, other = _steps((spread[0][x], spread[1][y], cross), (along[0][x], along[1][y]))
        fitted = one * own[0][x] + other * own[1][y]
    return np.maximum(squares, 0), fitted + values @ weight / total


def _steps(matrix: tuple[Floats, Floats, Floats], right: tuple[Floats, Floats]) -> tuple[Any, Any]:
    """What a miss of either cache costs: two linear equations, for many pairs at once."""
    a, b, cross = matrix
    determinant = np.maximum(a * b - cross**2, 1e-12 * a * b)
    p, q = right
    return (p * b - q * cross) / determinant, (q * a - p * cross) / determinant
