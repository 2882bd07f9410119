"""Two results side by side: which parameters and which points differ by more than noise.

A parameter differs when the intervals of the two findings share no value, or when its words
differ. A point differs when the two times are farther apart than three times their noise: half
the point's interval where repetitions gave one, else how far neighbouring points of the same
curve scatter about the line through their neighbours; a hundredth where neither is known.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, ClassVar

from nearfar.results.decode import encode
from nearfar.results.findings import IDENTIFIED, Finding, Observation
from nearfar.results.schema import Point, Target

_SIGMAS = 3.0
_UNKNOWN_NOISE = 0.01  # relative; of a point that stands alone
_LEAST_NOISE = 0.001
_LINE = 64  # bytes


@dataclass(frozen=True)
class Side:
    """One of the two: its file, and what it was measured on where the file says so."""

    name: str
    target: Target | None = None


@dataclass(frozen=True)
class ComparedParameter:
    """A finding of both; None where a side did not identify it."""

    name: str
    unit: str
    a: int | float | str | None
    b: int | float | str | None
    a_interval: Sequence[float] | None
    b_interval: Sequence[float] | None
    differs: bool | None  # None: one side does not know


@dataclass(frozen=True)
class PairedPoint:
    """A point of both; `noise` is what its ratio may be off by, relatively.

    `curve` names the curve that it is of, and `place` says where: in bytes, if it is a size.
    """

    label: str
    unit: str
    a: float
    b: float
    noise: float
    differs: bool
    curve: str = ""
    place: float | None = None


@dataclass(frozen=True)
class ComparisonResult:
    """Parameters and points that both results have, and how many only one has."""

    SCHEMA: ClassVar[str] = "nearfar/comparison/1"

    a: Side
    b: Side
    parameters: Sequence[ComparedParameter]
    points: Sequence[PairedPoint]
    only_a: int = 0  # points without a counterpart
    only_b: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts and lists, as `json.dumps` takes them."""
        return {"schema": self.SCHEMA, **encode(self)}


@dataclass(frozen=True)
class Sample:
    """What is compared of a point: `key` is equal for equal experiments."""

    key: tuple[object, ...]
    curve: tuple[object, ...]  # the key without the size that the curve runs over
    place: float
    label: str
    unit: str
    value: float
    interval: Sequence[float] | None = None
    curve_label: str = ""


def compare(
    a: Side,
    b: Side,
    findings: tuple[Sequence[Finding], Sequence[Finding]],
    samples: tuple[Sequence[Sample], Sequence[Sample]],
) -> ComparisonResult:
    """Everything that both sides have, in the order of `a`."""
    of_a, of_b = ({one.key: one for one in side} for side in samples)
    noises = tuple(_noises(side) for side in samples)
    common = [key for key in of_a if key in of_b]
    return ComparisonResult(
        a=a,
        b=b,
        parameters=tuple(_parameters(*findings)),
        points=tuple(_pair(of_a[key], of_b[key], noises[0], noises[1]) for key in common),
        only_a=len(of_a) - len(common),
        only_b=len(of_b) - len(common),
    )


def _parameters(a: Sequence[Finding], b: Sequence[Finding]) -> list[ComparedParameter]:
    of_a, of_b = ({one.name: one for one in side} for side in (a, b))
    names = list(dict.fromkeys([*of_a, *of_b]))
    return [_parameter(name, of_a.get(name), of_b.get(name)) for name in names]


def _parameter(name: str, a: Finding | None, b: Finding | None) -> ComparedParameter:
    known_a, known_b = (one is not None and one.status == IDENTIFIED for one in (a, b))
    unit = (a or b).unit if (a or b) is not None else ""  # type: ignore[union-attr]
    differs: bool | None = None
    if a is not None and b is not None and known_a and known_b:
        differs = _apart(a, b)
    return ComparedParameter(
        name,
        unit,
        a.value if a is not None else None,
        b.value if b is not None else None,
        a.interval if a is not None else None,
        b.interval if b is not None else None,
        differs,
    )


def _apart(a: Finding, b: Finding) -> bool:
    if isinstance(a.value, str) or isinstance(b.value, str):
        return a.value != b.value
    if a.interval is None or b.interval is None:
        return a.value != b.value
    return a.interval[1] < b.interval[0] or b.interval[1] < a.interval[0]


def _pair(
    a: Sample, b: Sample, noise_a: Mapping[Any, float], noise_b: Mapping[Any, float]
) -> PairedPoint:
    noise = math.hypot(_noise_of(a, noise_a), _noise_of(b, noise_b))
    differs = abs(math.log(b.value / a.value)) > _SIGMAS * noise
    place = a.place if a.curve_label and a.place > 0 else None
    return PairedPoint(
        a.label, a.unit, a.value, b.value, noise, differs, a.curve_label if place else "", place
    )


def _noise_of(sample: Sample, curves: Mapping[Any, float]) -> float:
    if sample.interval is not None:
        low, high = sample.interval
        # An interval of 95 % is two standard deviations either side.
        return max(_LEAST_NOISE, (high - low) / 4 / sample.value)
    return curves.get(sample.curve, _UNKNOWN_NOISE)


def _noises(samples: Sequence[Sample]) -> dict[tuple[object, ...], float]:
    """The relative scatter of each curve of at least five points."""
    curves: dict[tuple[object, ...], list[Sample]] = {}
    for one in samples:
        curves.setdefault(one.curve, []).append(one)
    found = {}
    for key, members in curves.items():
        ordered = sorted(members, key=lambda one: one.place)
        if len(ordered) >= 5 and ordered[0].place > 0:
            found[key] = max(_LEAST_NOISE, _scatter(ordered))
    return found


def _scatter(ordered: Sequence[Sample]) -> float:
    """1.4826 times the median distance from the line through a point's neighbours."""
    off = []
    for before, here, after in zip(ordered, ordered[1:], ordered[2:], strict=False):
        span = math.log(after.place / before.place)
        share = math.log(here.place / before.place) / span if span else 0.5
        expected = before.value * (1 - share) + after.value * share
        spread = math.sqrt(1 + share**2 + (1 - share) ** 2)
        off.append(abs(here.value - expected) / spread / here.value)
    return 1.4826 * median(off)


def point_sample(point: Point) -> Sample | None:
    """A measured point; None where it took no time."""
    fields = (
        point.op,
        point.block_bytes,
        point.access_bytes if point.region_bytes is not None else None,
        point.stride_bytes if isinstance(point.stride_bytes, str) else None,
        point.area_bytes,
        point.threads,
        point.delay_ns,
        point.value,
    )
    place = point.region_bytes or point.access_bytes or 0
    stream = point.region_bytes is None
    value = point.gb_per_s if stream else point.ns_per_line
    if value <= 0:
        return None
    rest = [f"{point.threads} threads" if point.threads != 1 else ""]
    if point.delay_ns is not None:
        rest.append(f"beside others every {point.delay_ns:g} ns")
    if point.value is not None:
        rest.append(point.value)
    first = [point.op]
    if point.block_bytes not in (None, 64):
        first.append(f"blocks of {point.block_bytes} B,")
    label = _joined([*first, f"{place} B" if place else "", *rest])
    curve = _joined([*first, *rest]).rstrip(",")
    key = (*fields, place, point.stride_bytes)
    unit = "GB/s" if stream else "ns/line"
    interval = point.interval_ns_per_line
    if stream and interval is not None:
        # In the unit of the value: bytes a ns are 10^9 bytes a second.
        interval = [_LINE * point.threads / bound for bound in reversed(interval)]
    return Sample(key, fields, float(place), label, unit, value, interval, curve)


def _joined(words: Sequence[str]) -> str:
    return " ".join(word for word in words if word)


_ASIDE = ("seed", "involuntary_switches", "stolen_ns", "effort", "fence_kind")


def observation_sample(one: Observation) -> Sample | None:
    """An observation's mean time; None where single accesses were timed instead."""
    if one.ns_per_access is None or one.ns_per_access <= 0:
        return None
    pattern = {key: item for key, item in one.pattern.items() if key not in _ASIDE}
    if pattern.get("modules") == 1:
        del pattern["modules"]  # what a curve that does not say so is taken for
    place = float(pattern.pop("region_bytes", 0) or _largest(pattern.get("order")))
    curve = (_frozen({**pattern, "order": _kind(pattern.get("order"))}),)
    key = (_frozen(pattern), place)
    words = curve_words = [str(pattern.get("op", pattern.get("kind")))]
    if "order" in pattern:
        order = pattern["order"]
        params = " ".join(f"{name} {item}" for name, item in order["params"].items())
        words = [str(order["kind"]), params, str(pattern.get("pages", ""))]
        curve_words = [words[0], words[2]]
    elif place:
        words = [*words, f"{place:.0f} B"]
        if pattern.get("block_bytes") not in (None, 64):
            blocks = f"in blocks of {pattern['block_bytes']} B"
            words, curve_words = [*words, blocks], [*curve_words, blocks]
    return Sample(
        key,
        curve,
        place,
        _joined(words),
        "ns/line",
        one.ns_per_access,
        one.interval,
        _joined(curve_words),
    )


def _largest(order: object) -> float:
    if not isinstance(order, Mapping):
        return 0.0
    numbers = [item for item in order["params"].values() if isinstance(item, (int, float))]
    return float(max(numbers, default=0))


def _kind(order: object) -> str:
    return str(order["kind"]) if isinstance(order, Mapping) else ""


def _frozen(value: object) -> object:
    """The same for equal JSON values, and usable as a key."""
    if isinstance(value, Mapping):
        return tuple(sorted((str(key), _frozen(item)) for key, item in value.items()))
    if isinstance(value, (list, tuple)):
        return tuple(_frozen(item) for item in value)
    return value
