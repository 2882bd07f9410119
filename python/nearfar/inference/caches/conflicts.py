"""The ways of the second cache, by conflicts among lines that the first cache cannot keep.

Groups of lines meet in one set of the first cache, far more of them than it has ways, so that
it serves hardly any; in the second, as soon as the stride is a multiple of the distance between
lines of one set, those of a group meet in one set and different groups in different ones.
The second cache's index reaches beyond a 4 KiB page, so the pages have to be 2 MiB ones, and
whole: the page-size control says whether they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nearfar.inference.caches.first import PROBER, exact_limit, last_below
from nearfar.inference.caches.plan import HUGE, Experiment, chains, over
from nearfar.inference.noise import LEAST_RISE
from nearfar.inference.tlb import Translation
from nearfar.results.findings import Finding, Observation, identified, not_identifiable

NAME = "cache.2.ways"

_STRIDES = [1 << k for k in range(12, 21)]  # 4 KiB to 1 MiB
_MOST = 36  # lines of a group
_EACH = 12  # up to so many, every number
_CROWD = 3  # times the ways of the first cache: even random replacement keeps hardly any
_SLOW = 0.15  # above what the second cache takes: a conflict there
_AGREEING = 0.6  # share of the larger strides that have to show as many ways

Edges = dict[int, tuple[int, list[str]]]


@dataclass(frozen=True)
class Second:
    """What conflicts say of the second cache."""

    ways: Finding | None = None  # None: not asked
    capacity: int | None = None  # bytes: ways times the distance between lines of one set


def experiments(first_ways: int, period: int, quick: bool) -> list[Experiment]:
    """Lines of one set of the first cache, and more and more of them of one set of the second.

    Lines of one set of the first are `period` bytes apart.
    """
    counts = [*range(1, _EACH), *range(_EACH, _MOST + 1, 2 if quick else 1)]
    walks = [_walk(first_ways, period, count, stride) for stride in _STRIDES for count in counts]
    return [walk for walk in walks if walk is not None]


def exact(
    observations: Sequence[Observation], first_ways: int, period: int, second_ns: float
) -> list[Experiment]:
    """The numbers of lines that were left out where conflicts begin."""
    known = {(_param(one, "stride"), _param(one, "count")) for one in _seen(observations)}
    walks = [
        _walk(first_ways, period, last + 1, stride)
        for stride, (last, _) in _edges(observations, second_ns).items()
        if (stride, last + 1) not in known
    ]
    return [walk for walk in walks if walk is not None]


def _walk(first_ways: int, period: int, count: int, stride: int) -> Experiment | None:
    """None where groups would meet each other."""
    groups = -(-_CROWD * first_ways // count)
    if groups * period > stride:
        return None
    params = {"count": count, "stride": stride, "groups": groups, "apart": period}
    return Experiment(PROBER, "groups", params, pages=HUGE, chunk_ns=20_000)


def second(observations: Sequence[Observation], second_ns: float, known: Translation) -> Second:
    """The number of ways, or why it cannot be told; and the size, if it can."""
    if known.whole is None:
        reason = f"needs 2 MiB pages: {known.reason or 'the page-size control was not made'}"
        return Second(not_identifiable(NAME, reason, known.evidence))
    if not known.whole:
        reason = f"needs whole 2 MiB pages, and here they are not: {known.reason}"
        return Second(not_identifiable(NAME, reason, known.evidence))
    seen = _seen(observations)
    ids = [one.id for one in seen]
    if min((min(one.samples or ()) for one in seen), default=0) < second_ns * (1 - _SLOW):
        reason = "the first cache serves a part of the walks, so what the second serves is hidden"
        return Second(not_identifiable(NAME, reason, ids))
    edges = _edges(observations, second_ns)
    stride = _settled(edges)
    if stride is None:
        reason = (
            "the largest number of lines that do not conflict does not halve as the stride doubles "
            "and then settle: sets are chosen by a hash of the address, or lines of one set are "
            f"more than {_STRIDES[-2] >> 10} KiB apart"
        )
        return Second(not_identifiable(NAME, reason, ids))
    ways, evidence = edges[stride]
    more = min(
        _param(one, "count")
        for one in seen
        if _param(one, "stride") == stride and _param(one, "count") > ways
    )
    reason = (
        f"{ways} lines any multiple of {stride} B apart in 2 MiB pages are served by this cache, "
        f"{more} are not; at half the distance twice as many are"
    )
    if more > ways + 1:
        about = f"{reason}; between them nothing was measured"
        return Second(not_identifiable(NAME, about, evidence, (ways, more - 1)))
    return Second(
        identified(NAME, ways, reason, [*evidence, *edges[stride // 2][1]]), ways * stride
    )


def _settled(edges: Edges) -> int | None:
    """The distance between lines of one set: at half of it twice as many fit, at larger ones as
    many, but for strides at which another structure was in the way."""
    for stride in sorted(edges):
        ways, (half, _) = edges[stride][0], edges.get(stride // 2, (0, []))
        later = [edges[other][0] for other in edges if other > stride]
        agreeing = sum(number == ways for number in later)
        if (
            2 * ways <= half < 2 * ways + 2
            and edges.get(2 * stride, (0, []))[0] == ways
            and max(later) == ways
            and agreeing >= _AGREEING * len(later)
        ):
            return stride
    return None


def _param(one: Observation, name: str) -> int:
    return int(one.pattern["order"]["params"][name])


def _seen(observations: Sequence[Observation]) -> list[Observation]:
    return chains(observations, PROBER, "groups", HUGE)


def _edges(observations: Sequence[Observation], second_ns: float) -> Edges:
    """For each stride the most lines that the second cache serves, and the walks that show it."""
    edges: Edges = {}
    seen = _seen(observations)
    limit = exact_limit(seen) or second_ns * (1 + max(_SLOW, LEAST_RISE))
    for stride in sorted({_param(one, "stride") for one in seen}):
        curve = over([one for one in seen if _param(one, "stride") == stride], "count")
        last = last_below(curve, limit)
        if last is not None:
            edges[stride] = (int(curve.x[last]), [curve.ids[last], curve.ids[last + 1]])
    return edges
