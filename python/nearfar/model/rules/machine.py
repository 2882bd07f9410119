"""Combinations of values that no machine can have.

Ranges of single keys are in the schema; a rule here needs two keys or more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

from nearfar.model.key import Plain
from nearfar.model.units import BYTES, POWER, format_quantity

Values = Mapping[str, Plain]

MOST_BANKS = 64
MOST_POSTPONED_1X = 4


@dataclass(frozen=True)
class Problem:
    """A broken rule: what `key` should be, given `others`; any of them may be at fault."""

    key: str
    others: tuple[str, ...]
    expected: str


def problems(values: Values) -> Iterator[Problem]:
    """Every rule the values break, in a fixed order."""
    if values["machine"] == "dram":
        yield from _dram(values, "dram")
        yield from _dram_capacity(values)
    else:
        yield from _dram(values, "nvdimm.dram")
        yield from _nvdimm(values)
    if values["near.kind"] != "none":
        yield from _dram(values, "near.dram")
    yield from _multiple(values, "capacity", "imc.interleave")
    yield from _caches(values)


def dram_capacity(values: Values, prefix: str) -> int:
    """Bytes of the DRAM channel below `prefix`: its geometry on 64 bits, or 32 a subchannel."""
    subchannels = values.get(f"{prefix}.subchannels", 0)
    assert isinstance(subchannels, int)
    capacity = 4 * subchannels or 8  # bytes of one column over the bus
    for name in ("ranks", "bank_groups", "banks", "rows", "columns"):
        capacity *= _number(values, f"{prefix}.{name}")
    return capacity


_TLBS = (
    ("l1.entries", "l1.ways"),
    ("l1.huge_entries", "l1.huge_ways"),
    ("l2.entries", "l2.ways"),
)


def _caches(values: Values) -> Iterator[Problem]:
    """Caches and TLBs of the processor: whole sets, and what contains what."""
    for level in ("cpu.l1", "cpu.l2", "cpu.l3"):
        size, ways, slices = f"{level}.size", f"{level}.ways", f"{level}.slices"
        parts = (ways, slices) if slices in values else (ways,)
        way = 64
        for part in parts:
            way *= _number(values, part)
        if _number(values, size) % way != 0:
            yield Problem(size, parts, f"a multiple of 64 B times {' times '.join(parts)}")
    yield from _at_least(values, "cpu.l2.size", "cpu.l1.size")
    if values["cpu.l3.inclusive"]:
        yield from _at_least(values, "cpu.l3.size", "cpu.l2.size")
    if _number(values, "cpu.page") not in (4096, 2 << 20):
        yield Problem("cpu.page", (), "4 KiB or 2 MiB")
    for entries, ways in _TLBS:
        yield from _multiple(values, f"cpu.tlb.{entries}", f"cpu.tlb.{ways}")


def _nvdimm(values: Values) -> Iterator[Problem]:
    levels = _number(values, "nvdimm.levels")
    for level in range(1, levels + 1):
        yield from _buffer(values, level, translates=level == levels > 1)
    page = _page(values)
    yield from _multiple(values, "nvdimm.wear.block", "nvdimm.media.access")
    yield from _multiple(values, "nvdimm.wear.block", f"nvdimm.buffer.{levels}.entry")
    yield from _multiple(values, "imc.interleave", "nvdimm.buffer.1.entry")
    yield from _multiple(values, "capacity", page)
    yield from _multiple(values, "capacity", "nvdimm.wear.block")
    yield from _at_most(values, "capacity", "nvdimm.media.capacity")
    yield from _lazy(values)
    budget, static = "nvdimm.power_budget", "nvdimm.power_static"
    if _number(values, budget) <= _number(values, static):
        yield Problem(budget, (static,), f"more than {static}")
    yield from _idle_power(values, static)
    yield from _on_dimm_dram(values, page)


def _lazy(values: Values) -> Iterator[Problem]:
    """A Lazy cache has whole entries in both levels, and wear records to admit lines by."""
    if not values["nvdimm.lazy.enabled"]:
        return
    if values["nvdimm.wear.writes"] == 0:
        text = "1 or more: a Lazy cache admits lines by the records of wear-levelling"
        yield Problem("nvdimm.wear.writes", ("nvdimm.lazy.enabled",), text)
    entry, first, second = (f"nvdimm.lazy.{name}" for name in ("lz2.entry", "lz1.size", "lz2.size"))
    yield from _at_most(values, entry, "nvdimm.media.access")
    yield from _multiple(values, second, entry)
    yield from _at_least(values, second, first)
    if _number(values, first) % 64 != 0:
        yield Problem(first, (), "a multiple of 64 B")


def _idle_power(values: Values, static: str) -> Iterator[Problem]:
    """What a DIMM draws at idle is not less than what the DRAM on it does."""
    energy = "nvdimm.dram.energy"
    devices = 64 // _number(values, "nvdimm.dram.width") * _number(values, "nvdimm.dram.ranks")
    nanowatts = sum(
        _number(values, f"{energy}.{supply}") * _number(values, f"{energy}.{current}")
        for supply, current in (("vdd", "idd3n"), ("vpp", "ipp3n"))
    )
    standby = -(-devices * nanowatts // 10**6)  # mV uA are nW; up to whole mW
    if _number(values, static) < standby:
        text = f"at least {format_quantity(standby, POWER)}, the standby of nvdimm.dram"
        yield Problem(static, (f"{energy}.idd3n",), text)


def _buffer(values: Values, level: int, *, translates: bool) -> Iterator[Problem]:
    """One level, and what it owes to the one before it."""
    entries, entry, ways = (
        f"nvdimm.buffer.{level}.{name}" for name in ("entries", "entry", "ways")
    )
    access = "nvdimm.media.access"
    yield from _at_most(values, ways, entries)
    yield from _multiple(values, entries, ways)
    if translates:
        yield from _at_least(values, entry, access)
    elif _number(values, entries) * _number(values, entry) < _number(values, access):
        yield Problem(entries, (entry, access), f"enough to hold one {access}")
    if level == 1:
        return
    before = [f"nvdimm.buffer.{level - 1}.{name}" for name in ("entries", "entry")]
    yield from _at_least(values, entry, before[1])
    if not translates and _number(values, entries) * _number(values, entry) < (
        _number(values, before[0]) * _number(values, before[1])
    ):
        whole = f"room for all of nvdimm.buffer.{level - 1}, which it includes"
        yield Problem(entries, (entry, *before), whole)


def _page(values: Values) -> str:
    """The key that says what one entry of the indirection table maps."""
    levels = _number(values, "nvdimm.levels")
    return "nvdimm.wear.block" if levels == 1 else f"nvdimm.buffer.{levels}.entry"


def _on_dimm_dram(values: Values, page: str) -> Iterator[Problem]:
    """The indirection table and the data of the last buffer share the DRAM on the DIMM."""
    needed = _number(values, "capacity") // _number(values, page)
    needed *= _number(values, "nvdimm.table.entry")
    others = (page, "capacity")
    last = f"nvdimm.buffer.{_number(values, 'nvdimm.levels')}"
    if values.get(f"{last}.fill", "none") != "none":
        needed += _number(values, f"{last}.entries") * _number(values, f"{last}.entry")
        others = (f"{last}.entries", "capacity")
    there = dram_capacity(values, "nvdimm.dram")
    if needed > there:
        yield Problem(
            "nvdimm.table.entry",
            others,
            f"a table and buffer ({format_quantity(needed, BYTES)}) that fit the on-DIMM DRAM "
            f"({format_quantity(there, BYTES)})",
        )


def _dram(values: Values, prefix: str) -> Iterator[Problem]:
    low, high = f"{prefix}.queue.write_low", f"{prefix}.queue.write_high"
    yield from _at_most(values, high, f"{prefix}.queue.write")
    if _number(values, low) >= _number(values, high):
        yield Problem(low, (high,), f"less than {high}")
    timing = f"{prefix}.timing"
    yield from _at_most(values, f"{timing}.ccd_s", f"{timing}.ccd_l")
    yield from _at_most(values, f"{timing}.rrd_s", f"{timing}.rrd_l")
    yield from _at_most(values, f"{timing}.wtr_s", f"{timing}.wtr_l")
    ddr5 = values[f"{prefix}.standard"] == "DDR5"
    length, right = f"{prefix}.burst_length", 16 if ddr5 else 8
    if _number(values, length) != right:
        yield Problem(length, (f"{prefix}.standard",), f"{right}: a line in one burst")
    yield from _banks(values, prefix)
    if ddr5:
        yield from _ddr5(values, prefix)
    burst = _number(values, length) // 2
    if _number(values, f"{timing}.ccd_s") < burst:
        yield Problem(f"{timing}.ccd_s", (), f"at least the {burst} clocks of a burst")
    refi, rfc = f"{timing}.refi", f"{timing}.rfc"
    if values[f"{prefix}.refresh.enabled"] and _number(values, refi) < 4 * _number(values, rfc) / 3:
        yield Problem(refi, (rfc,), f"at least 4/3 of {rfc}: some time between refreshes")
    cycle, parts = f"{timing}.rc", (f"{timing}.ras", f"{timing}.rp")
    if _number(values, cycle) < sum(_number(values, part) for part in parts):
        yield Problem(cycle, parts, f"at least {' + '.join(parts)}")
    yield from _currents(values, f"{prefix}.energy")


def _currents(values: Values, energy: str) -> Iterator[Problem]:
    """What a command is measured with contains the standby current."""
    for least, most in (
        ("idd2n", "idd3n"),
        ("idd3n", "idd4r"),
        ("idd3n", "idd4w"),
        ("idd2n", "idd5b"),
    ):
        yield from _at_most(values, f"{energy}.{least}", f"{energy}.{most}")
    for name in ("ipp0", "ipp4r", "ipp4w", "ipp5b"):
        yield from _at_least(values, f"{energy}.{name}", f"{energy}.ipp3n")


def _banks(values: Values, prefix: str) -> Iterator[Problem]:
    """The controller keeps a bit a bank in a word."""
    parts = tuple(f"{prefix}.{name}" for name in ("ranks", "bank_groups", "banks"))
    if prod(_number(values, part) for part in parts) > MOST_BANKS:
        yield Problem(parts[0], parts[1:], f"at most {MOST_BANKS} banks in all ranks")


def _ddr5(values: Values, prefix: str) -> Iterator[Problem]:
    timing = f"{prefix}.timing"
    yield from _at_most(values, f"{timing}.ccd_s", f"{timing}.ccd_l_wr")
    yield from _at_most(values, f"{timing}.ccd_s", f"{timing}.ccd_l_wr2")
    postpone, granularity = f"{prefix}.refresh.postpone", f"{prefix}.refresh.granularity"
    if values[granularity] == "1x" and _number(values, postpone) > MOST_POSTPONED_1X:
        yield Problem(postpone, (granularity,), f"at most {MOST_POSTPONED_1X}, as JESD79-5 says")
    banks, interval = f"{prefix}.refresh.banks", f"{timing}.refi"
    if values[banks] != "same":
        return
    if values[granularity] != "2x":
        yield Problem(granularity, (banks,), "2x, of which JESD79-5 has same-bank refresh")
    share = _number(values, interval) // _number(values, f"{prefix}.banks")
    if share < _number(values, f"{timing}.rfc_sb") * 4 // 3:
        expected = f"time between refreshes of {timing}.rfc_sb, one a bank of a group"
        yield Problem(interval, (f"{timing}.rfc_sb",), expected)


def _dram_capacity(values: Values) -> Iterator[Problem]:
    capacity = dram_capacity(values, "dram")
    if _number(values, "capacity") != capacity:
        text = format_quantity(capacity, BYTES)
        yield Problem("capacity", (), f"{text}, as the geometry of dram gives")


def _multiple(values: Values, key: str, divisor: str) -> Iterator[Problem]:
    if _number(values, key) % _number(values, divisor) != 0:
        yield Problem(key, (divisor,), f"a multiple of {divisor}")


def _at_least(values: Values, key: str, limit: str) -> Iterator[Problem]:
    if _number(values, key) < _number(values, limit):
        yield Problem(key, (limit,), f"at least {limit}")


def _at_most(values: Values, key: str, limit: str) -> Iterator[Problem]:
    if _number(values, key) > _number(values, limit):
        yield Problem(key, (limit,), f"at most {limit}")


def _number(values: Values, key: str) -> int:
    value = values[key]
    assert isinstance(value, int)
    return value
