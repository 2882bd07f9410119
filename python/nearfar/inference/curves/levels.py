"""Buffer levels from one load curve: capacities, latencies and policies by least squares.

The latency of a line is a sum of what every level adds when it misses,

    t(R) = hit + start / lines(R) + sum over levels of extra * miss(R / C),

with `miss` from the simulated walk (curves_hits). Given the capacities C it is linear in the
rest, so only the capacities are searched. Intervals come from refitting to resampled
residuals, and cover every policy that the data does not reject.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nearfar.inference.curves.edges import Rise
from nearfar.inference.curves.hits import POLICIES, miss_rate

Floats = NDArray[np.float64]

LINE = 64
_STEP = 0.004  # relative distance of two capacities that are tried
_REACH = 0.45  # how far from the edge, relatively, a capacity is looked for
# Random replacement begins to lose long before its capacity: there it is looked for beyond.
_RANDOM_REACH = 12.0
_ROUNDS = 3
_RESAMPLES = 400
_RUN = 3  # residuals are resampled in runs: what the model lacks is lacking next door too
# A policy whose squared error over the ramp is so many times the best one's is rejected:
# above the F distribution's 99.9 % point for the eight independent points of a short ramp.
_REJECTED = 4.0
_BEFORE = 4  # points of the plateau before, where random replacement rises already
_PERFECT = 1e-3  # no two policies are told apart below this relative error


@dataclass(frozen=True)
class Level:
    """One buffer: bytes, its interval, and the policies that fit."""

    capacity: float
    low: float
    high: float
    entry: int  # the entry size that the walk was simulated with
    policy: str  # the one that fits best
    errors: dict[str, float]  # rms relative error under each policy
    possible: tuple[str, ...]  # those that the data does not reject


@dataclass(frozen=True)
class Latency:
    """A line's latency, and the bounds of its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Fit:
    """All levels of a curve; `latencies` of a hit in each, and at last of a miss in all."""

    levels: tuple[Level, ...]
    latencies: tuple[Latency, ...]
    error: float  # rms, relative


@dataclass(frozen=True)
class _Guess:
    capacity: float
    policy: str
    entry: int


def fit(
    region: Floats, values: Floats, block: int, rises: Sequence[Rise], entries: Sequence[int]
) -> Fit:
    """Levels at the `rises` of a curve, given each one's entry size in bytes."""
    guesses = [
        _Guess((rise.last * rise.first) ** 0.5, "lru", entry)
        for rise, entry in zip(rises, entries, strict=True)
    ]
    walk = _Walk(region, values, block)
    largest = float(region[-1])
    spans = [{policy: _span(rise, policy, largest) for policy in POLICIES} for rise in rises]
    for _ in range(_ROUNDS):
        before = [*guesses]
        for at in range(len(guesses)):
            options = [_best(walk, guesses, at, policy, spans[at][policy]) for policy in POLICIES]
            guesses[at] = min(options, key=lambda option: option[0])[1]
        if guesses == before:
            break  # what is best of a level follows from the others alone
    return Fit(
        levels=tuple(_level(walk, guesses, at, spans[at], rises[at]) for at in range(len(guesses))),
        latencies=_latencies(walk, guesses),
        error=float(np.sqrt(np.mean(walk.residuals(guesses) ** 2))),
    )


class _Walk:
    """A measured curve and the linear problem behind it; rows are relative to the values."""

    def __init__(self, region: Floats, values: Floats, block: int) -> None:
        self.region, self.values, self.block = region, values, block
        self.fixed = np.column_stack([np.ones_like(region), LINE / region])
        self._columns: dict[_Guess, Floats] = {}  # the same capacities are tried in every round

    def column(self, guess: _Guess) -> Floats:
        if guess not in self._columns:
            self._columns[guess] = self._misses(guess)
        return self._columns[guess]

    def _misses(self, guess: _Guess) -> Floats:
        touches = max(1, guess.entry // self.block)
        entries = max(1, round(guess.capacity / guess.entry))
        return miss_rate(guess.policy, touches, entries, self.region / guess.capacity)

    def matrix(self, guesses: Sequence[_Guess]) -> Floats:
        columns = [self.fixed, *(self.column(guess)[:, None] for guess in guesses)]
        return np.asarray(np.hstack(columns) / self.values[:, None])

    def solve(self, guesses: Sequence[_Guess]) -> Floats:
        ones = np.ones(len(self.values))
        return np.asarray(np.linalg.lstsq(self.matrix(guesses), ones, rcond=None)[0])

    def residuals(self, guesses: Sequence[_Guess]) -> Floats:
        return np.asarray(1 - self.matrix(guesses) @ self.solve(guesses))


def _span(rise: Rise, policy: str, largest: float) -> Floats:
    """The capacities that are tried for the level behind a rise."""
    low, high = rise.last * (1 - _REACH), rise.first * (1 + _REACH)
    if policy == "random":
        # A buffer that the curve never overflows twofold would be a guess.
        high = max(high, min(rise.first * _RANDOM_REACH, largest / 2))
    return np.geomspace(low, high, max(2, round(np.log(high / low) / _STEP)))


def _best(
    walk: _Walk, guesses: list[_Guess], at: int, policy: str, span: Floats
) -> tuple[float, _Guess]:
    """The capacity of level `at` that fits best under `policy`, the others held."""
    errors = _errors(walk, guesses, at, policy, span, np.ones((len(walk.values), 1)))
    found = replace(guesses[at], policy=policy, capacity=float(span[np.argmin(errors)]))
    return float(np.min(errors)), found


def _errors(
    walk: _Walk, guesses: list[_Guess], at: int, policy: str, span: Floats, targets: Floats
) -> Floats:
    """Squared error of every column of `targets` at every capacity of `span`."""
    errors = []
    for capacity in span:
        tried = [*guesses]
        tried[at] = replace(guesses[at], policy=policy, capacity=float(capacity))
        basis, _ = np.linalg.qr(walk.matrix(tried))
        errors.append(np.sum(targets**2, axis=0) - np.sum((basis.T @ targets) ** 2, axis=0))
    return np.array(errors)


def _latencies(walk: _Walk, guesses: list[_Guess]) -> tuple[Latency, ...]:
    """Sums of the linear weights, with what the residuals say about their errors."""
    matrix, weights = walk.matrix(guesses), walk.solve(guesses)
    freedom = max(1, len(walk.values) - len(weights))
    variance = float(np.sum(walk.residuals(guesses) ** 2)) / freedom
    covariance = variance * np.linalg.pinv(matrix.T @ matrix)
    found = []
    for depth in range(len(guesses) + 1):
        served = np.array([1.0, 0.0, *(float(at < depth) for at in range(len(guesses)))])
        value = float(served @ weights)
        error = 1.96 * float(np.sqrt(served @ covariance @ served))
        found.append(Latency(value, value - error, value + error))
    return tuple(found)


def _level(
    walk: _Walk, guesses: list[_Guess], at: int, spans: Mapping[str, Floats], rise: Rise
) -> Level:
    fits = {policy: _best(walk, guesses, at, policy, spans[policy])[1] for policy in POLICIES}
    squares = {}
    for policy, guess in fits.items():
        tried = [*guesses]
        tried[at] = guess
        squares[policy] = walk.residuals(tried) ** 2
    chosen = guesses[at].policy
    ramp = slice(max(rise.start, rise.edge - _BEFORE), rise.end + 1)
    possible = tuple(
        policy
        for policy in POLICIES
        if policy == chosen or not _worse(squares[policy][ramp], squares[chosen][ramp])
    )
    spreads = [_spread(walk, guesses, at, fits[policy], spans[policy]) for policy in possible]
    return Level(
        capacity=guesses[at].capacity,
        low=min(low for low, _ in spreads),
        high=max(high for _, high in spreads),
        entry=guesses[at].entry,
        policy=chosen,
        errors={policy: float(np.sqrt(np.mean(found))) for policy, found in squares.items()},
        possible=possible,
    )


def _worse(squares: Floats, best: Floats) -> bool:
    """Whether the one set of squared errors exceeds the other by more than chance."""
    return bool(np.mean(squares) > _REJECTED * max(float(np.mean(best)), _PERFECT**2))


def _spread(
    walk: _Walk, guesses: list[_Guess], at: int, fitted: _Guess, span: Floats
) -> tuple[float, float]:
    """The central 95 % of the capacity when refitted to resampled residuals."""
    rng = np.random.default_rng(at)
    held = [*guesses]
    held[at] = fitted
    off = walk.residuals(held)
    count = len(off)
    starts = rng.integers(count, size=(-(-count // _RUN), _RESAMPLES))
    runs = (starts[:, None, :] + np.arange(_RUN)[None, :, None]).reshape(-1, _RESAMPLES)[:count]
    targets = (1 - off)[:, None] + off[runs % count]
    errors = _errors(walk, held, at, fitted.policy, span, targets)
    found = span[np.argmin(errors, axis=0)]
    low, high = np.percentile(found, [2.5, 97.5])
    return float(low) * (1 - _STEP), float(high) * (1 + _STEP)
