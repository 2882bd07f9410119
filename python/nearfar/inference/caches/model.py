"""The structural model of a cache under a walk: how many of the loads miss.

A region is walked again and again, every line once a round. Lines fall into sets, and a set with
no more lines than ways keeps them all. What happens in a fuller set depends on the
replacement: under LRU and FIFO every one of its lines is gone when its turn comes; under random
replacement a line survives each of the set's misses of a round with chance 1 - 1/ways; what the
approximations to LRU keep is replayed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from nearfar.inference.caches.replace import POLICIES
from nearfar.inference.noise import Floats

CONTIGUOUS = "contiguous"  # lines fall into the sets in turn
RANDOM = "random"  # pages lie anywhere, or the set is a hash of the address
PAGE_LINES = 64  # of 4 KiB
_MANY_COLOURS = 64
_LOST = 1.5  # times its ways: approximations to LRU keep hardly anything either
_STEPS = 60  # halvings that solve for a miss share
_FAR_OFF = 5.0  # times the median residual
_NEAR = 0.01  # relative residual that any model may have


@dataclass(frozen=True)
class Organisation:
    """A candidate: lines that fit, ways, what is replaced, and how lines fall into sets."""

    lines: int
    ways: int
    policy: str  # of `caches_replace`; FIFO is like LRU here
    placement: str = CONTIGUOUS


@cache
def set_miss(occupancy: int, ways: int, policy: str) -> float:
    """The share of a set's loads that miss when it is walked with so many lines."""
    if occupancy <= ways:
        return 0.0
    if policy == "lru" or (policy != "random" and occupancy > _LOST * ways):
        return 1.0
    if policy != "random":
        return POLICIES[policy](list(range(occupancy)), ways, np.random.default_rng(0))
    low, high = 0.0, 1.0
    survival = 1.0 - 1.0 / ways
    # m = 1 - survival^(occupancy m) has one root above zero: the right side is concave in m.
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if 1.0 - survival ** (occupancy * middle) > middle:
            low = middle
        else:
            high = middle
    return low


def miss_share(walked: Floats, candidate: Organisation) -> Floats:
    """The share of loads that miss, for walks of so many lines."""
    sets = candidate.lines / candidate.ways
    share = _contiguous if candidate.placement == CONTIGUOUS else _scattered
    return np.array([share(float(lines), sets, candidate) for lines in walked.tolist()])


def miss_shares(walked: Floats, candidates: Sequence[Organisation]) -> Floats:
    """`miss_share` of every candidate, a row each: what depends on occupancy alone only once."""
    rows = np.empty((len(candidates), len(walked)))
    groups: dict[tuple[int, str, str], list[int]] = {}
    for at, one in enumerate(candidates):
        few = one.placement == RANDOM and one.lines / one.ways <= PAGE_LINES * _MANY_COLOURS
        if few:
            rows[at] = miss_share(walked, one)
        else:
            groups.setdefault((one.ways, one.policy, one.placement), []).append(at)
    for (ways, policy, placement), members in groups.items():
        sizes = np.array([candidates[at].lines for at in members], dtype=np.float64)
        mean = ways * walked[None, :] / sizes[:, None]
        if placement == CONTIGUOUS:
            rows[members] = _contiguous_shares(mean, ways, policy)
        else:
            means, shares = _poisson_shares(ways, policy)
            rows[members] = np.interp(mean, means, shares)
    return rows


def _contiguous_shares(mean: Floats, ways: int, policy: str) -> Floats:
    low = np.floor(mean).astype(int)
    missing = np.concatenate([[0.0], _set_misses(int(low.max()) + 1, ways, policy)])
    more = mean - low
    high = low + 1
    shares: Floats = ((1 - more) * low * missing[low] + more * high * missing[high]) / mean
    return shares


@cache
def _poisson_shares(ways: int, policy: str) -> tuple[Floats, Floats]:
    """Mean occupancies up to many times the ways, and the share of misses at each."""
    means = np.concatenate([[0.0], ways * np.geomspace(1 / 16, 64, 241)])
    shares = [0.0]
    for mean in means[1:].tolist():
        loads = _poisson_loads(mean)
        shares.append(float(np.sum(loads * _set_misses(len(loads), ways, policy)) / mean))
    return means, np.array(shares)


def _contiguous(lines: float, sets: float, candidate: Organisation) -> float:
    fewest, fuller = divmod(lines, sets)
    low, high = int(fewest), int(fewest) + 1
    return (
        (sets - fuller) * low * set_miss(low, candidate.ways, candidate.policy)
        + fuller * high * set_miss(high, candidate.ways, candidate.policy)
    ) / lines


def _scattered(lines: float, sets: float, candidate: Organisation) -> float:
    """Pages fall into the colours, of 64 sets each, as they come: occupancy is binomial.

    Of many colours, and where each line goes to a set of its own by a hash, that is Poisson's.
    """
    colours = sets / PAGE_LINES
    if colours <= 1:
        return _contiguous(lines, sets, candidate)
    mean = lines / sets
    many = colours > _MANY_COLOURS
    loads = _poisson_loads(mean) if many else _binomial_loads(lines / PAGE_LINES, colours)
    missing = _set_misses(len(loads), candidate.ways, candidate.policy)
    return float(np.sum(loads * missing) / mean)


@lru_cache(maxsize=1024)  # one walk after the other, and the same ones under the next policy
def _poisson_loads(mean: float) -> Floats:
    """The mean number of a set's lines, by the number of lines in it, from 1 on."""
    occupancy = np.arange(1, int(mean + 10 * np.sqrt(mean) + 10))
    log_chance = occupancy * np.log(mean) - mean - np.cumsum(np.log(occupancy))
    loads: Floats = np.exp(log_chance) * occupancy
    return loads


@lru_cache(maxsize=4096)
def _binomial_loads(pages: float, colours: float) -> Floats:
    """The same, of so many pages that take one of a few colours each."""
    whole = max(1, round(pages))
    occupancy = np.arange(1, whole + 1)
    ways = np.cumsum(np.log((whole - occupancy + 1) / occupancy))
    chance = np.exp(
        ways - occupancy * np.log(colours) + (whole - occupancy) * np.log1p(-1 / colours)
    )
    loads: Floats = chance * occupancy * (pages / whole)
    return loads


@cache
def _set_misses(most: int, ways: int, policy: str) -> Floats:
    """`set_miss` from 1 to `most` lines."""
    return np.array([set_miss(occupancy, ways, policy) for occupancy in range(1, most + 1)])


@dataclass(frozen=True)
class Fit:
    """How well each of several candidates explains a curve; index by candidate."""

    candidates: tuple[Organisation, ...]
    squares: Floats  # mean squared relative residual
    steps: Floats  # ns that a miss costs
    bases: Floats  # ns of a hit

    @property
    def best(self) -> int:
        return int(np.argmin(self.squares))

    def curve(self, shares: NDArray[np.float64]) -> Floats:
        """What the best candidate says of each point, from all candidates' miss shares."""
        fitted: Floats = self.bases[self.best] + self.steps[self.best] * shares[self.best]
        return fitted


class Fitter:
    """Fits t = base + step * miss share over candidates, whose shares are computed once."""

    def __init__(self, walked: Floats, candidates: Iterable[Organisation]) -> None:
        self.candidates = tuple(candidates)
        self._shares: NDArray[np.float64] = np.array(
            [miss_share(walked, candidate) for candidate in self.candidates]
        ).reshape(len(self.candidates), len(walked))

    def fit(self, values: Floats) -> Fit:
        """Least squares of relative residuals, for every candidate at once.

        Twice: points that lie far off the first best fit (a neighbour was busy) are left out
        of the second.
        """
        everything = np.ones(len(values))
        first = self._fit(values, everything)
        off = np.abs(values - first.curve(self._shares)) / values
        kept = np.where(off <= _FAR_OFF * max(float(np.median(off)), _NEAR), 1.0, 0.0)
        return self._fit(values, kept)

    def squares(self, values: Floats) -> Floats:
        """Mean squared relative residuals of every candidate, all points alike."""
        return self._fit(values, np.ones(len(values))).squares

    def _fit(self, values: Floats, kept: Floats) -> Fit:
        weight = kept / values**2
        total = weight.sum()
        share_mean = self._shares @ weight / total
        value_mean = float(values @ weight / total)
        centred = self._shares - share_mean[:, None]
        spread = (centred**2) @ weight
        covariance = (centred * (values - value_mean)) @ weight
        steps = np.where(spread > 1e-12, covariance / np.maximum(spread, 1e-12), 0.0)
        bases = value_mean - steps * share_mean
        residual = values - bases[:, None] - steps[:, None] * self._shares
        squares = (residual**2) @ weight
        # A miss cannot be faster than a hit.
        squares = np.where(steps > 0, squares, np.inf)
        return Fit(self.candidates, squares / kept.sum(), steps, bases)
