"""Sizes, counts and names of a pattern, and the one-line errors when they cannot stand."""

from __future__ import annotations

from nearfar.errors import InputError
from nearfar.model.units import BYTES, TIME, parse

LINE = 64  # bytes in a cache line, the unit of every access


def parse_size(option: str, text: str) -> int:
    """ "4KiB", "256 B" or "64" (bytes) as bytes. Raises InputError naming `option`."""
    text = text.strip()
    try:
        return int(text) if text.lstrip("+-").isdecimal() else parse(text, BYTES)
    except ValueError as error:
        raise InputError(f"{option}: {error}") from None


def parse_time_ns(option: str, value: float | str) -> float:
    """ "100ns", "1.5 us" or 100 (ns), not negative. Raises InputError naming `option`."""
    try:
        ns = parse(value, TIME) / 1000 if isinstance(value, str) else float(value)
    except ValueError as error:
        raise InputError(f"{option}: {error}") from None
    if not 0 <= ns < float("inf"):
        raise InputError(f"{option}: found {value}, expected a time of zero or more")
    return ns


def parse_value(option: str, text: str) -> str:
    """What a line holds: "0xf0" or "0x12345678...", 1, 2, 4... 64 bytes that are repeated."""
    digits = text.strip().lower().removeprefix("0x")
    whole = len(digits) in [2 << k for k in range(7)]
    if not whole or not set(digits) <= set("0123456789abcdef"):
        raise InputError(
            f"{option}: found '{text}', expected hexadecimal digits of 1, 2, 4... {LINE} bytes, "
            "such as 0xf0"
        )
    return f"0x{digits}"


def line_holding(value: str) -> bytes:
    """The bytes of a line that holds `value` again and again."""
    part = bytes.fromhex(value.removeprefix("0x"))
    return part * (LINE // len(part))


def line_multiple(option: str, size: int, multiple: int = LINE) -> None:
    if size % multiple:
        unit = "one cache line" if multiple == LINE else "one access"
        raise InputError(f"{option}: {size} B is not a multiple of {multiple} B, {unit}")


def at_least(option: str, value: int, least: int) -> None:
    if value < least:
        raise InputError(f"{option}: found {value}, expected at least {least}")


def parse_count(text: str) -> int:
    """A whole number. Raises ValueError saying what was found."""
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"found '{text}', expected a whole number") from None
