"""A probe's experiments as measurements that a model can be held against.

What a probe played access by access is rebuilt from its description and played again, the same
accesses in the same order; what it measured with a pattern of `nearfar.measure` is that pattern.
Each finding rests on few of the experiments; these are spread over the kinds that see times.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

import numpy as np

from nearfar.inference.orders import build, spread_of
from nearfar.measuring import Contention, Pattern, Stream
from nearfar.model import Model
from nearfar.probing.device import ModelDevice
from nearfar.results import Observation, ProbeResult
from nearfar.simulate.validation.series import HardwarePoint, Job, Series
from nearfar.simulate.walk import Played

POINTS = 10  # of each series, evenly spread
FEW = 4  # where each takes long
FEWEST = 2  # where each takes several times as long
LINES = 1 << 16  # of a stream: a model is steady long before a machine has been timed
SHORTER = 4096  # writes of an overwrite: its median needs no wear levelling

_STEADY, _FIRST = "steady", "first"
_MEDIAN = "median"
_BESIDE = "latency-beside"
IN_ORDER = "bandwidth-read-in-order"


@dataclass(frozen=True)
class ReplayedOrder(Played):
    """An order of single accesses as a probe's observation has it, as JSON text."""

    order: str
    spread: str
    seed: int = 1

    def at_seed(self, seed: int) -> ReplayedOrder:
        """The order has a seed of its own."""
        return replace(self, seed=seed)

    def quantities(self, model: Model, core: object = None) -> Mapping[str, float]:
        """The means in ns of all timed accesses, of the first pass and of those after."""
        del core
        order = json.loads(self.order)
        steps = build(order)
        device = ModelDevice(model)
        spread = spread_of({"spread": json.loads(self.spread)})
        times = device.play(steps, spread, order["seed"])[steps.timed]
        params = order["params"]
        if order["kind"] != "walk":
            return {_STEADY: float(times.mean()), _MEDIAN: float(np.median(times))}
        passes = times.reshape(params["warm"] + params["steady"], -1)
        steady = passes[params["warm"] :]
        return {
            _FIRST: float(passes[0].mean()),
            _STEADY: float((steady[:, 1:] if steady.shape[1] > 1 else steady).mean()),
        }


def probe_series(probe: ProbeResult, name: str) -> list[Series]:
    """The series of a probe: cold and warm walks, pairs, stores, overwrites and bandwidth."""
    area = _area(probe)
    groups: dict[str, list[HardwarePoint]] = {}
    for one in probe.observations:
        for group, point in _points(one, area):
            groups.setdefault(group, []).append(point)
    return [
        Series(
            _series_name(name, group),
            f"{name}, {group}",
            "probe",
            name,
            tuple(thinned(points, _most(group))),
        )
        for group, points in groups.items()
    ]


def without(probe: ProbeResult, name: str, held: Collection[str]) -> ProbeResult:
    """The probe without the observations that the series `held` are made of; itself if none is."""
    area = _area(probe)
    left = tuple(
        one
        for one in probe.observations
        if not any(_series_name(name, group) in held for group, _ in _points(one, area))
    )
    return probe if len(left) == len(probe.observations) else replace(probe, observations=left)


def _area(probe: ProbeResult) -> int:
    """In bytes, of each thread, as the prober of bandwidth has it."""
    on_host = probe.target is not None and probe.target.kind == "host"
    hasty = on_host and bool(probe.pattern.get("quick"))
    return (64 if hasty else 256) << 20


def _series_name(name: str, group: str) -> str:
    return f"{name}:{group}"


def _most(group: str) -> int:
    """Points of a group that are enough."""
    if group == _BESIDE:
        return FEWEST
    return FEW if group.startswith("bandwidth") else POINTS


def thinned(points: Sequence[HardwarePoint], most: int = POINTS) -> list[HardwarePoint]:
    """So many of the points, first and last among them."""
    if len(points) <= most:
        return list(points)
    last = len(points) - 1
    kept = sorted({round(i * last / (most - 1)) for i in range(most)})
    return [points[i] for i in kept]


def _points(one: Observation, area: int) -> Iterator[tuple[str, HardwarePoint]]:
    kind = one.pattern.get("kind")
    if kind == "sequence":
        yield from _sequence_points(one)
    elif kind == "point":
        found = _pattern(one, area)
        if found is not None and one.ns_per_access is not None:
            group, pattern, cost = found
            yield group, _point(one.id, one.ns_per_access, Job(pattern, cost=cost), "ns_per_line")


def _sequence_points(one: Observation) -> Iterator[tuple[str, HardwarePoint]]:
    order = one.pattern["order"]
    spread = json.dumps(one.pattern.get("spread"), sort_keys=True)
    job = Job(ReplayedOrder(json.dumps(order, sort_keys=True), spread), cost=one.accesses)
    if order["kind"] == "walk" and one.prober == "buffers":
        for quantity, seen in ((_STEADY, one.histogram), (_FIRST, one.first_pass)):
            if seen:
                yield f"reads-{quantity}", _point(one.id, _mean(seen), job, quantity)
    elif order["kind"] == "pairs" and one.samples:
        yield "read-pairs", _point(one.id, fmean(one.samples), job, _STEADY)
    elif order["kind"] == "stumble" and one.samples:
        yield "stores", _point(one.id, fmean(one.samples), job, _STEADY)
    elif order["kind"] == "hammer" and one.histogram and len(order["params"]["weights"]) == 1:
        params = {**order["params"], "writes": min(SHORTER, order["params"]["writes"])}
        short = json.dumps({**order, "params": params}, sort_keys=True)
        job = Job(ReplayedOrder(short, spread), cost=SHORTER)
        yield "overwrites", _point(one.id, _middle(one.histogram), job, _MEDIAN)


def _pattern(one: Observation, area: int) -> tuple[str, Pattern, int] | None:
    """The pattern behind one point of a probe, its group, and about what it costs; of some kinds
    too little is written down to play them again."""
    known = one.pattern
    if one.prober != "bandwidth":
        return None
    if known.get("measured") == Stream.kind:
        share = known.get("reads_percent")
        mixed = share if share not in (0, 100) else None
        lines = min(one.accesses, LINES)
        pattern = Stream(
            op=known["op"],
            access=known["access_bytes"],
            stride=known["stride_bytes"],
            threads=known["threads"],
            reads=mixed,
            area=area,
            lines=lines,
        )
        layout = "random" if known["stride_bytes"] == "random" else "in-order"
        name = "mixed" if mixed is not None else "read" if share else "write"
        return f"bandwidth-{name}-{layout}", pattern, lines
    if known.get("measured") == Contention.kind:
        return _contention(one, area)
    return None


def _contention(one: Observation, area: int) -> tuple[str, Pattern, int] | None:
    known, reads = one.pattern, one.accesses
    other = known.get("other", "none")
    delay = known.get("delay_ns")
    asked: dict[str, Any] = {"other": other, "reads": reads, "area": area}
    if other != "none":
        asked["threads"] = known.get("other_threads") or 1
        if delay is not None:
            asked["delay"] = f"{delay} ns"
    return _BESIDE, Contention(**asked), reads * 4


def _point(label: str, real: float, job: Job, quantity: str) -> HardwarePoint:
    return HardwarePoint(label=label, real=real, unit="ns", job=job, quantity=quantity)


def _mean(histogram: Sequence[Sequence[float]]) -> float:
    total = sum(count for _, count in histogram)
    return sum(value * count for value, count in histogram) / total


def _middle(histogram: Sequence[Sequence[float]]) -> float:
    total, seen = sum(count for _, count in histogram), 0.0
    for value, count in histogram:
        seen += count
        if 2 * seen >= total:
            return value
    return histogram[-1][0]
