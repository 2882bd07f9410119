"""Where a curve over regions rises, and what each rise may stand for, however few its points are.

A level shows as a rise between two plateaus. In a coarse or short curve a plateau may be a single
point, or fall between two; in a noisy one a rise may be luck; and not every rise is a level's:

* *Translation* rises where the pages outnumber a TLB. A walk in random order then misses it for
  1 - reach/R of its loads, which is half of them an octave later and three quarters after two: a
  rise that is over by then is none. Nor is one below sixteen pages, or one that costs more than
  a walk of page tables does.
* *A busy moment* rises and falls again.
* *The tail* of a rise goes on rising, ever more slowly, and where pages lie at random its beginning
  is slow: two rises are two only with something far less steep between them.

So each rise says how many levels it stands for, at least and at most. What one does not count at
all is kept, with the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil, exp, log2

import numpy as np

from nearfar.inference.noise import Floats

_QUARTILE = 0.3186 * 2**0.5  # of the distance of two equal values, in standard deviations
_MIDDLE = 0.6745 * 2**0.5
_SELDOM = 1 / 8
_LEAST_NOISE = 0.003
_UNDISTURBED = 0.05  # a curve that never falls is no noisier than this
_BIN = 0.4  # octaves whose points are taken together
# How far later points lie above all earlier ones where there is a rise, by the points of the
# shorter side: standard deviations, and least logarithm.
_SURE = ((8.0, 0.25), (6.0, 0.10), (5.0, 0.03))
_STEEPER = 2.5  # times the slope of what lies between: two rises, and no tail or beginning of one
_DOUBTFUL = 3.0  # errors between the means of two parts of a plateau
_LEVEL = 3.0  # standard deviations: within these a plateau goes on
SIXTEEN_PAGES = 64 << 10
TABLE_WALK_NS = 60.0
_TRIED = 24  # reaches of a TLB
_EXPLAINS = 3.0  # standard deviations: so near comes a curve of translation that may be one


@dataclass(frozen=True)
class Ascent:
    """A rise from the region `last`, over `first`, to `end`, where the curve is level again."""

    last: float
    first: float
    end: float
    low: float  # the least capacity that rises so late: noise hides the beginning,
    high: float  # and the largest one: it hides the end
    below: float
    above: float
    least: int = 1  # levels that it stands for
    most: int = 1
    reason: str = ""  # why it may stand for none
    clear: bool = True  # no noise: something ends there


@dataclass(frozen=True)
class Ascents:
    """All rises, ascending; those with `least` 0 may be none. The noise is a point's."""

    found: tuple[Ascent, ...]
    noise: float

    @property
    def sure(self) -> tuple[Ascent, ...]:
        return tuple(step for step in self.found if step.least)

    @property
    def doubtful(self) -> tuple[Ascent, ...]:
        return tuple(step for step in self.found if not step.least)


def point_noise(values: Floats) -> float:
    """The relative standard deviation of one point of a curve that ought never to fall.

    Of a sparse curve most points may lie on different levels. So what counts are the least
    differences of neighbours, and those that fall.
    """
    change = np.diff(np.log(values))
    if len(change) < 2:
        return _UNDISTURBED
    falls = -change[change < 0]
    # Noise makes every other point of a plateau fall; a single one that does was a busy moment.
    falling = float(np.median(falls)) / _MIDDLE if len(falls) > _SELDOM * len(change) else 0.0
    least = float(np.quantile(np.abs(change), 0.25)) / _QUARTILE
    few = 1 + 3 / len(change)
    return max(_LEAST_NOISE, few * falling, few * min(least, max(falling, _UNDISTURBED)))


def ascents(region: Floats, values: Floats, timed: bool = True) -> Ascents:
    """The rises of a curve over ascending regions.

    `timed` says whether the values are nanoseconds. Fewer than three points give none.
    """
    if len(values) < 3:
        return Ascents((), _UNDISTURBED)
    noise = point_noise(values)
    start = _settled(values, noise)
    region, values = region[start:], values[start:]
    logs, spikes = _without_spikes(region, values, noise)
    found = [
        _judged(step, region, np.exp(logs), noise, timed) for step in _rises(region, logs, noise)
    ]
    found += [*_hidden(region, logs, found, noise), *spikes]
    return Ascents(tuple(sorted(found, key=lambda step: (step.last, step.end))), noise)


def _settled(values: Floats, noise: float) -> int:
    """The first point that no longer pays visibly for the start of its region."""
    lowest = np.minimum.accumulate(values[::-1])[::-1]
    return int(np.argmax(values <= lowest * (1 + max(0.05, _LEVEL * noise))))


def _without_spikes(region: Floats, values: Floats, noise: float) -> tuple[Floats, list[Ascent]]:
    """Logarithms, with single points above both neighbours put down to them, and those points."""
    logs = np.log(values)
    spikes = []
    for at in range(1, len(logs) - 1):
        higher = max(logs[at - 1], logs[at + 1])
        if logs[at] > higher + max(_SURE[-1][0] * noise, _SURE[-1][1]):
            reason = (
                f"a region of {region[at + 1]:.0f} B is faster again: a busy moment does the same"
            )
            before, here, after = (float(one) for one in region[at - 1 : at + 2])
            costs = (float(np.exp(higher)), float(values[at]))
            spikes.append(
                Ascent(before, here, after, before, after, *costs, 0, 0, reason, clear=False)
            )
            logs[at] = higher
    return logs, spikes


def _rises(region: Floats, logs: Floats, noise: float) -> list[Ascent]:
    """Every rise that noise does not explain, each from plateau to plateau."""
    bins = _bins(region)
    level = np.array([float(np.median(logs[low:high])) for low, high in bins])
    where = np.array([float(np.mean(np.log2(region[low:high]))) for low, high in bins])
    ramps: list[tuple[int, int]] = []  # the last bin before and the first after
    for at in (int(one) for one in np.flatnonzero(_separated(level, noise))):
        if ramps and not _anew(where, level, ramps[-1], at, noise):
            ramps[-1] = (ramps[-1][0], at + 1)
        else:
            ramps.append((at, at + 1))
    plateaus = [
        (before[1] if before else 0, after[0] if after else len(bins) - 1)
        for before, after in pairwise([None, *ramps, None])
    ]
    found = []
    for below, above in pairwise(plateaus):
        found.append(
            _refined(
                region,
                logs,
                (bins[below[0]][0], bins[below[1]][1]),
                (bins[above[0]][0], bins[above[1]][1]),
                noise,
            )
        )
    return found


def _bins(region: Floats) -> list[tuple[int, int]]:
    """Indices of points that lie within a part of an octave."""
    bins: list[tuple[int, int]] = []
    for at in range(len(region)):
        if bins and log2(region[at] / region[bins[-1][0]]) < _BIN:
            bins[-1] = (bins[-1][0], at + 1)
        else:
            bins.append((at, at + 1))
    return bins


def _separated(level: Floats, noise: float) -> Floats:
    """Between which neighbours all later values lie above all earlier ones, clearly."""
    highest = np.maximum.accumulate(level)[:-1]
    lowest = np.minimum.accumulate(level[::-1])[::-1][1:]
    count = len(level)
    clear = []
    for at, apart in enumerate(lowest - highest):
        sigmas, least = _SURE[min(at + 1, count - 1 - at, len(_SURE)) - 1]
        clear.append(apart > max(sigmas * noise, least))
    return np.array(clear, dtype=np.bool_)


def _anew(where: Floats, level: Floats, ramp: tuple[int, int], at: int, noise: float) -> bool:
    """Whether the rise behind bin `at` is another than `ramp`: a plateau lies between them."""
    first = ramp[1]
    if at - first < 1:
        return False  # a single point between may lie on the ramp
    span = float(where[at] - where[first])
    grown = max(0.0, float(level[at] - level[first])) + _LEVEL * noise
    before, after = (
        float((level[end] - level[end - 1]) / (where[end] - where[end - 1]))
        for end in (first, at + 1)
    )
    return min(before, after) > _STEEPER * grown / span


def _refined(
    region: Floats, logs: Floats, below: tuple[int, int], above: tuple[int, int], noise: float
) -> Ascent:
    """A rise between two plateaus of points, to the point."""
    low = float(np.median(logs[slice(*below)]))
    high = float(np.median(logs[slice(*above)]))
    allowed = max(_LEVEL * noise, 0.01)
    between = range(below[0], above[1])
    last = max((at for at in between if logs[at] <= low + allowed), default=below[0])
    last = min(last, above[0] - 1)
    end = next((at for at in between if at > last and logs[at] >= high - allowed), above[0])
    # Of several levels that rise together the first may be the least of them.
    rise = max(exp(logs[last + 1] - low) - 1, 1e-9)
    hidden = min((exp(2 * allowed) - 1) / rise, 0.5)
    return Ascent(
        last=float(region[last]),
        first=float(region[last + 1]),
        end=float(region[max(end, last + 1)]),
        low=float(region[last]) * (1 - hidden),
        high=float(region[max(end, last + 1)]) * (1 + min(2 * allowed / (high - low), 1.0)),
        below=exp(low),
        above=exp(high),
    )


def _judged(step: Ascent, region: Floats, values: Floats, noise: float, timed: bool) -> Ascent:
    """How many levels a rise stands for, with neighbours at least twice as large."""
    most = max(1, ceil(log2(step.end / step.last) - 1e-9))
    step = replace(step, most=most)
    if step.first <= SIXTEEN_PAGES or (timed and step.above - step.below > TABLE_WALK_NS):
        return step
    if _like_translation(step, region, values, noise):
        return replace(
            step,
            least=0,
            reason="as slow a rise shows where pages outnumber a TLB: needs large pages, or a "
            "curve that is level within two octaves",
        )
    return step


def _like_translation(step: Ascent, region: Floats, values: Floats, noise: float) -> bool:
    """Whether loads that miss a TLB of some reach may have made the points behind a rise."""
    beyond = (region > step.last) & (values < step.above * exp(_LEVEL * noise) * 1.01)
    x, y = region[beyond], values[beyond]
    if len(x) < 3 or x[-1] < 1.9 * x[0]:
        return True
    best = np.inf
    for reach in np.geomspace(step.low, step.end, _TRIED):
        share = np.maximum(0.0, 1 - reach / x)
        weight = 1 / y**2
        cost = float((share * weight) @ (y - step.below)) / max(float(share**2 @ weight), 1e-12)
        off = (step.below + cost * share) / y - 1
        best = min(best, float(np.sqrt(np.mean(off**2))))
    return best < max(_EXPLAINS * noise, 0.02)


def _hidden(region: Floats, logs: Floats, found: Sequence[Ascent], noise: float) -> list[Ascent]:
    """Rises within plateaus that noise may have made, or hidden: named, and not counted."""
    edges = [0.0, *(edge for step in found for edge in (step.last, step.end)), np.inf]
    doubtful = []
    for low, high in zip(edges[::2], edges[1::2], strict=True):
        inside = np.flatnonzero((region >= low) & (region <= high))
        split = _best_split(logs[inside], noise)
        if split is None:
            continue
        at, more = (
            int(inside[split]),
            float(np.mean(logs[inside[split + 1 :]]) - np.mean(logs[inside[: split + 1]])),
        )
        reason = (
            f"{100 * (exp(more) - 1):.1f} % on average, where single points are off by "
            f"{100 * noise:.1f} %: too little to tell from noise or a slope"
        )
        start, here, after, end = (
            float(region[one]) for one in (inside[0], at, at + 1, inside[-1])
        )
        costs = (float(np.exp(logs[at])), float(np.exp(logs[at + 1])))
        doubtful.append(Ascent(here, after, end, start, end, *costs, 0, 1, reason, clear=False))
    return doubtful


def _best_split(logs: Floats, noise: float) -> int | None:
    """Behind which point the means of the two parts differ most, if by more than errors."""
    best, found = _DOUBTFUL, None
    for at in range(len(logs) - 1):
        first, second = logs[: at + 1], logs[at + 1 :]
        error = noise * float(np.sqrt(1 / len(first) + 1 / len(second)))
        apart = float(np.mean(second) - np.mean(first)) / error
        if apart > best:
            best, found = apart, at
    return found
