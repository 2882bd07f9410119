"""The figures of a result: numbers under names, by which points are compared.

`measure`: a field of its points (`ns_per_line`); of several points each with what tells it from the
others, `ns_per_line[op=ntload,region_bytes=4096]`; what lies deeper in a point by its path,
`hits.rmw`. Everything else: a path into the result's JSON, `read_p99_ns`, `series.NAME.mean`, where
an entry of a list goes by its name or its number. `run` has `measured_ns` and
`misses_per_kilo_instruction`, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

Figures = dict[str, float]

_AXES = (
    *("op", "threads", "region_bytes", "block_bytes", "access_bytes", "stride_bytes"),
    *("area_bytes", "delay_ns"),
)
_NO_FIGURES = (*_AXES, "value", "repetitions", "interval_ns_per_line")

# What a table shows when no figures are named.
SHORT: dict[str, tuple[str, ...]] = {
    "nearfar/result/1": ("ns_per_line", "gb_per_s"),
    "nearfar/replay/1": ("elapsed_ps", "gb_per_s", "read_p50_ns", "read_p99_ns"),
    "nearfar/validation/1": ("accuracy", "worst"),
    "nearfar/run/1": ("measured_ns", "misses_per_kilo_instruction"),
    "nearfar/crash/1": ("architecture.states", "architecture.violating", "machine.states"),
}


def figures(document: Mapping[str, Any], wanted: Sequence[str] = ()) -> Figures:
    """The figures of a result's JSON that a store keeps: those at hand, and those `wanted`."""
    found = dict(_at_hand(document))
    for name in wanted:
        if name not in found:
            found.update(_asked(document, name))
    return found


def short(document: Mapping[str, Any]) -> Figures:
    """The few that a table shows when none are named."""
    names = SHORT.get(str(document.get("schema")), ())
    found: Figures = {}
    for name in names:
        found.update(_asked(document, name))
    return found


def _asked(document: Mapping[str, Any], name: str) -> Figures:
    """One figure by its name or path; a field of points gives one of each point."""
    at_hand = dict(_at_hand(document))
    if name in at_hand:
        return {name: at_hand[name]}
    of_points = {key: value for key, value in at_hand.items() if key.partition("[")[0] == name}
    if of_points:
        return of_points
    value = _lookup(document, name)
    return dict(_inside_points(document, name)) if value is None else {name: value}


def _inside_points(document: Mapping[str, Any], name: str) -> Iterator[tuple[str, float]]:
    """What a path leads to in each point of a measurement."""
    points = document.get("points", ())
    for one, label in zip(points, _labels(points), strict=True):
        value = _lookup(one, name)
        if value is not None:
            yield f"{name}{label}", value


def _at_hand(document: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    points = document.get("points")
    if isinstance(points, Sequence) and not isinstance(points, str):
        yield from _of_points(points)
        return
    if document.get("schema") == "nearfar/validation/1":
        yield from _of_validation(document["series"])
    if document.get("schema") == "nearfar/run/1":
        yield from _of_run(document)
    for key, value in document.items():
        if _is_number(value):
            yield key, float(value)


def _of_points(points: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, float]]:
    for one, label in zip(points, _labels(points), strict=True):
        for key, value in one.items():
            if key not in _NO_FIGURES and _is_number(value):
                yield f"{key}{label}", float(value)


def _labels(points: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What tells each point from the others, in brackets; nothing if there is only one."""
    telling = [axis for axis in _AXES if len({str(one.get(axis)) for one in points}) > 1]
    for one in points:
        label = ",".join(f"{axis}={one[axis]}" for axis in telling if one.get(axis) is not None)
        yield f"[{label}]" if label else ""


def _of_validation(series: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, float]]:
    """Accuracy over all points, as the text of a validation gives it, and each series' own."""
    points = sum(one["n"] for one in series)
    if points:
        yield "accuracy", sum(one["mean"] * one["n"] for one in series) / points
        yield "accuracy_of_series", fmean(one["mean"] for one in series)
        yield "worst", min(float(one["worst"]) for one in series)
    for one in series:
        yield f"series.{one['name']}.mean", float(one["mean"])


def _of_run(run: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Of what was measured: time, if it is that of one process, and the lines that no cache had."""
    machines = [one["machine"] for one in run["processes"] if one.get("machine")]
    if len(machines) == 1:
        yield "measured_ns", float(machines[0]["time_ns"])
    instructions = run["counts"]["instructions"]
    misses = [one["counters"]["cache.misses"] for one in machines if "counters" in one]
    if misses and instructions:
        yield "misses_per_kilo_instruction", 1000 * sum(misses) / instructions


def _lookup(node: Any, path: str) -> float | None:
    """The number at a path; names may have dots in them, so the longest that fits is taken."""
    if _is_number(node) and not path:
        return float(node)
    if isinstance(node, Mapping):
        entries = {str(key): value for key, value in node.items()}
    elif isinstance(node, Sequence) and not isinstance(node, str):
        entries = {str(at): value for at, value in enumerate(node)}
        entries |= {
            str(one["name"]): one for one in node if isinstance(one, Mapping) and "name" in one
        }
    else:
        return None
    for key in sorted(entries, key=len, reverse=True):
        if path == key or path.startswith(f"{key}."):
            found = _lookup(entries[key], path[len(key) + 1 :])
            if found is not None:
                return found
    return None


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
