"""From plain JSON values to dataclasses, checking everything on the way.

What a field may hold is its annotation: str, int, float, bool, None, Any, another
dataclass, Sequence, Mapping and unions of these. Numbers are finite and not negative,
because everything a result counts or times is.
"""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, cast

from nearfar.errors import InputError, suggestion

T = TypeVar("T")

_SCALARS: dict[Any, tuple[type, ...]] = {
    str: (str,),
    int: (int,),
    float: (int, float),
    bool: (bool,),
    type(None): (type(None),),
}
_NAMES = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


def decode(kind: type[T], data: object, origin: str) -> T:
    """`data` as a `kind`, a dataclass. Raises InputError naming `origin` and the wrong key."""
    return cast(T, _Decoder(origin).value(kind, data, ""))


class _Decoder:
    def __init__(self, origin: str) -> None:
        self._origin = origin

    def value(self, expected: Any, data: object, path: str) -> Any:
        if expected is Any:
            return data
        if dataclasses.is_dataclass(expected):
            return self._dataclass(cast(type, expected), data, path)
        if expected in _SCALARS:
            return self._scalar(expected, data, path)
        made_of = typing.get_origin(expected)
        inner = typing.get_args(expected)
        if made_of in (types.UnionType, typing.Union):
            return self._union(inner, data, path)
        if made_of is Sequence:
            return self._sequence(inner[0], data, path)
        assert made_of is Mapping, expected
        items = self._object(data, path).items()
        return {key: self.value(inner[1], item, f"{path}.{key}") for key, item in items}

    def _dataclass(self, kind: type, data: object, path: str) -> Any:
        given = self._object(data, path)
        hints = typing.get_type_hints(kind)
        fields = {field.name: field for field in dataclasses.fields(kind)}
        for key in given:
            if key not in fields:
                self._fail(f"found unknown key {_join(path, key)}{suggestion(key, fields)}")
        made = {
            name: self.value(hints[name], item, _join(path, name)) for name, item in given.items()
        }
        for name, field in fields.items():
            required = (
                field.default is dataclasses.MISSING
                and field.default_factory is dataclasses.MISSING
            )
            if required and name not in given:
                # `encode` leaves out what is None.
                if type(None) not in typing.get_args(hints[name]):
                    self._fail(f"{_join(path, name)} is missing")
                made[name] = None
        return kind(**made)

    def _union(self, kinds: tuple[Any, ...], data: object, path: str) -> Any:
        for kind in kinds:
            if kind in _SCALARS and self._fits(kind, data):
                return self.value(kind, data, path)
        return self.value(kinds[0], data, path)

    def _sequence(self, kind: Any, data: object, path: str) -> tuple[Any, ...]:
        if not isinstance(data, list):
            self._fail(f"found {_brief(data)} for {path}, expected a list")
        items = cast(list[object], data)
        return tuple(self.value(kind, item, f"{path}[{i}]") for i, item in enumerate(items))

    def _scalar(self, kind: Any, data: object, path: str) -> Any:
        if not self._fits(kind, data):
            self._fail(f"found {_brief(data)} for {path}, expected {_NAMES.get(kind, 'null')}")
        if isinstance(data, (int, float)) and not isinstance(data, bool):
            if not _is_finite(data):
                self._fail(f"found {_brief(data)} for {path}, expected a finite number")
            if data < 0:
                self._fail(f"found {data} for {path}, expected zero or more")
        return data

    @staticmethod
    def _fits(kind: Any, data: object) -> bool:
        if isinstance(data, bool) and kind is not bool:
            return False
        return isinstance(data, _SCALARS[kind])

    def _object(self, data: object, path: str) -> dict[str, Any]:
        if not isinstance(data, dict):
            self._fail(f"found {_brief(data)} for {path or 'the file'}, expected an object")
        return cast(dict[str, Any], data)

    def _fail(self, message: str) -> typing.NoReturn:
        raise InputError(f"{self._origin}: {message}")


def encode(value: Any) -> dict[str, Any]:
    """A dataclass as plain dicts and lists. Left out are fields that are None or empty, and those
    that are False where that is the default."""
    return {
        field.name: _plain(item)
        for field in dataclasses.fields(value)
        if (item := getattr(value, field.name)) is not None
        and not (item is False and field.default is False)
        and item != {}
    }


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return encode(value)
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _is_finite(number: int | float) -> bool:
    """Of whole numbers: as one with a point."""
    try:
        return math.isfinite(number)
    except OverflowError:
        return False


def _brief(data: object) -> str:
    text = repr(data)
    return text if len(text) <= 40 else f"{text[:37]}..."
