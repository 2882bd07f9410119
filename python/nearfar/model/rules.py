"""Combinations of values that no machine can have, each with the keys it is about.

Ranges of single keys are in the schema; a rule here needs two keys or more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from nearfar.model.key import Plain

Values = Mapping[str, Plain]


@dataclass(frozen=True)
class Problem:
    """An impossible combination: the keys involved, most likely culprit first."""

    keys: tuple[str, ...]
    expected: str


def problems(values: Values) -> Iterator[Problem]:
    """Every rule the values break, in a fixed order."""
    if values["machine"] == "dram":
        yield from _dram(values, "dram")
        yield from _dram_capacity(values)
    else:
        yield from _dram(values, "nvdimm.dram")
        yield from _nvdimm(values)
    yield from _multiples(values, ("capacity", "imc.interleave"))


def _nvdimm(values: Values) -> Iterator[Problem]:
    for level in ("nvdimm.buffer.1", "nvdimm.buffer.2"):
        yield from _at_most(values, (f"{level}.ways", f"{level}.entries"))
        yield from _multiples(values, (f"{level}.entries", f"{level}.ways"))
    yield from _multiples(
        values,
        ("nvdimm.buffer.2.entry", "nvdimm.buffer.1.entry"),
        ("nvdimm.buffer.2.entry", "nvdimm.media.access"),
        ("imc.interleave", "nvdimm.buffer.1.entry"),
        ("nvdimm.wear.block", "nvdimm.media.access"),
        ("capacity", "nvdimm.buffer.2.entry"),
        ("capacity", "nvdimm.wear.block"),
    )
    yield from _at_most(
        values,
        ("capacity", "nvdimm.media.capacity"),
        ("nvdimm.lsq.combine", "nvdimm.buffer.1.entry"),
    )
    if _number(values, "nvdimm.power_static") >= _number(values, "nvdimm.power_budget"):
        yield Problem(
            ("nvdimm.power_budget", "nvdimm.power_static"), "a budget above nvdimm.power_static"
        )
    yield from _on_dimm_dram(values)


def _on_dimm_dram(values: Values) -> Iterator[Problem]:
    """The indirection table and the AIT buffer share the DRAM on the DIMM."""
    entry = _number(values, "nvdimm.buffer.2.entry")
    table = _number(values, "capacity") // entry * _number(values, "nvdimm.table.entry")
    needed = table + _number(values, "nvdimm.buffer.2.entries") * entry
    if needed > dram_capacity(values, "nvdimm.dram"):
        yield Problem(
            (
                "nvdimm.buffer.2.entries",
                "nvdimm.table.entry",
                "capacity",
                "nvdimm.media.capacity",
                "nvdimm.dram.density_gbit",
                "nvdimm.dram.rows",
            ),
            f"a table and buffer that fit the on-DIMM DRAM of "
            f"{dram_capacity(values, 'nvdimm.dram')} B (they need {needed} B)",
        )


def _dram(values: Values, prefix: str) -> Iterator[Problem]:
    yield from _at_most(values, (f"{prefix}.queue.write_high", f"{prefix}.queue.write"))
    low, high = f"{prefix}.queue.write_low", f"{prefix}.queue.write_high"
    if _number(values, low) >= _number(values, high):
        yield Problem((low, high), f"less than {high}")
    for short, long in (
        ("ccd_s", "ccd_l"), ("rrd_s", "rrd_l"), ("wtr_s", "wtr_l"), ("rrd_s", "faw"),
        ("rcd", "ras"), ("cke", "ckesr"), ("rfc", "xs"), ("rfc", "refi"),
    ):  # fmt: skip
        yield from _at_most(values, (f"{prefix}.timing.{short}", f"{prefix}.timing.{long}"))
    cycle, parts = f"{prefix}.timing.rc", (f"{prefix}.timing.ras", f"{prefix}.timing.rp")
    if _number(values, cycle) < sum(_number(values, part) for part in parts):
        yield Problem((cycle, *parts), f"at least {parts[0]} + {parts[1]}")
    yield from _mapping(values, f"{prefix}.mapping")


def _mapping(values: Values, key: str) -> Iterator[Problem]:
    fields = sorted(str(values[key]).split("-"))
    whole = sorted(("row", "rank", "bank_group", "bank", "column"))
    split = sorted(("row", "rank", "bank_group", "bank", "column_high", "column_low"))
    if fields not in (whole, split):
        yield Problem(
            (key,),
            "row, rank, bank_group, bank and column (or column_high and column_low) once each",
        )


def _dram_capacity(values: Values) -> Iterator[Problem]:
    capacity = dram_capacity(values, "dram")
    if _number(values, "capacity") != capacity:
        yield Problem(("capacity",), f"'{capacity} B', which is what the dram geometry gives")


def dram_capacity(values: Values, prefix: str) -> int:
    """Bytes of the DRAM channel below `prefix`: its geometry on a 64-bit bus."""
    capacity = 8  # bytes of one column over the bus
    for name in ("ranks", "bank_groups", "banks", "rows", "columns"):
        capacity *= _number(values, f"{prefix}.{name}")
    return capacity


def _multiples(values: Values, *pairs: tuple[str, str]) -> Iterator[Problem]:
    for key, divisor in pairs:
        if _number(values, key) % _number(values, divisor) != 0:
            yield Problem((key, divisor), f"{key} to be a multiple of {divisor}")


def _at_most(values: Values, *pairs: tuple[str, str]) -> Iterator[Problem]:
    for key, limit in pairs:
        if _number(values, key) > _number(values, limit):
            yield Problem((key, limit), f"at most {limit}")


def _number(values: Values, key: str) -> int:
    value = values[key]
    assert isinstance(value, int)
    return value
