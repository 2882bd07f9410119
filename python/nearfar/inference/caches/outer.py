"""The caches behind the first: sizes as intervals, because where pages lie is unknown.

Regions are walked in windows of few pages, so that the TLB plays no part. Where a level ends
the curve does not step but climbs: pages lie at random, so some sets overflow long before the
cache is full, and others still hold their lines when it has been exceeded. `ramps` fits that
occupancy of the sets; what it cannot know is the replacement, so the interval spans every
organisation that explains the curve about equally well.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nearfar.inference.caches import ramps
from nearfar.inference.caches.first import PROBER, FirstCache
from nearfar.inference.caches.orders import LINE
from nearfar.inference.caches.plan import Experiment, chains, geometric, over
from nearfar.inference.caches.ramps import Reading, Span
from nearfar.inference.noise import (
    CHANCE,
    Curve,
    Plateau,
    around,
    by_chance,
    level_again,
    median_interval,
    plateau,
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
_UNEXPLAINED = 0.08  # root mean square relative error that no fit may exceed
_UNSTEADY = 0.15  # scatter of repetitions: this level is not the walker's alone
_SPOILT = 3.0  # times the fastest repetition: pages that lie badly cost less, others more
_NO_BOUND = float(1 << 40)  # bytes: no cache is larger
_WIDEST = 3.0  # largest over smallest size that still names a cache
_SIBLING = 2.0  # two threads share a core's second cache
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
    behind = _behind(curve, _top(curve, edge))
    edges = [edge] if behind is None else [edge, behind]
    spans = _spans(curve, start, edges)
    fitted = _capacity(2, curve, edge, spans[0])
    second = _agreed(fitted if shared is None else _with_sibling(fitted), by_sets)
    found = [_latency(2, curve, edge), second]
    if behind is None:
        reason = "behind the second cache no two regions cost the same"
        return [*found, not_identifiable("cache.3.capacity", reason, curve.ids[edge.last :])]
    return found + _third(curve, behind, spans[1], second, shared)


def _behind(curve: Curve, after: float) -> Plateau | None:
    """The plateau of the third cache, if the curve has another."""
    start = int(np.searchsorted(curve.x, after))
    return plateau(curve.values, start, least_rise=_RAMP_RISE) if start < len(curve) else None


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


def _with_sibling(fitted: Finding) -> Finding:
    """A second cache of which a thread that this machine does not see may hold half."""
    if fitted.interval is None:
        return fitted
    low, high = fitted.interval[0], min(_SIBLING * fitted.interval[1], _NO_BOUND)
    reason = (
        f"{fitted.reason}; as much again may be held by the core's other thread, "
        "which a virtual machine does not see"
    )
    if fitted.status != IDENTIFIED or fitted.value is None or high > _WIDEST * low:
        return not_identifiable(fitted.name, reason, fitted.evidence, (low, high))
    return identified(fitted.name, fitted.value, reason, fitted.evidence, (low, high))


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


def _spans(curve: Curve, start: int, edges: Sequence[Plateau]) -> list[Span]:
    """What the whole curve behind the first cache says of the caches that end at `edges`."""
    part = curve.within(float(curve.x[start]), float(curve.x[-1])).undisturbed(_SPOILT)
    # Of few sets overflowing by chance the mean knows more, of a neighbour's doing the median.
    count = np.array([len(one) for one in part.samples])
    spread = np.array([float(np.std(one)) for one in part.samples])
    mean = np.array([float(np.mean(one)) for one in part.samples])
    error = spread / np.sqrt(np.maximum(count - 1, 1)) / mean
    readings = (Reading(mean, error), Reading(part.values, error))
    return ramps.fit(part.x, readings, [float(curve.x[edge.last]) for edge in edges])


def _capacity(level: int, curve: Curve, edge: Plateau, span: Span) -> Finding:
    """A cache's size, from the occupancy of its sets."""
    name = f"cache.{level}.capacity"
    ids = curve.ids[edge.first :]
    bounds = (span.low * LINE, span.high * LINE)
    if span.error > _UNEXPLAINED:
        reason = f"no organisation explains the curve: the best misses it by {span.error:.0%}"
        wide = (min(bounds[0], float(curve.x[edge.last]) * LINE), max(bounds[1], bounds[0] * 4))
        return not_identifiable(name, reason, ids, wide)
    about = (
        f"caches of {ramps.WAYS[0]} to {ramps.WAYS[-1]} ways that pages fill at random, or one "
        f"after the other, explain the curve to {span.error:.1%}"
    )
    if not span.bounded:
        reason = f"{about} from {bounds[0]:.0f} B on: no region walked is large enough for a bound"
        return not_identifiable(name, reason, ids, (bounds[0], _NO_BOUND))
    if span.high > _WIDEST * span.low:
        reason = f"{about}, from {bounds[0]:.0f} to {bounds[1]:.0f} B alike"
        return not_identifiable(name, reason, ids, bounds)
    return identified(name, round(span.best) * LINE, about, ids, bounds)


def _third(
    curve: Curve, edge: Plateau, span: Span, second: Finding, shared: str | None
) -> list[Finding]:
    name = "cache.3.capacity"
    evidence = curve.ids[edge.last :]
    low = float(curve.x[edge.last]) * LINE
    about = f"; regions up to {low:.0f} B are served by it here"
    found = [_latency(3, curve, edge)]
    scatter = _worst_scatter(curve, edge.last)
    if shared is not None:  # what others leave of it has no upper bound
        return [*found, not_identifiable(name, shared + about, evidence), _share(curve, edge)]
    third = _beyond_second(_capacity(3, curve, edge, span), curve, edge, second)
    doubt = ""
    if scatter > _UNSTEADY:
        doubt = f"repetitions differ by {scatter:.0%}: others use this cache too{about}"
    elif level_again(curve.x, curve.values, edge.last + 1, 2.0, _RAMP_RISE) is None:
        doubt = f"the curve does not become level again behind this cache; {third.reason}"
    if doubt:
        least, most = third.interval or (low, low)
        # With four ways or more a region of a quarter of a cache does not rise visibly.
        most = max(most, 4 * float(curve.x[edge.last + 1]) * LINE)
        third = not_identifiable(name, doubt, evidence, (least, most))
    return [*found, third]


def _share(curve: Curve, edge: Plateau) -> Finding:
    """How much of a cache that others use as well served the walks: more than the largest region
    that it served whole, and less than the first half of whose loads reached the memory."""
    name, evidence = "cache.3.share", curve.ids[edge.last :]
    served = float(curve.x[edge.last]) * LINE
    last = float(curve.x[-1]) * LINE
    if level_again(curve.x, curve.values, edge.last + 1, 2.0, _RAMP_RISE) is None:
        reason = f"it served regions up to {served:.0f} B; behind it the curve is not level again"
        return not_identifiable(name, reason, evidence, (served, max(served, last)))
    missed = _half_missed(curve, edge)
    reason = (
        f"while this was measured, it served regions up to {served:.0f} B, and of {missed:.0f} B "
        "half of the loads missed it; what others use of it changes"
    )
    if missed > _WIDEST * served:
        return not_identifiable(name, reason, evidence, (served, missed))
    return identified(name, round((served * missed) ** 0.5), reason, evidence, (served, missed))


def _half_missed(curve: Curve, edge: Plateau) -> float:
    """In bytes, the smallest region half of whose loads the cache that ends at `edge` misses."""
    ramp = curve.within(float(curve.x[edge.last]), float(curve.x[-1]))
    half = (edge.level + float(ramp.values[-1])) / 2
    return float(ramp.x[ramp.values >= half][0]) * LINE


def _beyond_second(third: Finding, curve: Curve, edge: Plateau, second: Finding) -> Finding:
    """The size of a cache that another one stands in front of, as what regions allow.

    What leaves the second cache may go to the third, and leave that when it is asked for: then
    regions fit that both hold together. But no cache is larger than a region half of whose loads
    reach the memory.
    """
    if third.interval is None or second.interval is None:
        return third
    slow = _half_missed(curve, edge)
    low = max(third.interval[0] - second.interval[1], third.interval[0] / 2)
    high = max(third.interval[1], slow)
    reason = (
        f"{third.reason}; or less by what the second holds, if it has no copies of that, and no "
        f"more than {slow:.0f} B, where half of the loads miss"
    )
    if third.status != IDENTIFIED or high > _WIDEST * low:
        return not_identifiable(third.name, reason, third.evidence, (low, high))
    value = third.value if isinstance(third.value, int) else round((low * high) ** 0.5)
    return identified(third.name, value, reason, third.evidence, (low, high))


def _worst_scatter(curve: Curve, start: int) -> float:
    """The largest relative spread of repetitions on the ramp behind `start`."""
    spreads = [
        float((np.quantile(one, 0.75) - np.quantile(one, 0.25)) / np.median(one))
        for one in curve.samples[start : start + 6]
    ]
    return max(spreads, default=0.0)
