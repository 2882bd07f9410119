"""Numbers and sizes as people read them."""

from __future__ import annotations


def size(value: int) -> str:
    """4096 -> "4 KiB"; what is no whole number of a unit gets four digits at most."""
    for unit, shift in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if value >= 1 << shift:
            return f"{value / (1 << shift):.4g} {unit}"
    return f"{value} B"


def number(value: float) -> str:
    """Four significant digits, never an exponent."""
    if value == 0 or abs(value) >= 1000:
        return f"{value:,.0f}".replace(",", " ")
    return f"{float(f'{value:.4g}'):.6f}".rstrip("0").rstrip(".")
