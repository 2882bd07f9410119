"""What a key may be: values in a list, or a range and how values are taken from it.

    1,2,6              a list
    1..6               whole numbers, each
    64..256:32         in steps
    4KiB..1MiB:x4      each four times the one before
    1..1000:log7       7 values, equal factors apart
    50ns..200ns:random20    20 drawn, independent of other keys
    50ns..200ns:lhs20       20 of a Latin hypercube over all such keys
    50ns..200ns        for --design and --minimise: anything between; :log draws logarithmically

Ends written as whole numbers give whole numbers of the first end's unit; ends with a decimal point
(1.0..2.5) give real numbers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from nearfar.errors import InputError
from nearfar.model import units

LINEAR, LOG = "linear", "log"
RANDOM, HYPERCUBE = "random", "lhs"
_MOST_VALUES = 1_000_000
_DIGITS = 6  # of a real number
_NUMBER = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)"
_QUANTITY = re.compile(rf"\s*({_NUMBER})\s*([A-Za-z/]*)\s*", re.ASCII)
_SCALES = (units.BYTES, units.TIME, units.POWER, units.ENERGY, units.BANDWIDTH, units.COUNT)
_FORMS = "a list 1,2,6 or a range 1..6, 64..256:32, 4KiB..1MiB:x4, 1..1000:log7, 1..9:random20"


@dataclass(frozen=True)
class Span:
    """From `low` to `high`, in `unit`; `whole` if only whole numbers of it are meant."""

    low: Fraction
    high: Fraction
    unit: str
    whole: bool
    scale: str = LINEAR

    def at(self, share: float) -> str:
        """The value at a share (0 to 1) of the way."""
        if self.scale == LOG:
            value = float(self.low) * (float(self.high) / float(self.low)) ** share
        else:
            value = float(self.low) + share * float(self.high - self.low)
        return self.write(value)

    def write(self, value: float | Fraction) -> str:
        """As text that a model file takes."""
        if self.whole:
            return _written(round(value), self.unit)
        rounded = f"{float(value):.{_DIGITS}g}"
        return f"{Decimal(rounded):f}{self.unit}"  # without an exponent


@dataclass(frozen=True)
class Range:
    """One key's range. Either `values`, or a `span` to draw from, by `draw` `count` times (random,
    lhs), or as a design or a sampler says (`is_open`)."""

    text: str
    values: tuple[str, ...] = ()
    span: Span | None = None
    draw: str = ""
    count: int = 0
    is_open: bool = False  # names no values, or each whole number: a design or a sampler may choose


def _written(value: int, unit: str) -> str:
    """A size in the largest unit of which it is a whole number; anything else as it is."""
    sizes = list(units.BYTES.units)
    while unit in sizes[:-1] and value and value % 1024 == 0:
        value //= 1024
        unit = sizes[sizes.index(unit) + 1]
    return f"{value}{unit}"


def parse_range(key: str, text: str) -> Range:
    """The range that `text` says. Raises InputError, which names the key."""
    ends, colon, how = text.partition(":") if ".." in text else (text, "", "")
    if ".." not in text:
        return Range(text, _listed(key, text.split(",")))
    if "," in text:
        raise InputError(f"{key}: found '{text}', expected a list or a range, not both")
    low, _, high = ends.partition("..")
    span = _span(key, text, low, high)
    if colon and not how:
        raise InputError(f"{key}: found '{text}' with nothing after ':', expected {_FORMS}")
    return _taken(key, text, span, how)


def values_range(key: str, values: Sequence[object]) -> Range:
    """The range that an array of a study file says."""
    texts = [_plain(key, value) for value in values]
    return Range(",".join(texts), _listed(key, texts))


def _plain(key: str, value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float, str)):
        return str(value)
    raise InputError(f"{key}: found {type(value).__name__}, expected numbers or texts")


def _listed(key: str, values: Sequence[str]) -> tuple[str, ...]:
    stripped = tuple(value.strip() for value in values)
    if not stripped or "" in stripped:
        raise InputError(f"{key}: found an empty value, expected {_FORMS}")
    twice = next((value for value in stripped if stripped.count(value) > 1), None)
    if twice is not None:
        raise InputError(f"{key}: found {twice} twice, expected each value once")
    return stripped


def _span(key: str, text: str, low: str, high: str) -> Span:
    first, second = _quantity(key, text, low), _quantity(key, text, high)
    whole = "." not in low and "." not in high
    if first[1] == second[1]:
        start, end, unit = first[0], second[0], first[1]
    else:
        start, end, unit = _same_unit(key, text, first, second)
    if not start < end:
        raise InputError(f"{key}: found '{text}', expected the lower end first")
    return Span(start, end, unit, whole)


def _quantity(key: str, text: str, part: str) -> tuple[Fraction, str]:
    match = _QUANTITY.fullmatch(part)
    if match is None:
        raise InputError(f"{key}: found '{part}' in '{text}', expected a number; {_FORMS}")
    return Fraction(match[1]), match[2]


def _same_unit(
    key: str, text: str, first: tuple[Fraction, str], second: tuple[Fraction, str]
) -> tuple[Fraction, Fraction, str]:
    """Both ends in the smaller of their units."""
    for dimension in _SCALES:
        if first[1] in dimension.units and second[1] in dimension.units:
            unit = min(first[1], second[1], key=lambda name: dimension.units[name])
            a, b = (n * dimension.units[u] / dimension.units[unit] for n, u in (first, second))
            return a, b, unit
    raise InputError(
        f"{key}: found '{text}', whose ends have different units; write both in the same"
    )


def _taken(key: str, text: str, span: Span, how: str) -> Range:
    """The values that `how`, what stands behind the colon, takes from the span."""
    if not how:
        return Range(text, _whole_numbers(span), span, is_open=True)
    if how == LOG:
        return Range(text, span=_logarithmic(key, text, span), is_open=True)
    match = re.fullmatch(r"(x|log-random|log-lhs|log|random|lhs)(\d+(?:\.\d+)?)", how)
    if match is None:
        return _in_steps(key, text, span, how)
    kind, number = match[1], Fraction(match[2])
    if kind == "x":
        return Range(text, _multiplied(key, text, span, number), span)
    if number.denominator != 1 or not 2 <= number <= _MOST_VALUES:
        raise InputError(f"{key}: found '{text}', expected 2 to {_MOST_VALUES} values")
    count = int(number)
    if kind.startswith(LOG):
        span = _logarithmic(key, text, span)
    draw = kind.removeprefix("log").removeprefix("-")
    if draw:
        return Range(text, span=span, draw=draw, count=count)
    spaced = dict.fromkeys(span.at(i / (count - 1)) for i in range(count))
    return Range(text, tuple(spaced), span)


def _whole_numbers(span: Span) -> tuple[str, ...]:
    """Each of a plain count; none of what has a unit, or is real: that is a span to draw from."""
    if span.unit or not span.whole or span.high - span.low >= _MOST_VALUES:
        return ()
    return tuple(str(n) for n in range(int(span.low), int(span.high) + 1))


def _logarithmic(key: str, text: str, span: Span) -> Span:
    if span.low <= 0:
        raise InputError(f"{key}: found '{text}', expected ends above 0 for a logarithmic range")
    return Span(span.low, span.high, span.unit, span.whole, LOG)


def _multiplied(key: str, text: str, span: Span, factor: Fraction) -> tuple[str, ...]:
    if factor <= 1 or span.low <= 0:
        raise InputError(f"{key}: found '{text}', expected a factor above 1 and ends above 0")
    count = math.floor(math.log(span.high / span.low) / math.log(factor) + 1e-9)
    if count >= _MOST_VALUES:
        raise InputError(f"{key}: found '{text}', which has over {_MOST_VALUES} values")
    values = (span.low * factor**i for i in range(count + 1))
    return tuple(dict.fromkeys(span.write(value) for value in values))


def _in_steps(key: str, text: str, span: Span, how: str) -> Range:
    match = _QUANTITY.fullmatch(how)
    if match is None:
        raise InputError(f"{key}: found ':{how}' in '{text}', expected {_FORMS}")
    step, unit = Fraction(match[1]), match[2]
    if unit not in ("", span.unit):
        smaller = _same_unit(key, text, (step, unit), (span.high, span.unit))
        step = smaller[0]
        low, _, name = _same_unit(key, text, (span.low, span.unit), (Fraction(1), unit))
        span = Span(low, smaller[1], name, span.whole, span.scale)
    if step <= 0 or (span.high - span.low) / step >= _MOST_VALUES:
        raise InputError(f"{key}: found '{text}', expected a step above 0, of a few values")
    real = Span(span.low, span.high, span.unit, span.whole and step.denominator == 1)
    count = int((span.high - span.low) / step)
    values = tuple(real.write(span.low + i * step) for i in range(count + 1))
    return Range(text, values, real)
