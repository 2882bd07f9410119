"""Numbers and sizes as people read them."""

from __future__ import annotations

from collections.abc import Mapping


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


def joules(picojoules: float) -> str:
    """An energy in the unit that keeps it between 1 and 1000."""
    for unit, size_ in (("J", 1e12), ("mJ", 1e9), ("uJ", 1e6), ("nJ", 1e3)):
        if picojoules >= size_:
            return f"{number(picojoules / size_)} {unit}"
    return f"{number(picojoules)} pJ"


def energy_shares(parts: Mapping[str, int]) -> str:
    """What an energy went into, the largest first, in per cent; what is less than half of one
    is left out."""
    total = sum(parts.values())
    ordered = sorted(parts.items(), key=lambda item: (-item[1], item[0]))
    shown = [(name, 100 * part / total) for name, part in ordered if part]
    return ", ".join(f"{name} {share:.0f} %" for name, share in shown if share >= 0.5)


def counted(count: int, noun: str) -> str:
    """`1 point`, `2 points`."""
    return f"{count} {noun}" if count == 1 else f"{count:,} {noun}s"
