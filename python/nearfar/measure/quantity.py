"""Sizes, counts and names of a pattern, and the one-line errors when they cannot stand."""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.errors import InputError, suggestion
from nearfar.model.units import BYTES, parse

LINE = 64  # bytes in a cache line, the unit of every access


def parse_size(option: str, text: str) -> int:
    """ "4KiB", "256 B" or "64" (bytes) as bytes. Raises InputError naming `option`."""
    text = text.strip()
    try:
        return int(text) if text.lstrip("+-").isdecimal() else parse(text, BYTES)
    except ValueError as error:
        raise InputError(f"{option}: {error}") from None


def line_multiple(option: str, size: int, multiple: int = LINE) -> None:
    if size % multiple:
        unit = "one cache line" if multiple == LINE else "one access"
        raise InputError(f"{option}: {size} B is not a multiple of {multiple} B, {unit}")


def at_least(option: str, value: int, least: int) -> None:
    if value < least:
        raise InputError(f"{option}: found {value}, expected at least {least}")


def choice(option: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        hint = suggestion(value, known)
        raise InputError(f"{option}: unknown '{value}', expected one of {', '.join(known)}{hint}")


def parse_count(text: str) -> int:
    """A whole number. Raises ValueError saying what was found."""
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"found '{text}', expected a whole number") from None
