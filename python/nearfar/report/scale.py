"""Axes: from a value to a place on the page, and where the ticks stand."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from nearfar.results.wording import number, size


@dataclass(frozen=True)
class Tick:
    """A labelled place of an axis."""

    at: float
    label: str


@dataclass(frozen=True)
class LogScale:
    """Values `low` to `high` (both above zero) over the pixels `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        share = math.log(max(value, self.low / 10) / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.end - self.start)


@dataclass(frozen=True)
class LinearScale:
    """Values `low` to `high` over the pixels `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def log_span(values: Iterable[float], margin: float = 1.15) -> tuple[float, float]:
    """The span that shows every positive value, with a margin at both ends."""
    positive = [value for value in values if value > 0]
    low, high = min(positive) / margin, max(positive) * margin
    # Less than a factor of two would make noise look like a cliff.
    if high / low < 2:
        middle = math.sqrt(low * high)
        low, high = middle / math.sqrt(2), middle * math.sqrt(2)
    return low, high


def decimal_ticks(low: float, high: float) -> list[Tick]:
    """Round numbers that lie inside, as many as can be read."""
    found: list[list[Tick]] = []
    for digits in _DIGITS:
        found.append(
            [
                Tick(value, number(value))
                for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
                for digit in digits
                if low <= (value := digit * 10.0**power) <= high
            ]
        )
    return min(found, key=lambda ticks: abs(len(ticks) - _PLEASANT))


_PLEASANT = 6  # ticks on an axis
# Leading digits of ticks, from the coarsest set to the finest.
_DIGITS: tuple[tuple[float, ...], ...] = (
    (1,),
    (1, 2, 5),
    (1, 1.5, 2, 3, 4, 5, 7),
    (1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9),
    tuple(n / 10 for n in range(10, 100)),
)


def linear_ticks(low: float, high: float, wanted: int) -> list[Tick]:
    """Multiples of a round step that lie inside: about `wanted`, never many more."""
    rough = (high - low) / wanted
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * digit for digit in (1, 2, 5, 10) if power * digit >= rough * 0.999)
    return [
        Tick(n * step, number(n * step))
        for n in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
    ]


def binary_ticks(low: float, high: float) -> list[Tick]:
    """Powers of two with sizes as labels, every fourth power when there are many."""
    powers = range(math.ceil(math.log2(low)), math.floor(math.log2(high)) + 1)
    step = 4 if len(powers) > 12 else 2 if len(powers) > 6 else 1
    return [Tick(2.0**p, size(1 << p)) for p in powers if p % step == 2 % step]


TICKS: dict[str, Callable[[float, float], list[Tick]]] = {"B": binary_ticks}


def ticks_for(unit: str, low: float, high: float) -> list[Tick]:
    """The ticks that suit a unit: sizes in powers of two, everything else decimal."""
    return TICKS.get(unit, decimal_ticks)(low, high)
