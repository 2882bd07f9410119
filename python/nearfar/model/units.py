"""Quantities with units: text as people write it, whole numbers of base units inside.

Base units are those of an exported model: bytes, picoseconds, milliwatts, picojoules,
millivolts, microamperes and megatransfers a second; plain numbers may end in k, M or G.
Arithmetic is exact: a quantity that is not a whole number of its base unit is refused rather
than rounded. Only clock periods are rounded, to the picosecond, because a frequency such as
2.2 GHz has no exact period.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache


@dataclass(frozen=True, eq=False)
class Dimension:
    """Units of one physical dimension, each with its size in base units, smallest first. Each is
    equal to itself only, so that what was parsed can be kept by it."""

    noun: str
    example: str
    units: dict[str, int]


BYTES = Dimension(
    "a size",
    "16 KiB",
    {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40},
)
TIME = Dimension(
    "a time",
    "137 ns",
    {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12},
)
RATE = Dimension("a data rate", "2666 MT/s", {"MT/s": 1})
BANDWIDTH = Dimension(
    "a bandwidth",
    "2 GB/s",
    {
        "B/s": 1,
        **{"kB/s": 10**3, "KiB/s": 1 << 10, "MB/s": 10**6, "MiB/s": 1 << 20},
        **{"GB/s": 10**9, "GiB/s": 1 << 30},
    },
)
POWER = Dimension("a power", "15 W", {"mW": 1, "W": 10**3})
ENERGY = Dimension("an energy", "12 nJ", {"pJ": 1, "nJ": 10**3, "uJ": 10**6})
VOLTAGE = Dimension("a voltage", "1.2 V", {"mV": 1, "V": 10**3})
CURRENT = Dimension("a current", "46 mA", {"uA": 1, "mA": 10**3, "A": 10**6})

# Cycles a second. Data rates are double: two transfers a clock.
_FREQUENCY = {"MHz": 10**6, "GHz": 10**9, "MT/s": 10**6 // 2}
COUNT = Dimension("a number", "100 M", {"": 1, "k": 10**3, "M": 10**6, "G": 10**9})
CLOCK = Dimension(
    "a clock",
    "2.2 GHz",
    {"ps": 1, "ns": 10**3, **_FREQUENCY},
)

_QUANTITY = re.compile(r"\s*([+-]?(?:\d+(?:\.\d*)?|\.\d+))\s*(\S*)\s*", re.ASCII)


# Standards' timings are the same texts in every model of a sweep.
@lru_cache(maxsize=4096)
def parse(text: str, dimension: Dimension) -> int:
    """`text` in base units of `dimension`; ValueError says what was found and expected."""
    number, unit = _split(text, dimension)
    if dimension is CLOCK:
        return _period(number, unit, text)
    value = number * dimension.units[unit]
    if value.denominator != 1:
        smallest = next(iter(dimension.units))
        whole = f"a whole number of {smallest}" if smallest else "a whole number"
        raise ValueError(f"found '{text}', expected {whole}")
    return value.numerator


def format_quantity(value: int, dimension: Dimension) -> str:
    """`value` in the largest unit that keeps it exact and short: `parse` gives it back."""
    if dimension is CLOCK:
        return f"{value} ps"
    for unit, size in reversed(dimension.units.items()):
        # Sizes stay whole (1536 B); decimal units may take up to three places (137.5 ns).
        places = 1 if dimension is BYTES else 1000
        if value >= size and value * places % size == 0:
            return f"{(Decimal(value) / size).normalize():f} {unit}"
    return f"{value} {next(iter(dimension.units))}"


def _split(text: str, dimension: Dimension) -> tuple[Fraction, str]:
    expected = f"{dimension.noun} such as '{dimension.example}'"
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError(f"found '{text}', expected {expected}")
    number, unit = match.groups()
    if unit in dimension.units:
        return Fraction(number), unit
    if not unit:
        raise ValueError(f"found '{text}' without a unit, expected {expected}")
    near = _nearest(unit, dimension.units)
    hint = f"; did you mean '{number} {near}'?" if near else ""
    units = ", ".join(filter(None, dimension.units))
    raise ValueError(f"found unit '{unit}', expected {dimension.noun} in {units}{hint}")


def _period(number: Fraction, unit: str, text: str) -> int:
    if number <= 0:
        raise ValueError(f"found '{text}', expected a clock above zero")
    if unit in _FREQUENCY:
        return round(TIME.units["s"] / (number * _FREQUENCY[unit]))
    return round(number * TIME.units[unit])


def _nearest(unit: str, units: Iterable[str]) -> str | None:
    """The unit that this one is most like; none where two are equally like it."""
    likeness = {
        name: difflib.SequenceMatcher(None, unit.lower(), name.lower()).ratio() for name in units
    }
    best = max(likeness.values())
    nearest = [name for name in likeness if likeness[name] == best]
    return nearest[0] if best >= 0.5 and len(nearest) == 1 else None
