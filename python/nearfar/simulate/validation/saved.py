"""A saved measurement as series to hold a model against: the same pattern, played again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nearfar.errors import InputError
from nearfar.measuring.fields import options
from nearfar.measuring.patterns import Chase, Contention, Overwrite, Pattern, Stream
from nearfar.results import MeasureResult, Point
from nearfar.simulate.validation.series import HardwarePoint, Job, Series

_KINDS: Mapping[str, type[Pattern]] = {
    kind.kind: kind for kind in (Chase, Overwrite, Stream, Contention)
}
# What of the pattern a point is about: the pattern's field, the point's.
_OF_POINT = (
    *(("region", "region_bytes"), ("access", "access_bytes"), ("stride", "stride_bytes")),
    *(("threads", "threads"), ("op", "op"), ("delay", "delay_ns")),
)
_OWN = "ordinary_write"  # of an overwrite's samples
_UNSEEN = ("agent", "value", "held", "successors")  # without a meaning in a model's other runs


def series(result: MeasureResult, name: str) -> list[Series]:
    """One series for each operation, block or access size and number of threads.

    Raises InputError for a measurement that no model can repeat.
    """
    kind = _KINDS.get(str(result.pattern.get("kind")))
    if kind is None:
        found = result.pattern.get("kind")
        raise InputError(f"{name}: found kind '{found}', expected one of {', '.join(_KINDS)}")
    groups: dict[str, list[HardwarePoint]] = {}
    for point in result.points:
        pattern = _pattern(kind, result.pattern, point, name)
        group, label, x = _named(point)
        real, quantity = point.ns_per_line, "ns_per_line"
        if isinstance(pattern, Overwrite) and result.samples:
            ordered = sorted(result.samples)
            real, quantity = ordered[len(ordered) // 2], _OWN
        groups.setdefault(group, []).append(
            HardwarePoint(
                label=label,
                real=real,
                unit="ns",
                job=Job(pattern, cost=point.lines),
                quantity=quantity,
                x=x,
                curve=group,
            )
        )
    x_name = "region" if kind is Chase else ""
    return [
        Series(
            name=f"{name}:{group}",
            title=f"{name}, {group}",
            dataset=name,
            source=name,
            points=tuple(points),
            x_name=x_name,
            x_unit="B" if x_name else "",
        )
        for group, points in groups.items()
    ]


def _named(point: Point) -> tuple[str, str, float | None]:
    """The point's series, its label there, and its place on the axis."""
    size = point.block_bytes or point.access_bytes
    group = [point.op]
    group += [f"{size}B"] if size is not None else []
    group += [f"{point.threads}t"] if point.threads > 1 else []
    group += [f"stride-{point.stride_bytes}"] if point.stride_bytes not in (None, size) else []
    if point.region_bytes is not None:
        return "-".join(group), f"region {point.region_bytes} B", float(point.region_bytes)
    label = f"delay {point.delay_ns:g} ns" if point.delay_ns is not None else "-".join(group)
    return "-".join(group), label, None


def _pattern(kind: type[Pattern], saved: Mapping[str, Any], point: Point, name: str) -> Pattern:
    """The pattern of one point alone."""
    known = options(kind)
    given: dict[str, Any] = {}
    for field, option in known.items():
        value = saved.get(option.option.json or field)
        if value is not None and field not in _UNSEEN[1:]:
            given[field] = value
    for field, source in _OF_POINT:
        value = getattr(point, source)
        if field in given and value is not None and kind is not Overwrite:
            given[field] = value
    if kind is Contention and saved.get("other") == "none":
        given.pop("threads", None)
        given.pop("delay", None)
    if kind is Contention:
        given.pop("op", None)
        if "threads" in given and "threads" in saved:
            given["threads"] = saved["threads"]
    if "whole" in saved:
        given["whole"] = bool(saved["whole"])
    try:
        return kind(**given)
    except (InputError, TypeError) as error:
        raise InputError(f"{name}: cannot repeat this measurement: {error}") from None
