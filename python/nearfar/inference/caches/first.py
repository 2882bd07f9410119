"""The first cache: line, ways, sets and size, each exactly, from conflicts and from capacity.

Its index lies within a page on every processor whose first cache is looked up while the
address is still being translated, so page placement plays no part and the very sets are known.
Where 2 MiB pages are whole the walks go through those, and no TLB plays a part either.

* *Line*: at each of many places, one load and at once another d bytes beyond. The second is
  served by the first cache exactly when both lie in one line.
* *Ways*: n lines a stride apart. Doubling the stride halves the sets they fall into, and with
  them the largest n that is still fast, until all of them share one set: that n is the ways.
* *Size*: the curve over regions, fitted by the structural model, line by line.

Ways and the last stride that matters give the size once more; the two have to agree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nearfar.inference.caches.model import Fitter, Organisation
from nearfar.inference.caches.orders import LINE
from nearfar.inference.caches.plan import Experiment, chains, evenly, geometric, over
from nearfar.inference.noise import (
    CHANCE,
    Curve,
    Plateau,
    around,
    by_chance,
    median_interval,
    plateau,
    resamples,
)
from nearfar.results.findings import Finding, Observation, identified, not_identifiable

PROBER = "caches"

_DISTANCES = (8, 16, 24, 32, 48, 56, 64, 96, 112, 120, 128, 192, 240, 256, 384)
_SPACING = 1024  # of twins; more than any line
_PLACES = 128  # of which the first cache's sets hold less than half
_STRIDES = [1 << k for k in range(9, 18)]  # 512 B to 128 KiB
_MOST_COUNT = 40  # lines in a conflict walk; more than any first cache has ways
_SMALLEST, _LARGEST = 32, 8192  # lines: regions of 2 KiB to 512 KiB
_CONTRAST = 0.15  # a second load beyond the line is slower by so much
_EDGE = 0.2  # a conflict shows as so much more than a hit
_KEPT = 0.85  # share of the walks up to the last fast one that are fast as well
AGREEING, _KEPT_STRIDES = 3, 0.6  # strides that have to agree: so many, and this share
_FINE = 28  # points around the edge
_FEW = 3  # repetitions of a conflict walk
_POLICIES = ("lru", "plru", "qlru", "random")
_SHARE_FAST = 10  # of all conflict walks the tenth that is fastest
_SILENT, _ANY = 0.001, 0.01  # they differ by less: then any walk that is slower by more conflicts
_PARTLY = 0.35  # of a miss: what a neighbour on the core adds to walks that fit


@dataclass(frozen=True)
class FirstCache:
    """What is known of the first cache; None where it is not."""

    line: int | None = None
    ways: int | None = None
    capacity: int | None = None  # bytes
    hit_ns: float | None = None
    next_ns: float | None = None  # a load that the next level serves


# ---- Experiments -------------------------------------------------------------------------


def coarse(pages: str, quick: bool) -> list[Experiment]:
    """Everything that can be asked without knowing anything."""
    steps = 3 if quick else 4
    made = [
        Experiment(PROBER, "twins", {"places": _PLACES, "spacing": _SPACING, "distance": distance})
        for distance in _DISTANCES
    ]
    made += [
        Experiment(PROBER, "dense", {"lines": lines}, pages=pages)
        for lines in geometric(_SMALLEST, _LARGEST, steps, 8)
    ]
    counts = [*range(2, 21), *range(22, _MOST_COUNT + 1, 2)]
    # So many walks that have to agree need few repetitions each.
    made += [
        Experiment(
            PROBER,
            "strided",
            {"count": count, "stride": stride},
            pages=pages,
            chunk_ns=20_000,
            enough=_FEW,
        )
        for stride in _STRIDES
        for count in counts
    ]
    return made


def fine(observations: Sequence[Observation], pages: str, quick: bool) -> list[Experiment]:
    """More regions around the edge of the first cache."""
    curve = _curve(observations, pages)
    edge = plateau(curve.least) if len(curve) else None
    if edge is None:
        return []
    low, high = int(curve.x[edge.last]), int(curve.x[edge.last + 1])
    known = set(curve.x.tolist())
    count = _FINE // 2 if quick else _FINE
    wanted = evenly(low * 7 // 8, high * 9 // 8, count, 8)
    return [_walk(lines, pages) for lines in wanted if lines not in known]


def again(observations: Sequence[Observation], pages: str) -> list[Experiment]:
    """The regions up to the size that conflicts give, once more, where the curve makes it smaller:
    another thread on the core may have gone."""
    seen = conflicts(observations, pages)
    curve = _curve(observations, pages)
    edge = plateau(curve.least) if len(curve) else None
    if seen.ways is None or seen.period is None or edge is None:
        return []
    size = seen.ways * seen.period // LINE
    if curve.x[edge.last + 1] > size:
        return []
    slow = curve.within(float(curve.x[edge.last + 1]), size * 9 / 8)
    return [_walk(int(lines), pages) for lines in slow.x]


def _walk(lines: int, pages: str) -> Experiment:
    return Experiment(PROBER, "dense", {"lines": lines}, pages=pages)


def _curve(observations: Sequence[Observation], pages: str) -> Curve:
    return over(chains(observations, PROBER, "dense", pages), "lines")


# ---- Findings ----------------------------------------------------------------------------


def findings(observations: Sequence[Observation], pages: str) -> tuple[FirstCache, list[Finding]]:
    """Findings of `cache.1.*`."""
    line, found = _line(observations)
    seen = conflicts(observations, pages)
    ways, period = seen.ways, seen.period
    curve = _curve(observations, pages)
    if len(curve) < 8:
        return FirstCache(line, ways), found
    edge = plateau(curve.least)
    if edge is None or by_chance(around(curve, edge)) > CHANCE:
        return FirstCache(line, ways), found + _nothing(curve)
    hit = _hit(curve, edge)
    found.append(hit)
    base = float(hit.value) if isinstance(hit.value, float) else edge.level
    sizes, fitted, step = _capacity(curve, edge, line or LINE, ways)
    evidence = [curve.ids[edge.last], curve.ids[edge.last + 1], *seen.evidence]
    by_sets = ways * period if ways is not None and period is not None else None
    agreed = None if by_sets is None else _agreement(by_sets, sizes, curve, edge)
    found += _size_findings(sizes, fitted, by_sets, agreed, evidence)
    found += _way_findings(ways, period, line, agreed, seen.evidence)
    capacity = by_sets if by_sets is not None and agreed is not None else fitted
    return FirstCache(line, ways, capacity, base, base + step), found


def _agreement(by_sets: int, interval: tuple[int, int], curve: Curve, edge: Plateau) -> str | None:
    """In what way the curve over regions agrees with the size that conflicts give; None: not.

    A neighbour on the core makes a cache look smaller and never larger. What it takes away
    slows walks that fit by a part of a miss; walks of one way too many miss throughout.
    """
    between = curve.x[edge.last] <= by_sets / LINE < curve.x[edge.last + 1]
    if interval[0] <= by_sets <= interval[1] or between:
        return "what the structural model makes of the curve over regions"
    lines = by_sets / LINE
    beyond = curve.within(lines * 1.25, lines * 2.5)
    slow = curve.within(float(curve.x[edge.last + 1]), lines)
    if by_sets < interval[0] or not len(beyond) or not len(slow):
        return None
    miss = float(np.median(beyond.least)) - edge.level
    most = (float(np.max(slow.least)) - edge.level) / miss
    if most > _PARTLY:
        return None
    return (
        f"the curve over regions, which from {slow.x[0] * LINE:.0f} B on is slower by up to "
        f"{most:.0%} of a miss: another thread on the core took a part of the cache"
    )


def _nothing(curve: Curve) -> list[Finding]:
    reason = (
        f"loads of regions of {curve.x[0] * LINE:.0f} to {curve.x[-1] * LINE:.0f} B take equally "
        "long, or no more unequally than noise does"
    )
    names = ("capacity", "ways", "sets", "latency")
    return [not_identifiable(f"cache.1.{name}", reason, curve.ids) for name in names]


def _line(observations: Sequence[Observation]) -> tuple[int | None, list[Finding]]:
    curve = over(chains(observations, PROBER, "twins"), "distance")
    name = "cache.1.entry"
    if len(curve) < 4:
        return None, []
    # Where pages meet in sets of the next cache both loads are slow; some repetitions have none.
    values = curve.least
    near, far = float(values[0]), float(np.median(values[-3:]))
    if far < near * (1 + _CONTRAST):
        reason = (
            f"a second load {curve.x[0]:.0f} B beyond the first is not served faster than one "
            f"{curve.x[-1]:.0f} B beyond: {near:.2f} and {far:.2f} ns a load"
        )
        return None, [not_identifiable(name, reason, curve.ids)]
    beyond = values > (near + far) / 2
    first = int(np.argmax(beyond))
    if not beyond[first:].all():
        reason = "whether the second load is served does not depend on its distance alone"
        return None, [not_identifiable(name, reason, curve.ids)]
    inside, outside = int(curve.x[first - 1]), int(curve.x[first])
    line = 1 << (outside.bit_length() - 1)  # lines are powers of two
    if line <= inside:
        reason = f"longer than {inside} B and at most {outside} B, which no power of two is"
        return None, [not_identifiable(name, reason, curve.ids, (inside, outside))]
    if line // 2 > inside:
        reason = (
            f"longer than {inside} B and at most {outside} B, which are several powers of two: no "
            "distance between them was measured"
        )
        return None, [not_identifiable(name, reason, curve.ids, (inside + 1, outside))]
    reason = (
        f"a load {inside} B beyond another is served with it ({values[first - 1]:.2f} ns a load), "
        f"one {outside} B beyond is not ({values[first]:.2f} ns)"
    )
    return line, [identified(name, line, reason, [curve.ids[first - 1], curve.ids[first]])]


def _hit(curve: Curve, edge: Plateau) -> Finding:
    samples = np.concatenate(curve.samples[edge.first : edge.last + 1])
    value, low, high = median_interval(samples)
    reason = f"median of walks over up to {curve.x[edge.last] * LINE:.0f} B"
    return identified(
        "cache.1.latency",
        round(value, 3),
        reason,
        curve.ids[edge.first : edge.last + 1],
        (round(low, 3), round(high, 3)),
    )


def _capacity(
    curve: Curve, edge: Plateau, line: int, ways: int | None
) -> tuple[tuple[int, int], int, float]:
    """Interval and best fit of the size in bytes, and what a miss adds in ns."""
    last, first = curve.x[edge.last], curve.x[edge.last + 1]
    near = curve.within(last / 2, first * 1.5)
    sizes = [
        Organisation(sets * number, number, policy)
        for number in ([ways] if ways is not None else range(1, _MOST_COUNT))
        for sets in (1 << k for k in range(2, 13))
        for policy in _POLICIES
        if last * 0.85 <= sets * number <= first * 1.05
    ]
    # An odd number of sets is no cache anyone built, but a region of any size is a hypothesis
    # that a noisy curve must be able to prefer.
    sizes += [
        Organisation(lines, ways or 8, policy)
        for lines in range(int(last * 0.85) // 8 * 8, int(first * 1.05), 8)
        for policy in _POLICIES
    ]
    fitter = Fitter(near.x * LINE / line, sizes)
    fit = fitter.fit(near.least)
    outcomes = [sizes[fitter.fit(values).best].lines for values in resamples(near, least=True)]
    best = sizes[fit.best].lines
    interval = (min(best, *outcomes) * line, max(best, *outcomes) * line)
    return interval, best * line, float(fit.steps[fit.best])


def _size_findings(
    interval: tuple[int, int],
    fitted: int,
    by_sets: int | None,
    agreed: str | None,
    evidence: Sequence[str],
) -> list[Finding]:
    name = "cache.1.capacity"
    if by_sets is None:
        reason = (
            f"the curve over regions makes it {fitted} B, but conflicts between lines, which "
            "should give the same, show no ways: another thread uses this cache, or its index is "
            "no part of the address"
        )
        return [not_identifiable(name, reason, evidence, interval)]
    if agreed is not None:
        reason = f"ways times the distance between lines of one set, and {agreed}"
        return [identified(name, by_sets, reason, evidence)]
    low, high = min(by_sets, interval[0]), max(by_sets, interval[1])
    reason = f"conflicts between lines make it {by_sets} B and the curve over regions {fitted} B"
    return [not_identifiable(name, reason, evidence, (low, high))]


def _way_findings(
    ways: int | None,
    period: int | None,
    line: int | None,
    agreed: str | None,
    evidence: Sequence[str],
) -> list[Finding]:
    names = ("cache.1.ways", "cache.1.sets")
    if ways is None or period is None:
        reason = (
            "the largest number of lines that do not conflict does not settle as the stride doubles"
        )
        return [not_identifiable(name, reason, evidence) for name in names]
    if agreed is None:
        reason = f"{ways} lines {period} B apart do not conflict, which the size contradicts"
        return [not_identifiable(name, reason, evidence) for name in names]
    reason = (
        f"{ways} lines any multiple of {period} B apart are served, {ways + 1} are not; at half "
        "the distance twice as many are"
    )
    found = [identified(names[0], ways, reason, evidence)]
    if line is None:
        return [*found, not_identifiable(names[1], "needs the length of a line", evidence)]
    about = f"lines of one set are {period} B apart"
    return [*found, identified(names[1], period // line, about, evidence)]


@dataclass(frozen=True)
class Conflicts:
    """What the walks over lines a stride apart say; None where they do not."""

    ways: int | None = None
    period: int | None = None  # bytes between neighbouring lines of one set
    evidence: tuple[str, ...] = ()


def conflicts(observations: Sequence[Observation], pages: str) -> Conflicts:
    """Ways, the distance between lines of one set, and the walks that show it."""
    edges: dict[int, tuple[int, list[str]]] = {}
    seen = chains(observations, PROBER, "strided", pages)
    limit = exact_limit(seen)
    for stride in _STRIDES:  # at larger ones only the second cache was asked
        curve = over(
            [one for one in seen if one.pattern["order"]["params"]["stride"] == stride], "count"
        )
        last = last_below(curve, limit)
        if last is not None:
            edges[stride] = (int(curve.x[last]), [curve.ids[last], curve.ids[last + 1]])
    period = settled(edges)
    if period is None:
        return Conflicts()
    ways, evidence = edges[period]
    half = edges.get(period // 2)
    if half is None:
        return Conflicts(ways, period, tuple(evidence))
    # At half the distance the same lines fall into two sets; counts are even there.
    if not 2 * ways <= half[0] < 2 * ways + 2:
        return Conflicts(evidence=tuple(evidence))
    return Conflicts(ways, period, (*evidence, *half[1]))


def exact_limit(seen: Sequence[Observation]) -> float | None:
    """What a walk without conflicts takes at most, where nothing is noisy: a full set that replaces
    at random makes few loads slow. None where times differ: noise decides there."""
    values = np.sort([min(one.samples or ()) for one in seen])
    fast = values[: len(values) // _SHARE_FAST]
    if len(fast) < AGREEING or fast[-1] > fast[0] * (1 + _SILENT):
        return None
    return float(fast[0]) * (1 + _ANY)


def settled(edges: dict[int, tuple[int, list[str]]]) -> int | None:
    """The first stride from which on the largest fast number stays the same, but for strides at
    which a disturbance made the last of the lines slow."""
    strides = sorted(edges)
    votes = Counter(number for number, _ in edges.values())
    ways = max(votes, key=lambda number: (votes[number], number), default=0)
    if votes[ways] < AGREEING:
        return None
    first = next(stride for stride in strides if edges[stride][0] == ways)
    later = [edges[stride][0] for stride in strides if stride >= first]
    agreeing = sum(number == ways for number in later)
    # At large strides another structure of fewer ways may be in the way, of all alike.
    together = all(number == ways for number in later[:AGREEING])
    if max(later) != ways or not (together or agreeing >= _KEPT_STRIDES * len(later)):
        return None
    return first


def last_below(curve: Curve, limit: float | None = None) -> int | None:
    """The index of the last walk all of whose lines are kept; None when all are, or none.

    Disturbance makes a walk slow and never fast, and so does a processor that guesses the way
    from a hash of the address and guesses wrong. So the fastest repetition is believed, and a
    few slow walks before a fast one are not.
    """
    values = curve.least
    if len(values) < 4:
        return None
    if limit is None:
        limit = float(np.min(values)) * (1 + _EDGE)
    fast = np.flatnonzero(values <= limit)
    if len(fast) == 0 or fast[-1] == len(values) - 1:
        return None
    last = int(fast[-1])
    return last if len(fast) >= _KEPT * (last + 1) else None
