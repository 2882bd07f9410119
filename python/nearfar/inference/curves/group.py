"""Observations of chases, put together into curves: latency against region."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nearfar.inference.curves.edges import Rise, noise, rises
from nearfar.results.findings import Observation

Floats = NDArray[np.float64]

LOADS = ("ntload", "load")
STORES = ("ntstore", "store", "store+clwb")
_TIMED = "ns"


@dataclass(frozen=True)
class Curve:
    """One operation and block size over ascending regions, with the observations behind it."""

    op: str
    block: int
    modules: int | None
    held: tuple[int, ...]
    fresh: bool
    unit: str
    region: Floats
    values: Floats
    ids: tuple[tuple[str, ...], ...]  # of each region
    order: str = "random"  # of the loads; "unknown" where a prefetcher may foresee them
    stride: int = 64  # bytes from one load to the next, where blocks are not walked whole

    @property
    def noise(self) -> float:
        """The relative standard deviation of a point."""
        return noise(self.region, self.values)

    @property
    def timed(self) -> bool:
        """Whether the values are nanoseconds; cycles of an unknown clock give no latency."""
        return self.unit == _TIMED

    def rises(self) -> list[Rise]:
        """Its ramps."""
        return rises(self.region, self.values)

    def evidence(self, low: float, high: float) -> tuple[str, ...]:
        """The observations of regions from `low` to `high` and of the next ones outside."""
        first = max(0, int(np.searchsorted(self.region, low)) - 1)
        last = min(len(self.region), int(np.searchsorted(self.region, high, side="right")) + 1)
        return tuple(one for ids in self.ids[first:last] for one in ids)


def curves(observations: Iterable[Observation]) -> list[Curve]:
    """All chases, one curve for each operation, block, and set of conditions."""
    groups: dict[tuple[object, ...], list[Observation]] = {}
    for one in observations:
        pattern = one.pattern
        if pattern.get("kind") != "chase" or one.ns_per_access is None:
            continue
        key = (
            pattern["op"],
            pattern["block_bytes"],
            pattern.get("modules"),
            tuple(pattern.get("held_bits") or ()),
            pattern.get("regions", "fresh") == "fresh",
            pattern.get("unit", _TIMED),
            pattern.get("order", "random"),
            pattern.get("stride", 64),
            pattern.get("threads", 1),
        )
        groups.setdefault(key, []).append(one)
    return [_curve(key, members) for key, members in groups.items() if key[-1] == 1]


def _curve(key: tuple[object, ...], members: Sequence[Observation]) -> Curve:
    """Points of one region are averaged: they differ by noise alone."""
    by_region: dict[int, list[Observation]] = {}
    for one in members:
        by_region.setdefault(one.pattern["region_bytes"], []).append(one)
    ascending = sorted(by_region)
    op, block, modules, held, fresh, unit, order, stride, _ = key
    assert isinstance(op, str)
    assert isinstance(block, int)
    assert modules is None or isinstance(modules, int)
    assert isinstance(held, tuple)
    assert isinstance(stride, int)
    return Curve(
        op=op,
        block=block,
        modules=modules,
        held=held,
        fresh=bool(fresh),
        unit=str(unit),
        region=np.array(ascending, dtype=float),
        values=np.array(
            [
                float(np.mean([one.ns_per_access or 0.0 for one in by_region[region]]))
                for region in ascending
            ]
        ),
        ids=tuple(tuple(one.id for one in by_region[region]) for region in ascending),
        order=str(order),
        stride=stride,
    )
