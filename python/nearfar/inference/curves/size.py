"""A cache's size from the points around one rise: which caches, walked again and again, fit.

Every organisation that a walk tells apart is tried: few ways and many, pages one behind the other
and at random, LRU and random replacement. The interval holds the sizes of all that explain the
points as well as noise lets the best one do.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from nearfar.inference.caches.model import CONTIGUOUS, RANDOM, Fitter, Organisation
from nearfar.inference.caches.plan import geometric
from nearfar.inference.noise import Floats

LINE = 64
_STEPS = 32  # sizes an octave
_WAYS = (1, 2, 4, 8, 12, 16)
_PLATEAU, _RAMP = 2, 1  # points, at least
_WORSE = 9.0  # chi-squared above the best: three standard deviations
_LEAST_ERROR = 0.015  # relative: a worse fit is none, unless noise explains it
_NOISY = 2.0


@dataclass(frozen=True)
class Size:
    """Bytes: the best value, those that fit as well, and the relative error of the fit."""

    value: int
    low: float
    high: float
    error: float


def fitted_size(
    region: Floats, values: Floats, bounds: tuple[float, float], noise: float
) -> Size | None:
    """The size of a cache that ends within `bounds` (bytes); None where no cache fits.

    The points are those of one plateau, a ramp and the next plateau.
    """
    low, high = bounds
    before, behind = int(np.sum(region <= low)), int(np.sum(region >= high))
    if before < _PLATEAU or behind < _PLATEAU or len(region) < before + behind + _RAMP:
        return None
    candidates = list(_candidates(low, high))
    fitter = Fitter(region / LINE, candidates)
    squares = fitter.squares(values)
    best = float(np.min(squares))
    error = best**0.5
    if error > max(_NOISY * noise, _LEAST_ERROR):
        return None
    scale = max(best, noise**2)
    sizes = np.array([one.lines * LINE for one in candidates], dtype=np.float64)
    good = sizes[len(region) * (squares - best) <= _WORSE * scale]
    step = 2 ** (1 / _STEPS)
    least, most = float(good.min()) / step, float(good.max()) * step
    return Size(_round(least, most, float(sizes[np.argmin(squares)])), least, most, error)


def _candidates(low: float, high: float) -> Iterable[Organisation]:
    sizes = set(geometric(max(1, int(low / LINE)), int(high / LINE), _STEPS))
    sizes |= {odd << k for odd in (1, 3, 5) for k in range(32) if low <= odd * LINE << k <= high}
    for lines in sorted(sizes):
        yield Organisation(lines, lines, "lru")
        for ways in _WAYS:
            for policy in ("lru", "random"):
                yield Organisation(lines, ways, policy, CONTIGUOUS)
                yield Organisation(lines, ways, policy, RANDOM)


def _round(low: float, high: float, best: float) -> int:
    """The only power of two, or three times one, that fits; else the best fit."""
    round_ = [odd << k for odd in (1, 3) for k in range(48) if low <= odd << k <= high]
    return round_[0] if len(round_) == 1 else round(best / LINE) * LINE
