"""What repetitions on a busy machine say: curves, their noise, plateaus and intervals.

Every point of a curve is a handful of repetitions, each on memory of its own and each
already a low quantile of many short timings. What is left is not Gaussian: placement of pages
makes it bimodal, neighbours make single repetitions slow. So everything here rests on
medians, or on the least where a disturbance can only add time (what does not fit a small cache is
never fast), and what follows is repeated on resampled repetitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nearfar.results.findings import Observation

Floats = NDArray[np.float64]

SIGMAS = 5.0  # a point so far above its plateau is no noise
LEAST_RISE = 0.04  # nor is anything below this share of its level an edge
_LEVEL_POINTS = 3
_NORMAL = 1.4826  # a Gaussian's standard deviation over its median absolute deviation
_SHUFFLES = 499
CHANCE = 0.01  # with more shuffles than this as good there is nothing to explain
RESAMPLES = 100
COVERAGE = 0.95


@dataclass(frozen=True)
class Curve:
    """Repeated measurements over one ascending quantity."""

    x: Floats
    samples: tuple[Floats, ...]  # the repetitions at each x
    ids: tuple[str, ...]

    @cached_property
    def values(self) -> Floats:
        """The median of each point's repetitions."""
        return np.array([float(np.median(samples)) for samples in self.samples])

    @cached_property
    def least(self) -> Floats:
        """The fastest repetition of each point: what was possible, if only once."""
        return np.array([float(np.min(samples)) for samples in self.samples])

    def __len__(self) -> int:
        return len(self.x)

    def within(self, low: float, high: float) -> Curve:
        """The part with low <= x <= high."""
        chosen = np.flatnonzero((self.x >= low) & (self.x <= high))
        return Curve(
            self.x[chosen],
            tuple(self.samples[i] for i in chosen),
            tuple(self.ids[i] for i in chosen),
        )

    def undisturbed(self, most: float) -> Curve:
        """Without the repetitions that took more than `most` times the fastest of their point."""
        kept = tuple(one[one <= most * one.min()] for one in self.samples)
        return Curve(self.x, kept, self.ids)

    def resampled(self, rng: np.random.Generator, times: int, least: bool) -> Floats:
        """Medians, or the least, of repetitions drawn again with replacement: a row each time."""
        drawn = [one[rng.integers(0, len(one), (times, len(one)))] for one in self.samples]
        statistic = np.min if least else np.median
        return np.stack([statistic(rows, axis=1) for rows in drawn], axis=1)


def curve(observations: Sequence[Observation], x: Callable[[Observation], float]) -> Curve:
    """The curve of observations with samples, ascending; equal x are put together."""
    points: dict[float, tuple[list[float], str]] = {}
    for one in observations:
        samples, _ = points.setdefault(x(one), ([], one.id))
        samples.extend(one.samples or ())
    ordered = sorted(points)
    return Curve(
        np.array(ordered, dtype=np.float64),
        tuple(np.array(points[at][0]) for at in ordered),
        tuple(points[at][1] for at in ordered),
    )


def scatter(values: Floats) -> float:
    """The relative standard deviation of values that ought to be equal; of most, not of all."""
    middle = float(np.median(values))
    return _NORMAL * float(np.median(np.abs(values - middle))) / middle


@dataclass(frozen=True)
class Plateau:
    """Points at one level: indices first to last, and what a point above it exceeds."""

    first: int
    last: int
    level: float
    limit: float


def plateau(values: Floats, start: int = 0, least_rise: float = LEAST_RISE) -> Plateau | None:
    """The level that begins at `start`, up to its first rise: all later points are above.

    None when the level never ends. A later point that comes back to the level is a sign that
    the first was noise, so the rise counts only when nothing after it returns.
    """
    lowest_after = np.minimum.accumulate(values[::-1])[::-1]
    for at in range(start + _LEVEL_POINTS, len(values)):
        level = float(np.median(values[start:at]))
        rise = max(SIGMAS * scatter(values[start:at]), least_rise)
        if lowest_after[at] > level * (1 + rise):
            return Plateau(start, at - 1, level, level * (1 + rise))
    return None


def around(curve: Curve, edge: Plateau) -> Floats:
    """The curve's values on a plateau and as far behind it as one more level may reach."""
    return curve.within(float(curve.x[edge.first]), float(curve.x[edge.last + 1]) * 4).values


def level_again(x: Floats, values: Floats, start: int, span: float, rise: float) -> int | None:
    """The first point from `start` on that begins a level as wide as `span`, largest over
    smallest x; None when there is none."""
    for at in range(start, len(values)):
        end = int(np.searchsorted(x, x[at] * span))
        if end >= len(x):
            return None
        window = values[at : max(end + 1, at + _LEVEL_POINTS)]
        if np.max(window) <= np.min(window) * (1 + rise):
            return at
    return None


def by_chance(values: Floats) -> float:
    """How often shuffled points step up as clearly as these do: the null test."""
    rng = np.random.default_rng(0)
    logs = np.log(values)  # or the beginning of the next level outweighs this one's edge
    real = _contrast(logs[None, :])[0]
    shuffled = rng.permuted(np.tile(logs, (_SHUFFLES, 1)), axis=1)
    return float((1 + np.sum(_contrast(shuffled) >= real)) / (1 + _SHUFFLES))


def _contrast(rows: Floats) -> Floats:
    """The best step up of each row, at any place, as a share of the row's variance."""
    n = rows.shape[1]
    centred = rows - rows.mean(axis=1, keepdims=True)
    below = np.cumsum(centred, axis=1)[:, :-1]
    counts = np.arange(1, n)
    between = np.where(below < 0, below**2, 0) * n / (counts * (n - counts))
    return np.asarray(between.max(axis=1) / np.maximum(np.sum(centred**2, axis=1), 1e-300))


def resamples(curve: Curve, least: bool = False) -> Iterator[Floats]:
    """The curve's medians (or least) as other runs of as many repetitions might have given them."""
    yield from curve.resampled(np.random.default_rng(0), RESAMPLES, least)


def interval(outcomes: Sequence[float]) -> tuple[float, float]:
    """Where the middle of the outcomes lies: 95 % of them."""
    tail = (1 - COVERAGE) / 2
    low, high = np.quantile(np.array(outcomes, dtype=np.float64), [tail, 1 - tail])
    return float(low), float(high)


def median_interval(samples: Sequence[float] | Floats) -> tuple[float, float, float]:
    """The median and the interval of medians of resampled values."""
    values = np.array(samples, dtype=np.float64)
    rng = np.random.default_rng(0)
    drawn = np.median(rng.choice(values, (RESAMPLES, len(values))), axis=1)
    low, high = interval(list(drawn))
    return float(np.median(values)), low, high
