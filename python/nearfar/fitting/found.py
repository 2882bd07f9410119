"""What a finding says of a model's key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from nearfar.errors import InputError
from nearfar.model.key import Plain
from nearfar.results import Finding


@dataclass(frozen=True)
class Fixed:
    """A key's value in base units, the lowest and highest it may have where that is known, and the
    findings behind."""

    value: Plain
    interval: tuple[float, float] | None
    findings: tuple[str, ...]


Values = dict[str, Fixed]
Found = Mapping[str, Finding]


def fixed(one: Finding, value: Plain, unit: float = 1) -> Fixed:
    """What a finding says of a key. Its interval times `unit` is in the key's base units."""
    interval = None
    if one.interval is not None and not isinstance(value, (str, bool)):
        low, high = one.interval
        interval = (min(low * unit, float(value)), max(high * unit, float(value)))
    return Fixed(value, interval, (one.name,))


def number(one: Finding) -> float:
    """The finding's value. Raises InputError for a word."""
    if isinstance(one.value, (int, float)):
        return float(one.value)
    raise InputError(f"{one.name}: found {one.value!r}, expected a number")


def holds(one: Finding, value: float) -> bool:
    """Whether the finding's interval has room for the base's value."""
    return one.interval is not None and one.interval[0] <= value <= one.interval[1]
