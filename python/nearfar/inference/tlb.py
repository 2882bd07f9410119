"""Translation: how many pages the TLBs reach, what a miss costs, what a 2 MiB page is worth.

One line is loaded in each of n pages, always at another place of its page, so that the lines
share no cache sets; beside it n lines are walked that lie next to one another. What the first
costs beyond the second is translation. The same walk through pages asked for as 2 MiB tells
whether one entry really covers so much: a hypervisor that maps its guest by 4 KiB splits them,
whatever the guest believes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nearfar.inference.caches.orders import PAGE
from nearfar.inference.caches.plan import HUGE, SMALL, Experiment, chains, evenly, geometric, over
from nearfar.inference.noise import (
    CHANCE,
    Curve,
    Floats,
    Plateau,
    around,
    by_chance,
    interval,
    plateau,
    resamples,
)
from nearfar.results.findings import Finding, Observation, identified, not_identifiable

PROBER = "tlb"

_FEWEST, _QUICK_MOST, _FULL_MOST = 8, 8192, 16384  # pages
_EXACT_SPAN = 96  # edges no farther apart are looked at page by page
_RISE = 0.15  # ns grow by so much of a level's cost where its entries end
_TOLERATED = 1.15  # largest over smallest bound that still names a number
_STEADY = 1.10  # largest over smallest number that repetitions may show
_BARELY = 0.4  # of a miss's cost: more than noise, less than all pages missing
_SHARE = 0.5  # of a miss's cost: a repetition above it does not fit, one below does
_SILENT = 0.001  # spread of times that have no noise: then any rise beyond _ANY is a miss
_ANY = 0.01
_EXACT = 0.002  # and of two such costs one
_MOSTLY = 0.8  # share of the walks up to the last one that fits that do so
_CLOSER = 24  # walks across the second level's edge at a time
_SECOND = "tlb.2.entries"
_OVER = (1.5, 4.0)  # times what the second level holds: hardly anything is found there


@dataclass(frozen=True)
class Translation:
    """What the page-size control says to others."""

    entries: int | None = None  # of the first level
    whole: bool | None = None  # whether a 2 MiB page is one entry; None: not known
    reason: str = ""
    evidence: tuple[str, ...] = ()


# ---- Experiments -------------------------------------------------------------------------


def coarse(observations: Sequence[Observation], quick: bool) -> list[Experiment]:
    """One line a page, on both page sizes, and as many lines side by side."""
    del observations
    counts = geometric(_FEWEST, _QUICK_MOST if quick else _FULL_MOST, 3 if quick else 4)
    made = []
    for count in counts:
        made += [
            Experiment(PROBER, "pages", {"count": count}),
            Experiment(PROBER, "pages", {"count": count}, pages=HUGE),
            Experiment(PROBER, "dense", {"lines": count}),
        ]
    return made


def fine(observations: Sequence[Observation], quick: bool) -> list[Experiment]:
    """Page by page where the first level ends."""
    curve = _pages(observations, SMALL)
    edge = plateau(curve.values, least_rise=_RISE) if len(curve) else None
    if edge is None:
        return []
    last = edge.last
    if _silent(curve, edge):
        last = int(np.flatnonzero(curve.values <= edge.level * (1 + _ANY))[-1])
    low, high = int(curve.x[last]), int(curve.x[last + 1])
    known = set(curve.x.tolist())
    wanted = evenly(low, high, _EXACT_SPAN if not quick else _EXACT_SPAN // 2)
    return [
        Experiment(PROBER, "pages", {"count": count}, pages=pages)
        for count in wanted
        if count not in known
        for pages in (SMALL, HUGE)
    ]


def closer(observations: Sequence[Observation], quick: bool) -> list[Experiment]:
    """Page by page where the first level ends, and closer to where the second does."""
    return fine(observations, quick) + _second_level(observations)


def _second_level(observations: Sequence[Observation]) -> list[Experiment]:
    """Walks between the last that always fits the second level and the first that never does, if
    nothing between them was measured: then all repetitions agree, and more walks tell more."""
    found = [one for one in findings(observations) if one.name == _SECOND and one.interval]
    if not found or found[0].interval is None:
        return []
    low, high = (int(one) for one in found[0].interval)
    curve = _pages(observations, SMALL)
    if high <= low or len(curve.within(low + 1, high)):
        return []
    return [
        Experiment(PROBER, "pages", {"count": count}, pages=pages)
        for count in evenly(low, high + 1, _CLOSER)
        if low < count <= high
        for pages in (SMALL, HUGE)
    ]


# Twice: where the first level is large, the first closer look leaves gaps.
STAGES = (coarse, closer, closer)


def _pages(observations: Sequence[Observation], pages: str) -> Curve:
    return over(chains(observations, PROBER, "pages", pages), "count")


# ---- Findings ----------------------------------------------------------------------------


def findings(observations: Sequence[Observation]) -> list[Finding]:
    """Findings of `tlb.*`."""
    return _infer(observations)[1]


def translation(observations: Sequence[Observation]) -> Translation:
    """What other inferences need to know."""
    return _infer(observations)[0]


def pages(observations: Sequence[Observation]) -> str:
    """The pages to walk through so that translation costs nothing, if there are such."""
    return HUGE if translation(observations).whole else SMALL


def _infer(observations: Sequence[Observation]) -> tuple[Translation, list[Finding]]:
    curve = _pages(observations, SMALL)
    if len(curve) < 8:
        return Translation(), []
    control = over(chains(observations, PROBER, "dense"), "lines")
    edge = plateau(curve.values, least_rise=_RISE)
    if edge is None or by_chance(around(curve, edge)) > CHANCE:
        reason = (
            f"one line in each of {curve.x[0]:.0f} to {curve.x[-1]:.0f} pages takes equally long, "
            "or no more unequally than noise does"
        )
        return Translation(), [not_identifiable("tlb.1.entries", reason, curve.ids)]
    last, first = int(curve.x[edge.last]), int(curve.x[edge.last + 1])
    evidence = [curve.ids[edge.last], curve.ids[edge.last + 1]]
    beside = _at(control, float(first))
    if beside is not None and beside > edge.limit:
        reason = f"{first} lines side by side are slow as well: a cache ends here, not the TLB"
        return Translation(), [not_identifiable("tlb.1.entries", reason, evidence)]
    cost, _ = _cost(curve, control, last, edge.level)
    # Neighbours of a busy machine add less than a miss, and luck (pages that lie side by side may
    # share an entry) is rare: the medians, and a limit between the two.
    limit = edge.limit if cost is None else edge.level + _BARELY * cost
    # What misses throughout costs all of it; less may be a neighbour's doing.
    most = limit if cost is None else edge.level + (1 - _BARELY) * cost
    silent = _silent(curve, edge)
    if silent:
        limit = most = edge.level * (1 + _ANY)
    last = _fitting(curve, curve.values, limit) or last
    found = [_first_entries(curve, last, limit, most)]
    known = _page(observations, control, last, cost)
    if known.whole:  # the very same lines without translation: nothing is a better control
        control = _pages(observations, HUGE)
    cost, costs = _cost(curve, control, last, edge.level)
    found += costs
    if cost is not None:
        found += _second_level_findings(curve, control, last, silent)
    return known, found + _page_findings(known)


def _silent(curve: Curve, edge: Plateau) -> bool:
    """Whether the first half of a plateau, up to the next octave, shows no noise at all."""
    half = curve.within(0, float(curve.x[edge.last]) / 2).samples
    every = np.concatenate(half) if half else np.array([0.0, 1.0])
    return bool(np.ptp(every) <= _SILENT * np.median(every))


def _at(control: Curve, x: float) -> float | None:
    """What as many lines side by side cost."""
    if len(control) < 2:
        return None
    return float(np.interp(x, control.x, control.least))


def _fitting(curve: Curve, values: Floats, limit: float) -> int | None:
    """The most pages at no cost."""
    fast = np.flatnonzero(values <= limit)
    return int(curve.x[fast[-1]]) if len(fast) else None


def _first_entries(curve: Curve, last: int, limit: float, most: float) -> Finding:
    """Entries of the first level: walks up to `limit` ns fit, up to `most` they may."""
    name = "tlb.1.entries"
    at = int(np.searchsorted(curve.x, last))
    evidence = curve.ids[at : at + 2]
    first = int(curve.x[at + 1])
    outcomes = [float(_fitting(curve, values, limit) or last) for values in resamples(curve)]
    low, high = interval(outcomes)
    reason = (
        f"{last} pages are translated at no cost, {first} are not; {first} lines alone are fast"
    )
    if first - last > 1:
        bounds = (min(low, last), max(high, first - 1))
        return not_identifiable(
            name, f"{reason}; between them nothing was measured", evidence, bounds
        )
    fastest = _fitting(curve, curve.least, most) or last
    low, high = min(low, last, fastest), max(high, last, fastest)
    if high > low * _STEADY:
        reason = f"{reason}; other repetitions show {low:.0f} to {high:.0f}"
        return not_identifiable(name, reason, evidence, (low, high))
    return identified(name, last, reason, evidence, (low, high))


def _cost(
    curve: Curve, control: Curve, last: int, level: float
) -> tuple[float | None, list[Finding]]:
    """What a miss of the first level costs, found in the second."""
    name = "tlb.1.miss"
    after = curve.within(last * 1.3, last * 4)
    if len(after) < 2 or len(control) < 2:
        return None, []
    extra = _extra(after, control, after.least)
    cost = float(np.min(extra))
    outcomes = [
        float(np.min(_extra(after, control, values))) for values in resamples(after, least=True)
    ]
    low, high = interval(outcomes)
    if cost <= 0.1 * level:
        return None, [not_identifiable(name, "no plateau behind the first level", after.ids)]
    pages = f"{after.x[0]:.0f} to {after.x[-1]:.0f} pages"
    reason = f"one line in each of {pages}, over as many lines side by side"
    low, high = round(min(low, cost), 3), round(max(high, cost), 3)
    return cost, [identified(name, round(cost, 3), reason, after.ids, (low, high))]


def _extra(curve: Curve, control: Curve, values: Floats) -> Floats:
    return values - np.interp(curve.x, control.x, control.least)


def _second_level_findings(curve: Curve, control: Curve, last: int, silent: bool) -> list[Finding]:
    """Bounds: the largest number of pages that ever fits, and the smallest that never does.

    The tables that a miss walks lie in the caches, and where they lie differs from allocation
    to allocation, so repetitions disagree over a wide range and a single edge would be luck.
    Where nothing is noisy, that the tables are in the way of a few walks that fit can be seen.
    """
    name = _SECOND
    beyond = curve.within(last * 1.3, float(curve.x[-1]))
    if len(beyond) < 3:
        return [not_identifiable(name, "too few walks go beyond the first level", beyond.ids)]
    base = np.interp(beyond.x, control.x, control.least)
    extra = [one - b for one, b in zip(beyond.samples, base, strict=True)]
    cost = min(float(np.min(one)) for one in extra)
    limit = cost * (1 + (_EXACT if silent else _SHARE))
    always = np.array([bool(np.all(one <= limit)) for one in extra])
    ever = np.array([bool(np.any(one <= limit)) for one in extra])
    if ever.all():
        reason = f"{beyond.x[-1]:.0f} pages are translated for {cost:.2f} ns each as well"
        return [not_identifiable(name, reason, beyond.ids)]
    least = _MOSTLY if silent else 1.0
    kept = [i for i, yes in enumerate(always) if yes and always[: i + 1].mean() >= least]
    fits = max(kept, default=0)
    never = max((i + 1 for i, yes in enumerate(ever) if yes), default=0)
    if never >= len(beyond):
        reason = "the largest walks are served in some repetitions and not in others"
        return [not_identifiable(name, reason, beyond.ids)]
    low, high = float(beyond.x[fits]), float(beyond.x[never]) - 1
    evidence = beyond.ids[fits : never + 1]
    walk = _walk(beyond, extra, high)
    if high <= low * _TOLERATED:
        value = round((low * high) ** 0.5)
        reason = f"{low:.0f} pages always fit, {high + 1:.0f} never do"
        return [identified(name, value, reason, evidence, (low, high)), *walk]
    reason = (
        f"{low:.0f} pages fit in every repetition and {high + 1:.0f} in none; between them it "
        "depends on where pages and their tables lie"
    )
    return [not_identifiable(name, reason, evidence, (low, high)), *walk]


def _walk(beyond: Curve, extra: Sequence[Floats], second: float) -> list[Finding]:
    """What translation costs that no level has. The tables lie in the caches, among the data: the
    more pages, the farther out, so that there is no one number."""
    far = [i for i, x in enumerate(beyond.x) if _OVER[0] * second <= x <= _OVER[1] * second]
    if not far:
        return []
    costs = [float(np.median(extra[i])) for i in far]
    reason = (
        f"one line in each of {beyond.x[far[0]]:.0f} to {beyond.x[far[-1]]:.0f} pages, over the "
        "same lines or as many without translation"
    )
    bounds = (round(min(costs), 3), round(max(costs), 3))
    value = round(float(np.median(costs)), 3)
    return [identified("tlb.walk", value, reason, [beyond.ids[i] for i in far], bounds)]


def _page(
    observations: Sequence[Observation], control: Curve, entries: int, cost: float | None
) -> Translation:
    """Whether pages asked for as 2 MiB are translated as such."""
    huge = _pages(observations, HUGE)
    if len(huge) < 8:
        refused = [
            one for one in observations if one.pattern.get("refused") and one.prober == PROBER
        ]
        about = refused[0].pattern["refused"] if refused else "no walk on 2 MiB pages was made"
        return Translation(entries, None, about, tuple(one.id for one in refused[:1]))
    if cost is None:
        return Translation(entries, None, "what a miss costs is not known", ())
    beyond = huge.within(entries * 1.3, entries * 4)
    if len(beyond) < 2:
        return Translation(entries, None, "too few walks go far beyond the first level", huge.ids)
    extra = _extra(beyond, control, beyond.least)
    slow = extra > cost * _SHARE
    lines = f"{beyond.x[0]:.0f} to {beyond.x[-1]:.0f} lines 4 KiB apart in 2 MiB pages"
    times = f"{extra.min():.2f} to {extra.max():.2f} ns more than as many lines side by side"
    if not slow.any():
        return Translation(entries, True, f"{lines} cost no translation: {times}", beyond.ids)
    if slow.all():
        reason = (
            f"{lines} cost as much as in 4 KiB pages ({times}): below this kernel they are split"
        )
        return Translation(entries, False, reason, beyond.ids)
    reason = f"{lines} cost translation in part: {times}"
    return Translation(entries, None, reason, beyond.ids)


def _page_findings(known: Translation) -> list[Finding]:
    name = "tlb.page"
    if known.whole is None:
        reason = f"not known whether 2 MiB pages are whole: {known.reason}"
        return [not_identifiable(name, reason, known.evidence)]
    if known.whole:
        return [identified(name, 2 << 20, known.reason, known.evidence)]
    return [identified(name, PAGE, known.reason, known.evidence)]
