"""What every tool exchanges: one measurement with where it came from.

A `Result` is a frozen dataclass; `Result.to_dict` and `Result.from_dict` are its JSON form,
and every number carries its unit in its name's ending. `from_dict` checks everything and
says which key is wrong: a file that loads can be used.

A result of a model holds nothing that depends on the machine or the moment it was computed
at (those keys of `Environment` are null), so that the same model, input and seed give the
same bytes anywhere and two files can be compared with `cmp`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from nearfar.errors import InputError

SCHEMA = "nearfar/result/1"

JsonDict = dict[str, Any]
T = TypeVar("T")


@dataclass(frozen=True)
class Target:
    """What a pattern ran on."""

    kind: str  # "model" or "host"
    name: str  # the model's or the device's name
    spec: str  # the target as the user wrote it
    mode: str  # "simulated" or "measured"


@dataclass(frozen=True)
class Environment:
    """What could have influenced the numbers. None: does not apply, or could not be read."""

    version: str
    seed: int
    model_hash: str | None = None
    cpu: str | None = None
    kernel: str | None = None
    governor: str | None = None
    huge_pages: str | None = None
    load: float | None = None


@dataclass(frozen=True)
class Point:
    """One size and operation. Fields that do not apply are None and absent from the JSON.

    `ns_per_line` is elapsed time per 64-byte line per thread; `gb_per_s` is 10^9 bytes a
    second summed over threads. The percentiles are those of single accesses, in ns.
    Amplification is bytes moved at the media over bytes the host asked for in that
    direction. `hits` counts by buffer, `counters` holds the model's raw counters.
    """

    op: str
    threads: int
    lines: int
    ns_per_line: float
    gb_per_s: float
    elapsed_ns: float
    region_bytes: int | None = None
    block_bytes: int | None = None
    access_bytes: int | None = None
    stride_bytes: int | str | None = None
    area_bytes: int | None = None
    p50_ns: float | None = None
    p99_ns: float | None = None
    p999_ns: float | None = None
    max_ns: float | None = None
    media_read_bytes: int | None = None
    media_write_bytes: int | None = None
    read_amplification: float | None = None
    write_amplification: float | None = None
    energy_pj: int | None = None
    hits: Mapping[str, int] | None = None
    counters: Mapping[str, int] = field(default_factory=dict)

    def to_dict(self) -> JsonDict:
        """The point as plain values; absent measurements are left out."""
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return {
            name: dict(value) if isinstance(value, Mapping) else value
            for name, value in values.items()
            if value is not None and not (name == "counters" and not value)
        }


@dataclass(frozen=True)
class Result:
    """A measurement: target, environment, pattern, points and, for tails, every sample."""

    target: Target
    environment: Environment
    pattern: Mapping[str, Any]
    points: Sequence[Point]
    samples: Sequence[float] | None = None  # one entry an access, in ns
    interrupted: bool = False  # only the points finished before Ctrl-C are here

    def to_dict(self) -> JsonDict:
        """Plain dicts and lists, as `json.dumps` takes them."""
        out: JsonDict = {
            "schema": SCHEMA,
            "target": dataclasses.asdict(self.target),
            "environment": dataclasses.asdict(self.environment),
            "pattern": dict(self.pattern),
            "points": [point.to_dict() for point in self.points],
        }
        if self.samples is not None:
            out["samples"] = list(self.samples)
        if self.interrupted:
            out["interrupted"] = True
        return out

    @classmethod
    def from_dict(cls, data: object, origin: str = "result") -> Result:
        """The reverse of `to_dict`. Raises InputError naming `origin` and the wrong key."""
        top = _object(data, origin, "")
        schema = top.get("schema")
        if schema != SCHEMA:
            raise InputError(f'{origin}: schema is {schema!r}, this version reads "{SCHEMA}"')
        _known(top, _RESULT_KEYS, origin, "")
        samples = top.get("samples")
        return cls(
            target=_read(Target, _part(top, "target", origin), origin, "target"),
            environment=_read(
                Environment, _part(top, "environment", origin), origin, "environment"
            ),
            pattern=_part(top, "pattern", origin),
            points=tuple(
                _read(Point, _object(item, origin, f"points[{i}]"), origin, f"points[{i}]")
                for i, item in enumerate(_array(top.get("points"), origin, "points"))
            ),
            samples=None if samples is None else _numbers(samples, origin, "samples"),
            interrupted=_flag(top.get("interrupted", False), origin, "interrupted"),
        )


_RESULT_KEYS = frozenset(
    ("schema", "target", "environment", "pattern", "points", "samples", "interrupted")
)

# Annotations as written above (they are strings under `from __future__ import annotations`)
# to the Python types that may stand there in JSON. A count is also a valid real number.
_ALLOWED: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "float": (int, float),
    "None": (type(None),),
    "Mapping[str, int]": (dict,),
}


def _read(kind: type[T], data: JsonDict, origin: str, path: str) -> T:
    fields = {f.name: f for f in dataclasses.fields(kind)}  # type: ignore[arg-type]
    _known(data, fields.keys(), origin, path)
    for name, f in fields.items():
        optional = f.default is not dataclasses.MISSING or (
            f.default_factory is not dataclasses.MISSING
        )
        if name not in data:
            if optional:
                continue
            raise InputError(f"{origin}: {path}.{name} is missing")
        _check(data[name], str(f.type), origin, f"{path}.{name}")
    return kind(**data)


def _check(value: object, annotation: str, origin: str, path: str) -> None:
    parts = annotation.split(" | ")
    allowed = tuple(kind for part in parts for kind in _ALLOWED[part])
    if not isinstance(value, allowed) or isinstance(value, bool):
        raise InputError(f"{origin}: {path} is {value!r}, expected {annotation}")
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"{origin}: {path} is not a finite number")
    if isinstance(value, (int, float)) and value < 0:
        raise InputError(f"{origin}: {path} is negative ({value})")
    if isinstance(value, dict):
        for key, count in value.items():
            _check(count, "int", origin, f"{path}[{key!r}]")


def _known(data: JsonDict, keys: Any, origin: str, path: str) -> None:
    for key in data:
        if key not in keys:
            where = f"{path}.{key}" if path else key
            raise InputError(f"{origin}: unknown key {where}")


def _object(value: object, origin: str, path: str) -> JsonDict:
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise InputError(f"{origin}: {path or 'the file'} is not a JSON object")
    return value


def _part(top: JsonDict, key: str, origin: str) -> JsonDict:
    if key not in top:
        raise InputError(f"{origin}: {key} is missing")
    return _object(top[key], origin, key)


def _array(value: object, origin: str, path: str) -> list[object]:
    if not isinstance(value, list):
        raise InputError(f"{origin}: {path} is missing or not a list")
    return value


def _numbers(value: object, origin: str, path: str) -> tuple[float, ...]:
    items = _array(value, origin, path)
    for i, item in enumerate(items):
        _check(item, "float", origin, f"{path}[{i}]")
    return tuple(items)  # type: ignore[arg-type]


def _flag(value: object, origin: str, path: str) -> bool:
    if not isinstance(value, bool):
        raise InputError(f"{origin}: {path} is {value!r}, expected true or false")
    return value
