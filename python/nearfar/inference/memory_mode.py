"""A near memory in front of a far one, by conflicts: the tests a Memory Mode machine needs.

Nothing is assumed of it (direct-mapped, 64 B lines): places a distance apart are read in turn, and
when one more than a set holds is among them, none is served by the near memory any more.

* *Ways* and *capacity*: the largest number that is still served, once it no longer depends on
  the distance; and that number times the distance.
* *Line*: of a few places too many as many are moved by d bytes. They leave the others' set, and
  the conflict ends, just when d is a line.
* *Fill*: each place's neighbour is read after it. If a miss brings the neighbour too, that read is
  served though its own set is as crowded.

On a model, whose addresses are physical, `nearfar.inference.near` looks first for a near memory of
any size. Here distances are those of the addresses that the walker sees: on a real machine a Memory
Mode near memory of gigabytes needs physical ones. What these tests find there is the nearest
cache, and on a simulated DIMM its first buffer; both are known, and show that the tests work.
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
from nearfar.results.findings import Finding, Observation, identified, not_identifiable

PROBER = near.PROBER

_STRIDES = [1 << k for k in range(7, 23)]  # 128 B to 4 MiB
_COUNTS = (*range(2, 21), *range(22, 41, 2), 48, 56, 63, 64, 65, 72, 80, 96)
_SHIFTS = [1 << k for k in range(5, 14)]  # 32 B to 8 KiB
_REACH = 64 << 20  # bytes that one walk may span
_CHUNK_NS = 20_000.0
_KNOWN_HITS = 8  # neighbouring places, which share no set unless all do
_SLOW = 1.5  # times a hit: a conflict, also if only some of the places are evicted by random choice
_FAR = 2.0  # times a hit: a near memory is worth having only if what is behind it is far slower
_ROW = 2048  # bytes: a DRAM bank has one row of so much or more open, and its rows conflict too


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


def fine(observations: Sequence[Observation], quick: bool) -> list[Experiment]:
    """With a set known: its lines' length, and what comes with a miss."""
    del quick
    group = _group(observations)
    if group is None:
        return []
    beyond = max(1, group.ways // 2)
    made = [
        _experiment(group.ways + beyond, group.stride, moved=beyond, shift=shift)
        for shift in _SHIFTS
    ]
    # Twice the ways: more than a shared line could hide.
    made += [
        _experiment(2 * group.ways + 2, group.stride, beside=shift)
        for shift in _SHIFTS
        if shift < group.stride
    ]
    return made


def changed(observations: Sequence[Observation], quick: bool) -> list[Experiment]:
    """With a set known: whether what is evicted was changed."""
    del quick
    group = _group(observations)
    return [] if group is None else write_back.experiments(PROBER, group.ways, group.stride)


STAGES = (coarse, halved, fine)
# Where lines can be changed as they are read.
CHANGING = (changed,)


def _experiment(
    count: int, stride: int, moved: int = 0, shift: int = 0, beside: int = 0
) -> Experiment:
    params = {"count": count, "stride": stride, "moved": moved, "shift": shift, "beside": beside}
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
    """Findings of `near.*`: those of a near memory as such, else of what is nearest."""
    found = Findings()
    # A real machine is walked in chains alone: of what was never asked there is nothing to say.
    if any(one.prober == PROBER and one.pattern["kind"] == "sequence" for one in observations):
        replay(near.study(found), observations)
    if found.all():
        return found.all()
    seen = chains(observations, PROBER, "conflict")
    if not seen:
        return []
    group = _group(observations)
    if group is None:
        reason = (
            f"up to {_COUNTS[-1]} places any distance apart are all served alike, or how many are "
            "depends on the distance throughout"
        )
        names = ("capacity", "line", "ways", "prefetch", "write_back")
        ids = [one.id for one in seen]
        return [not_identifiable(f"near.{name}", reason, ids) for name in names]
    line, about_line = _line(observations, group)
    if (line or group.stride) >= _ROW:
        reason = (
            f"more than {group.ways} places {group.stride} B apart conflict, and none leaves the "
            f"others' set by less than {line or group.stride} B: open rows of DRAM banks would do "
            "the same"
        )
        names = ("capacity", "line", "ways", "prefetch", "write_back")
        return [not_identifiable(f"near.{name}", reason, group.evidence) for name in names]
    reason = (
        f"{group.ways} places any multiple of {group.stride} B apart are served, one more is not"
    )
    capacity = f"{group.ways} ways, and lines of one set {group.stride} B apart"
    return [
        identified("near.ways", group.ways, reason, group.evidence),
        identified("near.capacity", group.ways * group.stride, capacity, group.evidence),
        about_line,
        _prefetch(observations, group, line),
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


def _line(observations: Sequence[Observation], group: _Group) -> tuple[int | None, Finding]:
    name = "near.line"
    shifted = [
        one
        for one in chains(observations, PROBER, "conflict")
        if _params(one)["shift"] and _params(one)["stride"] == group.stride
    ]
    if len(shifted) < 2:
        return None, not_identifiable(name, "no place was moved out of its set", ())
    curve = over(shifted, "shift")
    conflicts = curve.values > (group.hit_ns + group.miss_ns) / 2
    if conflicts.all():
        if curve.x[-1] <= group.stride:
            reason = f"moving a place by up to {curve.x[-1]:.0f} B does not end the conflict"
            return None, not_identifiable(name, reason, curve.ids)
        reason = (
            f"all places share one set, for none leaves it however far it is moved; places "
            f"nearer than {group.stride} B share a line"
        )
        return group.stride, identified(name, group.stride, reason, curve.ids)
    if not conflicts[0]:
        reason = f"places moved by {curve.x[0]:.0f} B no longer conflict: lines are no longer"
        return None, not_identifiable(name, reason, curve.ids[:1])
    first = int(np.argmin(conflicts))
    # Moved by a whole distance it would be back in a set that is as crowded.
    inside = curve.x < group.stride
    if conflicts[first:][inside[first:]].any():
        reason = "whether a moved place conflicts does not depend on the distance alone"
        return None, not_identifiable(name, reason, curve.ids)
    line = int(curve.x[first])
    reason = f"places moved by {line} B no longer conflict, by {curve.x[first - 1]:.0f} B they do"
    return line, identified(name, line, reason, curve.ids[first - 1 : first + 1])


def _prefetch(observations: Sequence[Observation], group: _Group, line: int | None) -> Finding:
    name = "near.prefetch"
    beside = [
        one
        for one in chains(observations, PROBER, "conflict")
        if line is not None and _params(one)["beside"] == line
    ]
    if not beside:
        return not_identifiable(name, "needs the length of a line that is shorter than a set", ())
    one = beside[0]
    assert one.ns_per_access is not None
    share = (group.miss_ns - one.ns_per_access) / (group.miss_ns - group.hit_ns)
    reason = (
        f"reads of places and of their neighbours {line} B beyond take {one.ns_per_access:.1f} ns; "
        f"served and not served are {group.hit_ns:.1f} and {group.miss_ns:.1f} ns"
    )
    # Half of the reads are of neighbours: all served is a share of a half.
    if share > 0.375:
        return identified(name, "yes", reason, [one.id])
    if share < 0.125:
        return identified(name, "no", reason, [one.id])
    return not_identifiable(name, f"in part; {reason}", [one.id])
