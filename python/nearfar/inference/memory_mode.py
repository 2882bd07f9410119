"""A near memory in front of a far one, by conflicts: the tests a Memory Mode machine needs.

On a model, whose addresses are physical, `nearfar.inference.near` looks for a near memory of any
size. On a real machine walks see virtual addresses and reach 64 MiB, while a Memory Mode near
memory has gigabytes and lies behind the last cache: conflicts among these addresses are those of
the processor's caches, the first before all others. So nothing of a near memory is claimed here;
what conflicts first is named in the reason, and tells what evicting a changed line costs
(`cache.1.write_back`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nearfar.inference import near, write_back
from nearfar.inference.caches.first import last_below, settled
from nearfar.inference.caches.plan import Experiment, chains, over
from nearfar.inference.noise import Curve
from nearfar.inference.study import Findings, replay
from nearfar.results.findings import Finding, Observation, not_identifiable
from nearfar.results.wording import size

PROBER = near.PROBER

_STRIDES = [1 << k for k in range(7, 23)]  # 128 B to 4 MiB
_COUNTS = (*range(2, 21), *range(22, 41, 2), 48, 56, 63, 64, 65, 72, 80, 96)
_REACH = 64 << 20  # bytes that one walk may span
_CHUNK_NS = 20_000.0
_KNOWN_HITS = 8  # neighbouring places, which share no set unless all do
_SLOW = 1.5  # times a hit: a conflict, also if only some of the places are evicted by random choice
_FAR = 2.0  # times a hit: what is behind a first cache takes at least so much longer


# ---- Experiments -------------------------------------------------------------------------


def coarse(observations: Sequence[Observation], quick: bool) -> list[Experiment]:
    """Every number of places at every distance."""
    del observations
    strides = _STRIDES[::2] if quick else _STRIDES
    return [made for stride in strides for made in _at(stride)]


def _at(stride: int) -> list[Experiment]:
    return [_experiment(count, stride) for count in _COUNTS if count * stride <= _REACH]


def halved(observations: Sequence[Observation], quick: bool) -> list[Experiment]:
    """The distance that a quick look left out below the smallest that conflicts."""
    group = _group(observations)
    if group is None or not quick or group.stride // 2 not in _STRIDES:
        return []
    return _at(group.stride // 2)


def changed(observations: Sequence[Observation], quick: bool) -> list[Experiment]:
    """With a set known: its places read, and read and changed."""
    del quick
    group = _group(observations)
    return [] if group is None else write_back.experiments(PROBER, group.ways, group.stride)


STAGES = (coarse, halved)
# Where lines can be changed as they are read.
CHANGING = (changed,)


def _experiment(count: int, stride: int) -> Experiment:
    params = {"count": count, "stride": stride, "moved": 0, "shift": 0, "beside": 0}
    return Experiment(PROBER, "conflict", params, chunk_ns=_CHUNK_NS)


# ---- Findings ----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Group:
    """Places that share a set: how many fit, how far apart, in ns, and by which walks."""

    ways: int
    stride: int  # the smallest distance at which they do
    hit_ns: float
    miss_ns: float
    evidence: tuple[str, ...]


def findings(observations: Sequence[Observation]) -> list[Finding]:
    """Findings of `near.*`; of a machine's walks, what its first cache takes for a changed line."""
    # A real machine is walked in chains alone: of what was never asked there is nothing to say.
    if any(one.prober == PROBER and one.pattern["kind"] == "sequence" for one in observations):
        found = Findings()
        replay(near.study(found), observations)
        return found.all()
    seen = chains(observations, PROBER, "conflict")
    if not seen:
        return []
    group = _group(observations)
    if group is None:
        reason = (
            f"{near.UNSEEN}: up to {_COUNTS[-1]} places any distance apart are all served alike, "
            "or how many are depends on the distance throughout"
        )
        ids = [one.id for one in seen]
        return [not_identifiable(name, reason, ids) for name in near.NAMES]
    reason = (
        f"{near.UNSEEN}: {group.ways} places any multiple of {size(group.stride)} apart are "
        f"served, one more is not, which is the first cache ({size(group.ways * group.stride)}); "
        "the sets of a near memory go by physical addresses, which these walks do not know"
    )
    return [
        *(not_identifiable(name, reason, group.evidence) for name in near.NAMES),
        write_back.finding(observations, PROBER, group.ways, group.stride),
    ]


def _plain(observations: Sequence[Observation], stride: int = 0) -> list[Observation]:
    """Walks without shift or neighbour."""
    return [
        one
        for one in chains(observations, PROBER, "conflict")
        if _params(one)["shift"] == 0
        and _params(one)["beside"] == 0
        and stride in (0, _params(one)["stride"])
    ]


def _params(one: Observation) -> dict[str, int]:
    params: dict[str, int] = one.pattern["order"]["params"]
    return params


def _group(observations: Sequence[Observation]) -> _Group | None:
    """The smallest distance of places that share a set, if there is one."""
    walks = _plain(observations)
    strides = sorted({_params(one)["stride"] for one in walks})
    near = over(_plain(observations, strides[0]), "count")
    hit = float(np.median(near.within(0, _KNOWN_HITS).values))
    edges: dict[int, tuple[int, list[str]]] = {}
    slow: dict[int, float] = {}
    for stride in strides:
        curve = over(_plain(observations, stride), "count")
        edge = _edge(curve, hit * _SLOW)
        if edge is not None:
            ways, ids = edge
            edges[stride] = (ways, ids)
            slow[stride] = float(np.median(curve.values[curve.x > ways]))
    apart = settled(edges)
    if apart is None or slow[apart] < _FAR * hit:
        return None
    ways, evidence = edges[apart]
    half = edges.get(apart // 2)
    # At half the distance the same places fall into two sets; some counts are left out.
    if half is not None and not 2 * ways <= half[0] < 2 * ways + 2:
        return None
    return _Group(ways, apart, hit, slow[apart], tuple(evidence))


def _edge(curve: Curve, limit: float) -> tuple[int, list[str]] | None:
    """The largest number of places that are all served, and the walks that show it."""
    if len(curve) and np.all(curve.least > limit):
        return 1, list(curve.ids[:2])
    last = last_below(curve, limit)
    return None if last is None else (int(curve.x[last]), list(curve.ids[last : last + 2]))
