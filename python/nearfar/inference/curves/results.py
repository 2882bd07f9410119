"""Saved measurements as observations, so that curves of one's own are read like published ones."""

from __future__ import annotations

from collections.abc import Iterator

from nearfar.results import MeasureResult
from nearfar.results.findings import Observation

_KEPT = ("regions",)  # what a chase's conditions are


def observations(name: str, result: MeasureResult) -> list[Observation]:
    """The points of a chase, or the times of an overwrite, under the name `name`.

    Empty for patterns that no inference is made from. The target is not looked at.
    """
    kind = result.pattern.get("kind")
    if kind == "chase":
        return list(_chase(name, result))
    if kind == "overwrite" and result.samples:
        writes = {key: result.pattern[key] for key in ("kind", "region_bytes", "op")}
        count = len(result.samples)
        return [Observation(f"{name}.1", name, writes, count, samples=tuple(result.samples))]
    return []


def _chase(name: str, result: MeasureResult) -> Iterator[Observation]:
    kept = {key: result.pattern[key] for key in _KEPT if key in result.pattern}
    for number, point in enumerate(result.points, start=1):
        prober = f"{name}-{point.op}"
        pattern = {
            "kind": "chase",
            "op": point.op,
            "region_bytes": point.region_bytes,
            "block_bytes": point.block_bytes,
            **kept,
        }
        if point.threads != 1:
            pattern["threads"] = point.threads
        yield Observation(
            f"{prober}.{number}",
            prober,
            pattern,
            point.lines,
            ns_per_access=point.ns_per_line,
            interval=point.interval_ns_per_line,
        )
