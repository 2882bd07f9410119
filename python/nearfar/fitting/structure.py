"""Stage one of a fit: every identified finding becomes the key of the model that it names.

Pure functions from findings to values. A finding that is exact sets its key. One with a wider
interval sets it only where the base's value lies outside: the base's is as likely, and known to
make a machine that can be built.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from nearfar.errors import InputError
from nearfar.fitting.found import Fixed, Found, Values, fixed, holds, number
from nearfar.fitting.processor import following, processor
from nearfar.model import Model
from nearfar.model.key import Plain
from nearfar.model.schema import KEYS
from nearfar.results import Finding
from nearfar.results.findings import IDENTIFIED

_ON_DIMM = "nvdimm"


def structure(findings: Sequence[Finding], base: Model) -> Values:
    """The keys that the findings fix, on a machine like `base`.

    Raises InputError for findings that contradict each other.
    """
    found = {one.name: one for one in findings if one.status == IDENTIFIED}
    values: Values = {}
    if str(base["machine"]) != _ON_DIMM and sees_a_dimm(found):
        raise InputError(
            f"base: found {base.name}, a {base['machine']} machine, expected an nvdimm one: "
            "the findings are of a DIMM's buffers and queues"
        )
    if sees_a_dimm(found):
        for part in (_levels, _buffers, _queues, _interleave, _wear):
            values.update(part(found, base))
    if bool(base["cpu.caches"]):
        values.update(processor(found, base))
    return {key: one for key, one in values.items() if key in KEYS}


def derived(values: Mapping[str, Fixed], base: Model) -> dict[str, Plain]:
    """What has to follow the structure for the machine to be one that can be built."""
    if str(base["machine"]) != _ON_DIMM:
        return following(values, base)

    def now(key: str) -> Plain:
        return values[key].value if key in values else _of(base, key)

    made: dict[str, Plain] = {}
    lines = "nvdimm.lsq.lines"
    if lines in values:  # as full as the base's before blocks have to leave
        share = int(base["nvdimm.lsq.high"]) / int(base[lines])
        made["nvdimm.lsq.high"] = max(1, int(int(now(lines)) * share))
    levels = int(now("nvdimm.levels"))
    entries = [int(now(f"nvdimm.buffer.{level}.entry")) for level in range(1, levels + 1)]
    block = int(now("nvdimm.wear.block"))
    if "nvdimm.wear.block" not in values and block % entries[-1]:
        block = made["nvdimm.wear.block"] = max(block, entries[-1])
    page = block if levels == 1 else entries[-1]
    room = _room(base) // int(base["nvdimm.table.entry"]) * page
    if room < int(base["nvdimm.media.capacity"]):
        made["nvdimm.media.capacity"] = 1 << (room.bit_length() - 1)
    for level in range(1, levels + 1):
        ways, count = f"nvdimm.buffer.{level}.ways", f"nvdimm.buffer.{level}.entries"
        if count in values and ways not in values and int(now(count)) % int(now(ways)):
            made[ways] = now(count)  # in one set, which any number of entries makes
    return made


def _room(base: Model) -> int:
    """Bytes of the DRAM on the DIMM."""
    from nearfar.model.rules.machine import dram_capacity

    plain = {key: entry.value for key, entry in base.values.items()}
    return dram_capacity(plain, "nvdimm.dram")


def _of(base: Model, key: str) -> Plain:
    """The base's value, or the schema's where the base has fewer levels."""
    if key in base.values:
        return base[key]
    default = KEYS[key].default
    return 1 if default is None else default


def sees_a_dimm(found: Collection[str]) -> bool:
    """Whether findings of these names are of what only a DIMM has."""
    return any(
        name.startswith(("levels", "buffer.", "wpq.", "lsq.", "migration")) for name in found
    )


def _levels(found: Found, _: Model) -> Iterator[tuple[str, Fixed]]:
    if "levels" not in found:
        return
    one = found["levels"]
    levels = round(number(one))
    highest = KEYS["nvdimm.levels"].high or 0
    if not 1 <= levels <= highest:
        raise InputError(f"levels: found {levels} buffers, expected 1 to {highest:.0f} of a DIMM")
    beyond = [
        name
        for name in found
        if (match := re.fullmatch(r"buffer\.(\d+)\..*", name)) and int(match[1]) > levels
    ]
    if beyond:
        raise InputError(
            f"findings contradict each other: levels is {levels}, but {beyond[0]} was found, too"
        )
    yield "nvdimm.levels", fixed(one, levels)


def _buffers(found: Found, base: Model) -> Iterator[tuple[str, Fixed]]:
    for name, one in found.items():
        match = re.fullmatch(r"buffer\.(\d+)\.(entries|entry|ways|policy)", name)
        if match is None:
            continue
        value = str(one.value) if match[2] == "policy" else round(number(one))
        yield f"nvdimm.buffer.{match[1]}.{match[2]}", fixed(one, value)
        capacity = found.get(f"buffer.{match[1]}.capacity")
        entry = found.get(f"buffer.{match[1]}.entry")
        if match[2] == "entries" and capacity is not None and entry is not None:
            low, high = capacity.interval or (number(capacity), number(capacity))
            if not low <= number(one) * number(entry) <= high:
                raise InputError(
                    f"findings contradict each other: {name} is {number(one):.0f}, {entry.name} "
                    f"{number(entry):.0f} B, but {capacity.name} {number(capacity):.0f} B"
                )
    yield from _entries_by_capacity(found, base)


def _entries_by_capacity(found: Found, base: Model) -> Iterator[tuple[str, Fixed]]:
    """The entries of a buffer of which the capacity alone shows, with the base's entry size."""
    for level in range(1, int(KEYS["nvdimm.levels"].high or 0) + 1):
        capacity, key = found.get(f"buffer.{level}.capacity"), f"nvdimm.buffer.{level}"
        if capacity is None or f"buffer.{level}.entries" in found:
            continue
        size = found.get(f"buffer.{level}.entry")
        entry = round(number(size)) if size is not None else int(_of(base, f"{key}.entry"))
        ways = found.get(f"buffer.{level}.ways")
        sets = round(number(ways)) if ways is not None else int(_of(base, f"{key}.ways"))
        now = int(_of(base, f"{key}.entries")) * entry
        if not holds(capacity, now):
            entries = max(1, round(number(capacity) / (entry * sets))) * sets
            yield f"{key}.entries", fixed(capacity, entries, 1 / entry)


def _queues(found: Found, _: Model) -> Iterator[tuple[str, Fixed]]:
    for name, key in (("wpq.lines", "imc.wpq.lines"), ("lsq.lines", "nvdimm.lsq.lines")):
        if name in found:
            yield key, fixed(found[name], round(number(found[name])))
    drains = found.get("fence.drains_lsq")
    if drains is not None:
        yield "nvdimm.lsq.drain_on_fence", fixed(drains, drains.value == "yes")


def _interleave(found: Found, _: Model) -> Iterator[tuple[str, Fixed]]:
    for name, key in (("modules", "channels"), ("interleave", "imc.interleave")):
        if name in found:
            yield key, fixed(found[name], round(number(found[name])))


def _wear(found: Found, _: Model) -> Iterator[tuple[str, Fixed]]:
    moves = found.get("migration")
    if moves is None:
        return
    if moves.value != "yes":
        yield "nvdimm.wear.writes", fixed(moves, 0)
        for family in (1, 2):
            yield f"nvdimm.wear.minor.{family}.interval", fixed(moves, 0)
        return
    for name, key in (
        ("migration.period", "nvdimm.wear.writes"),
        ("migration.block", "nvdimm.wear.block"),
    ):
        if name in found:
            yield key, fixed(found[name], round(number(found[name])))
    if "migration.stall" in found:
        one = found["migration.stall"]
        stall = round(number(one) * 1000)
        # The queues take some writes before the writer notices: it sees less than the stall, and
        # how much less is not known, so there is no interval.
        yield "nvdimm.wear.stall", Fixed(stall, None, (one.name,))
