"""One key of a model file: its type, unit, default, range and meaning.

The schema (`nearfar.model.schema`) is lists of these, one line a key, written with the
functions at the end of this file. Defaults and limits are written as in a model file
("16 KiB", "137 ns") and kept in base units.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from nearfar.errors import suggestion
from nearfar.model import units
from nearfar.model.units import Dimension

Plain = int | float | bool | str
"""A value in base units, or as TOML gives it."""


class Kind(Enum):
    """What a key's value is; the text is what the schema calls it."""

    COUNT = "count"
    BYTES = "size"
    TIME = "time"
    CLOCK = "clock"
    RATE = "rate"
    POWER = "power"
    ENERGY = "energy"
    VOLTAGE = "voltage"
    CURRENT = "current"
    CHOICE = "choice"
    FIELDS = "field order"
    FLAG = "flag"
    REAL = "real"


DIMENSIONS: dict[Kind, Dimension] = {
    Kind.BYTES: units.BYTES,
    Kind.TIME: units.TIME,
    Kind.CLOCK: units.CLOCK,
    Kind.RATE: units.RATE,
    Kind.POWER: units.POWER,
    Kind.ENERGY: units.ENERGY,
    Kind.VOLTAGE: units.VOLTAGE,
    Kind.CURRENT: units.CURRENT,
}


@dataclass(frozen=True)
class Key:
    """A key and everything `nearfar model schema` says about it.

    `default` is None where the value is derived from others, as `derived` says. `low` and
    `high` are inclusive, in base units. `choices` are those of a choice, or the fields of an
    order, of which the last may come in two parts, `_high` and `_low`.
    """

    name: str
    kind: Kind
    meaning: str
    default: Plain | None = None
    derived: str = ""
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    power_of_two: bool = False

    @property
    def exported_name(self) -> str:
        """The name the core reads; a clock is exported as its period."""
        return f"{self.name}_ps" if self.kind is Kind.CLOCK else self.name

    @property
    def unit(self) -> str:
        """The base unit, in which the value is exported; empty for what has none."""
        if self.kind is Kind.CLOCK:
            return "ps"
        return next(iter(DIMENSIONS[self.kind].units)) if self.kind in DIMENSIONS else ""

    def read(self, given: object) -> Plain:
        """The value in base units of what a TOML file or a Python caller gives.

        Raises ValueError with `found X, expected Y`.
        """
        value = self._convert(given)
        self._check_range(given, value)
        return value

    def read_text(self, text: str) -> Plain:
        """As `read`, for `key=value` of a target, where everything is text."""
        if self.kind in (Kind.COUNT, Kind.REAL) and _NUMBER.fullmatch(text):
            return self.read(float(text) if set(text) & set(".eE") else int(text))
        if self.kind is Kind.FLAG and text in ("true", "false"):
            return text == "true"
        return self.read(text)

    def format(self, value: Plain) -> str:
        """`value` as one would write it in a model file, without the quotes."""
        if self.kind in DIMENSIONS and isinstance(value, int):
            return units.format_quantity(value, DIMENSIONS[self.kind])
        return export_text(value)

    def range_text(self) -> str:
        """The range in words; empty if every value of the kind is allowed."""
        if self.kind is Kind.FIELDS:
            *fields, last = self.choices
            return f"{', '.join(fields)}, and {last} or {last}_high and {last}_low"
        if self.choices:
            return ", ".join(self.choices)
        low = None if self.low is None else self.format(self.low)
        high = None if self.high is None else self.format(self.high)
        if low is not None and high is not None:
            text = f"{low} to {high}"
        elif low is not None:
            text = f"{low} or more"
        else:
            text = "" if high is None else f"at most {high}"
        return f"{text}, a power of two" if self.power_of_two else text

    def _convert(self, given: object) -> Plain:
        if self.kind in DIMENSIONS:
            dimension = DIMENSIONS[self.kind]
            if isinstance(given, str):
                return units.parse(given, dimension)
            raise ValueError(
                f"found {describe(given)}, expected {dimension.noun} such as '{dimension.example}'"
            )
        if self.kind is Kind.COUNT and isinstance(given, int) and not isinstance(given, bool):
            return given
        if self.kind is Kind.REAL and _is_number(given):
            return float(given)  # type: ignore[arg-type]  # _is_number has seen to it
        if self.kind is Kind.FLAG and isinstance(given, bool):
            return given
        if self.kind in (Kind.CHOICE, Kind.FIELDS) and isinstance(given, str):
            return given
        raise ValueError(f"found {describe(given)}, expected {_EXPECTED[self.kind]}")

    def _check_range(self, given: object, value: Plain) -> None:
        if self.kind is Kind.CHOICE and value not in self.choices:
            hint = suggestion(str(value), self.choices)
            raise ValueError(f"found {describe(given)}, expected {self.range_text()}{hint}")
        if self.kind is Kind.FIELDS:
            self._check_order(str(value))
        if isinstance(value, (bool, str)):
            return
        low = -math.inf if self.low is None else self.low
        high = math.inf if self.high is None else self.high
        uneven = self.power_of_two and isinstance(value, int) and value & (value - 1) != 0
        if not low <= value <= high or uneven:  # written so that a nan fails
            raise ValueError(f"found {describe(given)}, expected {self.range_text()}")

    def _check_order(self, order: str) -> None:
        *fields, last = self.choices
        halves = [f"{last}_high", f"{last}_low"]
        given = order.split("-")
        for field in given:
            if field not in (*self.choices, *halves):
                hint = suggestion(field, [*self.choices, *halves])
                raise ValueError(
                    f"found '{field}' in the order, expected {self.range_text()}{hint}"
                )
        if sorted(given) not in (sorted(self.choices), sorted([*fields, *halves])):
            raise ValueError(f"found '{order}', expected an order of {self.range_text()}")


def export_text(value: Plain) -> str:
    """`value` as the core reads it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else str(value)


def describe(given: object) -> str:
    """What was found, as the author of the file would recognise it."""
    if isinstance(given, (bool, int, float)):
        return export_text(given)
    if isinstance(given, str):
        return f"'{given}'"
    if isinstance(given, dict):
        return "a table"
    return "an array" if isinstance(given, list) else f"a {type(given).__name__}"


_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?", re.ASCII)

_EXPECTED = {
    Kind.COUNT: "a whole number",
    Kind.REAL: "a number",
    Kind.FLAG: "true or false",
    Kind.CHOICE: "a name",
    Kind.FIELDS: "names joined by '-'",
}


def _is_number(given: object) -> bool:
    return isinstance(given, (int, float)) and not isinstance(given, bool)


def count(
    name: str,
    default: int | None,
    low: int,
    high: int,
    meaning: str,
    *,
    derived: str = "",
    power_of_two: bool = False,
) -> Key:
    """A whole number: entries, lines, clock cycles."""
    return Key(name, Kind.COUNT, meaning, default, derived, low, high, (), power_of_two)


def size(
    name: str,
    default: str | None,
    low: str,
    high: str,
    meaning: str,
    *,
    derived: str = "",
    power_of_two: bool = False,
) -> Key:
    """A size in bytes."""
    values = [_base(text, units.BYTES) for text in (default, low, high)]
    return Key(
        name, Kind.BYTES, meaning, values[0], derived, values[1], values[2], (), power_of_two
    )


def time(name: str, default: str, low: str, high: str, meaning: str) -> Key:
    """A time, kept in picoseconds."""
    return _quantity(Kind.TIME, name, default, low, high, meaning)


def clock(name: str, default: str | None, meaning: str, *, derived: str = "") -> Key:
    """A clock, written as a frequency, a data rate or a period; kept as a period in ps."""
    value = _base(default, units.CLOCK)
    return Key(name, Kind.CLOCK, meaning, value, derived, 100, 100_000)


def power(name: str, default: str, low: str, high: str, meaning: str) -> Key:
    """A power, kept in milliwatts."""
    return _quantity(Kind.POWER, name, default, low, high, meaning)


def energy(name: str, default: str, low: str, high: str, meaning: str) -> Key:
    """An energy, kept in picojoules."""
    return _quantity(Kind.ENERGY, name, default, low, high, meaning)


def voltage(name: str, low: str, high: str, meaning: str, *, derived: str) -> Key:
    """A voltage, kept in millivolts."""
    limits = (units.parse(low, units.VOLTAGE), units.parse(high, units.VOLTAGE))
    return Key(name, Kind.VOLTAGE, meaning, None, derived, *limits)


def current(name: str, low: str, high: str, meaning: str, *, derived: str) -> Key:
    """A current, kept in microamperes."""
    limits = (units.parse(low, units.CURRENT), units.parse(high, units.CURRENT))
    return Key(name, Kind.CURRENT, meaning, None, derived, *limits)


def rate(name: str, default: str, low: str, high: str, meaning: str) -> Key:
    """A data rate, kept in megatransfers a second."""
    return _quantity(Kind.RATE, name, default, low, high, meaning)


def real(
    name: str, default: float | None, low: float, high: float, meaning: str, *, derived: str = ""
) -> Key:
    """A number without a unit: a fraction, a ratio."""
    return Key(name, Kind.REAL, meaning, default, derived, low, high)


def flag(name: str, default: bool, meaning: str) -> Key:
    """True or false."""
    return Key(name, Kind.FLAG, meaning, default)


def choice(
    name: str, default: str | None, choices: Sequence[str], meaning: str, *, derived: str = ""
) -> Key:
    """One of a few names."""
    return Key(name, Kind.CHOICE, meaning, default, derived, choices=tuple(choices))


def fields(name: str, default: str, choices: Sequence[str], meaning: str) -> Key:
    """Names joined by '-', most significant first."""
    return Key(name, Kind.FIELDS, meaning, default, choices=tuple(choices))


def _base(text: str | None, dimension: Dimension) -> int | None:
    return None if text is None else units.parse(text, dimension)


def _quantity(kind: Kind, name: str, default: str, low: str, high: str, meaning: str) -> Key:
    values = [units.parse(text, DIMENSIONS[kind]) for text in (default, low, high)]
    return Key(name, kind, meaning, values[0], "", values[1], values[2])
