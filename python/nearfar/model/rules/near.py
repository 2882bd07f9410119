"""Near memories that no machine can have, and what one holds if the model does not say."""

from __future__ import annotations

from collections.abc import Iterator

from nearfar.model.rules.machine import Problem, Values, dram_capacity
from nearfar.model.units import BYTES, format_quantity

_TAG = 8  # bytes of a way's tag, where tags lie among the data


def near_capacity(values: Values) -> int:
    """All the near DRAM in whole sets, less what their tags take."""
    there = _near_dram(values)
    if values["near.kind"] == "tier":
        return there
    line, ways = _number(values, "near.line"), _number(values, "near.ways")
    if values["near.tags"] == "data":
        # A line's worth less, for the tags' last line need not be full.
        there = (there - 64) * line // (line + _TAG)
    return there - there % (line * ways)


def problems(values: Values) -> Iterator[Problem]:
    """Every rule on the near memory that the values break, in a fixed order."""
    if values["near.kind"] == "none":
        return
    if values["near.kind"] == "tier":
        if _number(values, "near.capacity") > _near_dram(values):
            expected = f"at most the near DRAM ({_text(_near_dram(values))})"
            yield Problem("near.capacity", ("near.channels", "near.dram.ranks"), expected)
        return
    yield from _lines(values)
    yield from _capacities(values)
    if values["near.write"] == "through" and values["near.dirty"] == "sector":
        expected = "line: what is written through is never written back"
        yield Problem("near.dirty", ("near.write",), expected)
    if values.get("imc.domain") == "eadr" and values["near.app_direct"] == 0:
        expected = "adr: in Memory Mode nothing survives a loss of power"
        yield Problem("imc.domain", ("near.kind", "near.app_direct"), expected)
    if values["near.prefetch"] != "none" and not values["near.inclusive"]:
        expected = "none: a near memory that keeps nothing it reads has no place for more"
        yield Problem("near.prefetch", ("near.inclusive",), expected)


def _lines(values: Values) -> Iterator[Problem]:
    for interleave in ("near.interleave", "imc.interleave"):
        if _number(values, interleave) % _number(values, "near.line"):
            expected = f"a divisor of {interleave}, so that a line lies on one channel"
            yield Problem("near.line", (interleave,), expected)


def _capacities(values: Values) -> Iterator[Problem]:
    capacity, line, ways = (
        _number(values, name) for name in ("near.capacity", "near.line", "near.ways")
    )
    if capacity % (line * ways):
        yield Problem("near.capacity", ("near.line", "near.ways"), "whole sets of lines")
    tags = -(-(capacity // line * _TAG) // 64) * 64 if values["near.tags"] == "data" else 0
    there = _near_dram(values)
    if capacity + tags > there:
        what = f"at most the near DRAM ({_text(there)})"
        if tags:
            what += f" with {_text(tags)} of tags in it"
        yield Problem("near.capacity", ("near.channels", "near.dram.ranks"), what)
    far = _number(values, "capacity") * _number(values, "channels")
    direct = _number(values, "near.app_direct")
    if direct > far:
        expected = f"at most the {_text(far)} of far memory"
        yield Problem("near.app_direct", ("capacity", "channels"), expected)
    elif direct % line:
        yield Problem("near.app_direct", ("near.line",), "a multiple of near.line")
    elif capacity > far - direct:
        expected = f"at most the {_text(far - direct)} of far memory that it caches"
        yield Problem("near.capacity", ("capacity", "channels", "near.app_direct"), expected)


def _near_dram(values: Values) -> int:
    return dram_capacity(values, "near.dram") * _number(values, "near.channels")


def _text(size: int) -> str:
    return format_quantity(size, BYTES)


def _number(values: Values, key: str) -> int:
    value = values[key]
    assert isinstance(value, int)
    return value
