"""The caches behind the first: sizes as intervals, because where pages lie is unknown.

Regions are walked in windows of few pages, so that the TLB plays no part. Where a level ends
the curve does not step but climbs: pages lie at random, so some sets overflow long before the
cache is full, and others still hold their lines when it has been exceeded. The structural model
with random placement knows that; what it cannot know is the replacement, so the interval spans
every organisation that explains the curve about equally well.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nearfar.inference.caches.first import PROBER, FirstCache
from nearfar.inference.caches.model import CONTIGUOUS, RANDOM, Fitter, Organisation
from nearfar.inference.caches.orders import LINE
from nearfar.inference.caches.plan import Experiment, chains, geometric, over
from nearfar.inference.noise import (
    CHANCE,
    Curve,
    Floats,
    Plateau,
    around,
    by_chance,
    interval,
    level_again,
    median_interval,
    plateau,
    resamples,
)
from nearfar.results.findings import (
    IDENTIFIED,
    Finding,
    Observation,
    identified,
    not_identifiable,
)

WINDOW = 2048  # lines: 32 pages
_FIRST, _QUICK_LAST, _FULL_LAST = 512, 1 << 19, 1 << 21  # lines: 32 KiB, 32 MiB, 128 MiB
_BUSY = 1 << 17  # lines: from 8 MiB on a walk is dear, and points are few
_CHUNK_NS = 150_000.0  # a chunk spans regions of second-cache size
_BEYOND_FIRST = 1.4  # times its size: nothing of a region is left in the first cache
_RAMP_SPAN, _RAMP_RISE = 1.45, 0.12  # level again: within 12 % over half an octave
_RAMP_END = 2.6  # times the last region on the plateau: the ramp is over, up to a few per cent
_WAYS = (4, 6, 8, 10, 12, 16, 20, 24)
_LEAST_ERROR = 0.015  # root mean square: a walk is timed in parts, which are not all alike
_SLACK = 1.3  # times the least squared error: an organisation about as good as the best
_UNEXPLAINED = 0.08  # root mean square relative error that no fit may exceed
_UNSTEADY = 0.15  # scatter of repetitions: this level is not the walker's alone
_SPOILT = 3.0  # times the fastest repetition: pages that lie badly cost less, others more
_WIDEST = 3.0  # largest over smallest size that still names a cache
_POLICIES = ("lru", "plru", "qlru", "random")
_POOR = 9.0  # times the least squared error of any policy: this one is not the cache's
_AGREES = 1.1  # times the interval's ends: what conflicts may make of the size


def coarse(observations: Sequence[Observation], quick: bool) -> list[Experiment]:
    """Regions from the first cache to far beyond the last."""
    del observations
    last = _QUICK_LAST if quick else _FULL_LAST
    sizes = geometric(_FIRST, _BUSY, 4, 128) + geometric(2 * _BUSY, last, 1, WINDOW)
    return [_walk(lines) for lines in sizes]


def fine(observations: Sequence[Observation], quick: bool) -> list[Experiment]:
    """More regions on the ramp behind the second cache."""
    curve = _curve(observations)
    edge = plateau(curve.values, _start(curve, _first_lines(observations))) if len(curve) else None
    if edge is None:
        return []
    low, high = int(curve.x[edge.last]), int(curve.x[edge.last] * 4)
    known = set(curve.x.tolist())
    wanted = geometric(low, high, 6 if quick else 10, 256)
    return [_walk(lines) for lines in wanted if lines not in known]


def exact(observations: Sequence[Observation], first: FirstCache, quick: bool) -> list[Experiment]:
    """More regions on the ramp behind the third cache."""
    curve = _curve(observations)
    if len(curve) < 8 or first.capacity is None:
        return []
    second = plateau(curve.values, _start(curve, first.capacity / LINE))
    if second is None:
        return []
    start = int(np.searchsorted(curve.x, _top(curve, second)))
    edge = plateau(curve.values, start, least_rise=_RAMP_RISE) if start < len(curve) else None
    if edge is None:
        return []
    known = set(curve.x.tolist())
    low, high = int(curve.x[edge.last]), int(curve.x[edge.last] * 4)
    wanted = geometric(low, min(high, int(curve.x[-1])), 3 if quick else 6, WINDOW)
    return [_walk(lines) for lines in wanted if lines not in known]


def _walk(lines: int) -> Experiment:
    return Experiment(PROBER, "windows", {"lines": lines, "window": WINDOW}, chunk_ns=_CHUNK_NS)


def _curve(observations: Sequence[Observation]) -> Curve:
    return over(chains(observations, PROBER, "windows"), "lines")


def _first_lines(observations: Sequence[Observation]) -> float:
    """The first cache's size as far as the coarse curve shows it."""
    curve = over(chains(observations, PROBER, "dense"), "lines")
    edge = plateau(curve.least) if len(curve) else None
    return float(curve.x[edge.last + 1]) if edge is not None else 0.0


def _start(curve: Curve, first_lines: float) -> int:
    return int(np.searchsorted(curve.x, first_lines * _BEYOND_FIRST))


# ---- Findings ----------------------------------------------------------------------------


def findings(
    observations: Sequence[Observation],
    first: FirstCache,
    by_sets: int | None,
    shared: str | None,
) -> list[Finding]:
    """Findings of `cache.2.*` and `cache.3.*`.

    `by_sets` is what conflicts make the size of the second, if they say. `shared` says why the
    last cache is not this machine's alone, None where it is.
    """
    curve = _curve(observations)
    if len(curve) < 8 or first.capacity is None:
        return []
    start = _start(curve, first.capacity / LINE)
    edge = plateau(curve.values, start)
    if edge is None or by_chance(around(curve, edge)) > CHANCE:
        reason = "beyond the first cache all regions take equally long, up to noise"
        return [not_identifiable("cache.2.capacity", reason, curve.ids[start:])]
    top = _top(curve, edge)
    second = _agreed(_capacity(2, curve, edge, top), by_sets)
    return [_latency(2, curve, edge), second, *_third(curve, top, second, shared)]


def _agreed(fitted: Finding, by_sets: int | None) -> Finding:
    """The size that conflicts give, where the curve over regions agrees."""
    if fitted.interval is None or by_sets is None:
        return fitted
    low, high = fitted.interval
    if not low / _AGREES <= by_sets <= high * _AGREES:
        reason = f"conflicts between lines make it {by_sets} B, and {fitted.reason} otherwise"
        bounds = (min(low, by_sets), max(high, by_sets))
        return not_identifiable(fitted.name, reason, fitted.evidence, bounds)
    reason = f"ways times the distance between lines of one set; {fitted.reason}"
    return identified(fitted.name, by_sets, reason, fitted.evidence)


def _top(curve: Curve, edge: Plateau) -> float:
    """Where the ramp behind a plateau ends: where the curve is level again, if it ever is, for
    the next level may be too busy to have one."""
    end = float(curve.x[edge.last]) * _RAMP_END
    level = level_again(curve.x, curve.values, edge.last + 2, _RAMP_SPAN, _RAMP_RISE)
    return end if level is None else min(end, float(curve.x[level]) * _RAMP_SPAN)


def _latency(level: int, curve: Curve, edge: Plateau) -> Finding:
    samples = np.concatenate(curve.samples[edge.first : edge.last + 1])
    value, low, high = median_interval(samples)
    reason = (
        f"median of walks over {curve.x[edge.first] * LINE:.0f} to "
        f"{curve.x[edge.last] * LINE:.0f} B, on few pages at a time"
    )
    evidence = curve.ids[edge.first : edge.last + 1]
    return identified(
        f"cache.{level}.latency",
        round(value, 3),
        reason,
        evidence,
        (round(low, 3), round(high, 3)),
    )


def _capacity(level: int, curve: Curve, edge: Plateau, top: float) -> Finding:
    """A cache's size, from the ramp between two levels."""
    name = f"cache.{level}.capacity"
    low = float(curve.x[edge.last])
    part = curve.within(curve.x[edge.first], top).undisturbed(_SPOILT)
    candidates = [
        Organisation(lines // ways * ways, ways, policy, placement)
        for lines in geometric(int(low * 0.8), int(top), 24, 16)
        for ways in _WAYS
        for policy in _POLICIES
        for placement in (CONTIGUOUS, RANDOM)
    ]
    # What is built: sets by powers of two, which the steps above may miss.
    candidates += [
        Organisation(ways << k, ways, policy, placement)
        for ways in _WAYS
        for k in range(2, 20)
        if low * 0.8 <= ways << k <= top
        for policy in _POLICIES
        for placement in (CONTIGUOUS, RANDOM)
    ]
    fitter = Fitter(part.x, candidates)
    fit = fitter.fit(part.values)
    error = float(np.sqrt(fit.squares[fit.best]))
    if error > _UNEXPLAINED:
        reason = f"no organisation explains the curve: the best misses it by {error:.0%}"
        return not_identifiable(name, reason, part.ids, (low * LINE, top * LINE))
    # By medians and by the fastest: what others do to this cache moves one more than the other.
    curves = (part.values, *resamples(part), part.least, *resamples(part, least=True))
    bottom, top = _span(candidates, [fitter.fit(values).squares for values in curves])
    if top > _WIDEST * bottom:
        reason = f"sizes from {bottom * LINE:.0f} to {top * LINE:.0f} B explain the curve alike"
        return not_identifiable(name, reason, part.ids, (bottom * LINE, top * LINE))
    value = round((bottom * top) ** 0.5) * LINE
    reason = (
        f"caches of {_WAYS[0]} to {_WAYS[-1]} ways, with the replacement that suits each, explain "
        f"the curve to {error:.1%}"
    )
    return identified(name, value, reason, part.ids, (bottom * LINE, top * LINE))


def _span(candidates: Sequence[Organisation], fits: Sequence[Floats]) -> tuple[float, float]:
    """Least and largest size over all policies that explain the curve, each by what suits it
    best, and over resamples."""
    sizes = np.array([one.lines for one in candidates], dtype=np.float64)
    best = candidates[int(np.argmin(fits[0]))].placement
    placed = np.array([one.placement == best for one in candidates])
    suits = [
        placed & np.array([one.policy == policy for one in candidates]) for policy in _POLICIES
    ]
    bottoms, tops = [], []
    for squares in fits:
        poor = max(_POOR * float(np.min(squares[placed])), _LEAST_ERROR**2)
        good: list[float] = []
        for own in suits:
            least = float(np.min(squares[own]))
            if least <= poor:
                good += sizes[own & (squares <= max(_SLACK * least, _LEAST_ERROR**2))].tolist()
        bottoms.append(min(good))
        tops.append(max(good))
    return interval(bottoms)[0], interval(tops)[1]


def _third(curve: Curve, after: float, second: Finding, shared: str | None) -> list[Finding]:
    name = "cache.3.capacity"
    start = int(np.searchsorted(curve.x, after))
    edge = plateau(curve.values, start, least_rise=_RAMP_RISE) if start < len(curve) else None
    if edge is None:
        reason = "behind the second cache no two regions cost the same"
        return [not_identifiable(name, reason, curve.ids[start:])]
    evidence = curve.ids[edge.last :]
    low = float(curve.x[edge.last]) * LINE
    about = f"; regions up to {low:.0f} B are served by it here"
    end = level_again(curve.x, curve.values, edge.last + 1, 2.0, _RAMP_RISE)
    bounds = None if end is None else (low, float(curve.x[end]) * LINE)
    found = [_latency(3, curve, edge)]
    scatter = _worst_scatter(curve, edge.last)
    if shared is not None:
        return [*found, not_identifiable(name, shared + about, evidence, bounds)]
    if scatter > _UNSTEADY:
        reason = f"repetitions differ by {scatter:.0%}: others use this cache too{about}"
        return [*found, not_identifiable(name, reason, evidence, bounds)]
    if end is None:
        reason = "the curve does not become level again behind this cache"
        return [*found, not_identifiable(name, reason, evidence, bounds)]
    return [
        *found,
        _beyond_second(_capacity(3, curve, edge, _top(curve, edge)), curve, edge, second),
    ]


def _beyond_second(third: Finding, curve: Curve, edge: Plateau, second: Finding) -> Finding:
    """The size of a cache that another one stands in front of, as what regions allow.

    What leaves the second cache may go to the third, and leave that when it is asked for: then
    regions fit that both hold together, and the third sees other loads than the structural model
    thinks. But it is no larger than a region half of whose loads reach the memory.
    """
    if third.status != IDENTIFIED or third.interval is None or second.interval is None:
        return third
    last = float(curve.x[edge.last])
    ramp = curve.within(last, float(curve.x[-1]))
    half = (edge.level + float(ramp.values[-1])) / 2
    slow = ramp.x[ramp.values >= half]
    fits = min(third.interval[0], last * LINE)
    low = max(fits - second.interval[1], fits / 2)
    high = max(third.interval[1], float(slow[0]) * LINE)
    reason = (
        f"{third.reason}; or less by what the second holds, if it has no copies of that, and no "
        f"more than {slow[0] * LINE:.0f} B, where half of the loads miss"
    )
    if high > _WIDEST * low:
        return not_identifiable(third.name, reason, third.evidence, (low, high))
    value = round((low * high) ** 0.5 / LINE) * LINE
    return identified(third.name, value, reason, third.evidence, (low, high))


def _worst_scatter(curve: Curve, start: int) -> float:
    """The largest relative spread of repetitions on the ramp behind `start`."""
    spreads = [
        float((np.quantile(one, 0.75) - np.quantile(one, 0.25)) / np.median(one))
        for one in curve.samples[start : start + 6]
    ]
    return max(spreads, default=0.0)
