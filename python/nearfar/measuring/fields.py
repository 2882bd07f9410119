"""Fields of a pattern that take what people write and hold what the code computes with.

`Chase(region="4KiB,1MiB")`, `Chase(region=4096)` and `Chase(region=(4096, 1 << 20))` are all
meant; a descriptor-typed dataclass field accepts each, checks it once, and reads back as the
normal form. Raises InputError naming the field, as the command's option is called.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, overload

from nearfar.errors import InputError, check_one_of
from nearfar.measuring.quantity import (
    at_least,
    line_multiple,
    parse_count,
    parse_size,
    parse_time_ns,
    parse_value,
)

Given = TypeVar("Given")
Held = TypeVar("Held")

SizeText = int | str


@dataclass(frozen=True)
class Option:
    """How a field is an option of `nearfar measure`, and what results call it.

    `about` is its help; `metavar` what its value is called, or what the field's kind is; `json`
    is its name in results, if another than the field's; `required` on the command line.
    """

    about: str
    metavar: str = ""
    json: str = ""
    required: bool = False


class Field(Generic[Given, Held]):
    """A dataclass reads a field's default through `__get__` on the class."""

    metavar: str  # of a value on the command line

    def __init__(self, default: Given, option: Option) -> None:
        self._given = default
        self.option = option

    def __set_name__(self, owner: type, name: str) -> None:
        self._slot = f"_{name}"
        self._option = name.replace("_", "-")

    @property
    def flag(self) -> str:
        """The option of the command line."""
        return f"--{self._option}"

    def from_text(self, text: str) -> Any:
        """What the command line gives, for the field to take. Raises ValueError."""
        return text

    @overload
    def __get__(self, instance: None, owner: type) -> Given: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Held: ...
    def __get__(self, instance: object | None, owner: type) -> Any:
        return self._given if instance is None else instance.__dict__[self._slot]

    def __set__(self, instance: object, value: Given) -> None:
        instance.__dict__[self._slot] = self.normalise(value)

    def normalise(self, value: Any) -> Any:
        raise NotImplementedError

    def size(self, value: SizeText, multiple: int = 64) -> int:
        bytes_ = parse_size(self._option, value) if isinstance(value, str) else value
        if bytes_ <= 0:
            raise InputError(f"{self._option}: found {bytes_} B, expected a size above zero")
        line_multiple(self._option, bytes_, multiple)
        return bytes_


class Size(Field[SizeText, int]):
    """One positive size, a multiple of a cache line."""

    metavar = "SIZE"

    def normalise(self, value: SizeText) -> int:
        return self.size(value)


class OptionalSize(Field[SizeText | None, int | None]):
    """A size, or None where the pattern does without."""

    metavar = "SIZE"

    def normalise(self, value: SizeText | None) -> int | None:
        return None if value is None else self.size(value)


class Sizes(Field[SizeText | Sequence[SizeText], tuple[int, ...]]):
    """One or more sizes: a point for each."""

    metavar = "SIZE[,SIZE...]"

    def normalise(self, value: SizeText | Sequence[SizeText]) -> tuple[int, ...]:
        return tuple(self.size(item) for item in _listed(self._option, value))


class Strides(Field[SizeText | Sequence[SizeText] | None, tuple[int | str, ...] | None]):
    """Sizes, or "random" among them; None: as large as the access."""

    metavar = "SIZE[,SIZE...]|random"

    def normalise(
        self, value: SizeText | Sequence[SizeText] | None
    ) -> tuple[int | str, ...] | None:
        if value is None:
            return None
        return tuple(
            "random" if item == "random" else self.size(item)
            for item in _listed(self._option, value)
        )


class OptionalTimes(Field[float | str | Sequence[float | str] | None, tuple[float, ...] | None]):
    """One or more times in ns, or as "100ns": a point for each; None where there is no wait."""

    metavar = "TIME[,TIME...]"

    def normalise(
        self, value: float | str | Sequence[float | str] | None
    ) -> tuple[float, ...] | None:
        if value is None:
            return None
        return tuple(parse_time_ns(self._option, item) for item in _listed(self._option, value))


class OptionalValue(Field[str | None, str | None]):
    """What a line holds, as hexadecimal digits of a part that is repeated; None: anything."""

    metavar = "HEX"

    def normalise(self, value: str | None) -> str | None:
        return None if value is None else parse_value(self._option, value)


class OptionalValues(Field[str | Sequence[str] | None, tuple[str, ...] | None]):
    """One or more of these: a point for each."""

    metavar = "HEX[,HEX...]"

    def normalise(self, value: str | Sequence[str] | None) -> tuple[str, ...] | None:
        if value is None:
            return None
        return tuple(parse_value(self._option, item) for item in _listed(self._option, value))


class Percent(Field[int | str | None, int | None]):
    """A share of 0 to 100 per cent, as a number or as "70%"; None where nothing is mixed."""

    metavar = "PERCENT"

    def normalise(self, value: int | str | None) -> int | None:
        return None if value is None else _percent(self._option, value)


class Percents(Field[int | str | Sequence[int | str], tuple[int, ...]]):
    """One or more shares of 0 to 100 per cent, each once: a curve for each."""

    metavar = "PERCENT[,PERCENT...]"

    def normalise(self, value: int | str | Sequence[int | str]) -> tuple[int, ...]:
        found = tuple(_percent(self._option, item) for item in _listed(self._option, value))
        for percent in found:
            if found.count(percent) > 1:
                raise InputError(f"{self._option}: found {percent}% twice, expected each once")
        return found


class Counts(Field[int | Sequence[int], tuple[int, ...]]):
    """One or more counts of at least one."""

    metavar = "N[,N...]"

    def from_text(self, text: str) -> tuple[int, ...]:
        return tuple(parse_count(part) for part in text.split(","))

    def normalise(self, value: int | Sequence[int]) -> tuple[int, ...]:
        counts = (value,) if isinstance(value, int) else tuple(value)
        for count in counts:
            at_least(self._option, count, 1)
        return counts


class Names(Field[str | Sequence[str], tuple[str, ...]]):
    """One or more names out of a closed list."""

    def __init__(self, default: str, known: Sequence[str], option: Option) -> None:
        super().__init__(default, option)
        self._known = known
        self.metavar = "NAME[,NAME...]"

    def normalise(self, value: str | Sequence[str]) -> tuple[str, ...]:
        names = tuple(str(item) for item in _listed(self._option, value))
        for name in names:
            check_one_of(self._option, name, self._known)
        return names


class Name(Field[str, str]):
    """One name out of a closed list."""

    def __init__(self, default: str, known: Sequence[str], option: Option) -> None:
        super().__init__(default, option)
        self._known = known
        self.metavar = "|".join(known)

    def normalise(self, value: str) -> str:
        check_one_of(self._option, value, self._known)
        return value


class OptionalName(Field[str | None, str | None]):
    """One name out of a closed list, or None where the target decides."""

    def __init__(self, default: str | None, known: Sequence[str], option: Option) -> None:
        super().__init__(default, option)
        self._known = known
        self.metavar = "|".join(known)

    def normalise(self, value: str | None) -> str | None:
        if value is not None:
            check_one_of(self._option, value, self._known)
        return value


class Count(Field[int, int]):
    """A whole number from `least` on."""

    metavar = "N"

    def __init__(self, default: int, option: Option, least: int = 1) -> None:
        super().__init__(default, option)
        self._least = least

    def from_text(self, text: str) -> int:
        return parse_count(text)

    def normalise(self, value: int) -> int:
        at_least(self._option, value, self._least)
        return value


class OptionalCount(Field[int | None, int | None]):
    """A count of at least one, or None where the pattern or the target decides."""

    metavar = "N"

    def from_text(self, text: str) -> int:
        return parse_count(text)

    def normalise(self, value: int | None) -> int | None:
        if value is not None:
            at_least(self._option, value, 1)
        return value


def options(kind: type[Any]) -> dict[str, Field[Any, Any]]:
    """The fields of a kind of pattern that are options of `nearfar measure`, by their names."""
    found = {one.name: vars(kind).get(one.name) for one in dataclasses.fields(kind)}
    return {name: field for name, field in found.items() if isinstance(field, Field)}


def to_dict(pattern: Any) -> dict[str, Any]:
    """A pattern as a result carries it."""
    out: dict[str, Any] = {"kind": pattern.kind}
    known = options(type(pattern))
    for one in dataclasses.fields(pattern):
        value = getattr(pattern, one.name)
        if value is not None:
            name = (known[one.name].option.json if one.name in known else "") or one.name
            out[name] = list(value) if isinstance(value, tuple) else value
    return out


def _percent(option: str, value: int | str) -> int:
    digits = str(value).strip().removesuffix("%")
    if not digits.isdecimal() or int(digits) > 100:
        raise InputError(f"{option}: found '{value}', expected 0% to 100%")
    return int(digits)


def _listed(option: str, value: Any) -> tuple[Any, ...]:
    """Text is split at commas; a single value stands for a list of one."""
    if isinstance(value, str):
        items: tuple[Any, ...] = tuple(item.strip() for item in value.split(","))
    else:
        items = (value,) if isinstance(value, (int, float)) else tuple(value)
    if not items or "" in items:
        raise InputError(f"{option}: a value is missing in '{value}'")
    return items
