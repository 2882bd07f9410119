"""Random DIMMs: machines that nothing was tuned for.

What finds out about DIMMs by measuring them is tested on these: a plausible part with buffers,
queues, interleaving and wear levelling that differ from any preset's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random
from typing import TypeVar

from nearfar.model.key import Plain
from nearfar.model.schema import KEYS
from nearfar.model.units import BYTES, format_quantity

KIB = 1024
GIB = 1024**3

ENTRIES = (8, 8192)
ROUND_ENTRIES = tuple(8 << i for i in range(11))
ENTRY = tuple(64 << i for i in range(8))  # 64 B to 8 KiB
WAYS = tuple(range(1, 17))  # or all
POLICIES = ("fifo", "lru", "random")
LEVELS = (1, 2, 3)
CHANNELS = tuple(range(1, 7))
INTERLEAVE = tuple(KIB << i for i in range(5))  # 1 KiB to 16 KiB
WPQ_LINES = tuple(range(4, 17))
LSQ_LINES = tuple(range(16, 129))
WEAR_WRITES = (2_000, 20_000)
WEAR_BLOCK = tuple(4 * KIB << i for i in range(5))  # 4 KiB to 64 KiB
CAPACITY = tuple(GIB << i for i in range(4, 9))  # 16 GiB to 256 GiB

CAPACITY_RATIO = 4  # between the capacities of neighbouring levels, at least

Item = TypeVar("Item")


class Draw:
    """Draws by `Random.random` alone, the one method that is the same in every Python."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def one_of(self, items: Sequence[Item]) -> Item:
        return items[int(self._random.random() * len(items))]

    def between(self, low: float, high: float) -> float:
        return low + self._random.random() * (high - low)

    def magnitude(self, low: int, high: int) -> int:
        """A whole number, every order of magnitude as likely."""
        return min(high, int(low * ((high + 1) / low) ** self._random.random()))

    def chance(self, probability: float) -> bool:
        return self._random.random() < probability


@dataclass(frozen=True)
class _Buffer:
    entries: int
    entry: int
    ways: int
    policy: str

    @property
    def capacity(self) -> int:
        return self.entries * self.entry


def random_model(seed: int) -> str:
    """The text of a model file: a random, plausible DIMM, the same for the same seed.

    One to three buffer levels, each at least four times as large as the one before; 8 to 8,192
    entries of 64 B to 8 KiB, 1 to 16 ways or full, FIFO, LRU or random replacement; a write
    pending queue of 4 to 16 lines, a load-store queue of 16 to 128; 1 to 6 channels interleaved
    by 1 to 16 KiB; wear levelling every 2,000 to 20,000 writes of a block, or never. Times are
    such that a hit in one level and a hit in the next are at least 30 ns apart. What is not in
    the file has the schema's default.
    """
    draw = Draw(seed)
    interleave = draw.one_of(INTERLEAVE)
    buffers = _buffers(draw, draw.one_of(LEVELS), interleave)
    values: dict[str, Plain] = {
        "machine": "nvdimm",
        "channels": draw.one_of(CHANNELS),
        "seed": seed % 2**32,
        "imc.interleave": interleave,
        "imc.wpq.lines": draw.one_of(WPQ_LINES),
        "nvdimm.levels": len(buffers),
    }
    _queues(draw, values)
    for level, buffer in enumerate(buffers, start=1):
        _buffer(draw, values, level, buffer, len(buffers))
    values["nvdimm.table.latency"] = _ns(draw.between(20, 60))
    _wear(draw, values, largest=max(buffer.entry for buffer in buffers))
    _media(draw, values)
    return _text(seed, values, buffers)


def _buffers(draw: Draw, levels: int, interleave: int) -> list[_Buffer]:
    """All levels anew until they fit together, so that none is drawn from a leftover range."""
    access = _default("nvdimm.media.access")
    while True:
        buffers = [_one_buffer(draw) for _ in range(levels)]
        first, last = buffers[0], buffers[-1]
        pairs = list(pairwise(buffers))
        if (
            all(lower.entry >= upper.entry for upper, lower in pairs)
            and all(lower.capacity >= CAPACITY_RATIO * upper.capacity for upper, lower in pairs)
            and first.entry <= interleave
            and (levels == 1 or last.entry >= access)
        ):
            return buffers


def _one_buffer(draw: Draw) -> _Buffer:
    entries = draw.one_of(ROUND_ENTRIES) if draw.chance(0.5) else draw.magnitude(*ENTRIES)
    ways = draw.one_of((*WAYS, 0))
    if ways == 0:
        ways = entries
    else:
        # Whole sets, of which there may be any number.
        sets = -(-entries // ways)
        while sets * ways > ENTRIES[1]:
            sets -= 1
        entries = sets * ways
    return _Buffer(entries, draw.one_of(ENTRY), ways, draw.one_of(POLICIES))


def _queues(draw: Draw, values: dict[str, Plain]) -> None:
    values["nvdimm.bus.request"] = _ns(draw.between(5, 15))
    values["nvdimm.bus.grant"] = _ns(draw.between(10, 30))
    lines = draw.one_of(LSQ_LINES)
    values["nvdimm.lsq.lines"] = lines
    # As full as the default's before blocks have to leave.
    values["nvdimm.lsq.high"] = lines * _default("nvdimm.lsq.high") // _default("nvdimm.lsq.lines")
    values["nvdimm.lsq.latency"] = _ns(draw.between(5, 15))


def _buffer(draw: Draw, values: dict[str, Plain], level: int, buffer: _Buffer, levels: int) -> None:
    prefix = f"nvdimm.buffer.{level}"
    values[f"{prefix}.entries"] = buffer.entries
    values[f"{prefix}.entry"] = buffer.entry
    values[f"{prefix}.ways"] = buffer.ways
    values[f"{prefix}.policy"] = buffer.policy
    if level == 1:
        values[f"{prefix}.latency"] = _ns(draw.between(15, 60))
        values[f"{prefix}.line"] = _ns(draw.between(8, 20))
    elif level < levels:
        values[f"{prefix}.latency"] = _ns(draw.between(35, 90))
    else:
        values[f"{prefix}.latency"] = _ns(draw.between(10, 40))
        values[f"{prefix}.fill"] = "none"


def _wear(draw: Draw, values: dict[str, Plain], largest: int) -> None:
    values["nvdimm.wear.block"] = draw.one_of([size for size in WEAR_BLOCK if size >= largest])
    if draw.chance(0.75):
        values["nvdimm.wear.writes"] = draw.magnitude(*WEAR_WRITES)
        values["nvdimm.wear.stall"] = _ns(1000 * draw.between(20, 100))
    else:
        values["nvdimm.wear.writes"] = 0
        for family in (1, 2):
            values[f"nvdimm.wear.minor.{family}.interval"] = 0


def _media(draw: Draw, values: dict[str, Plain]) -> None:
    slower = draw.between(0.8, 2.0)
    for name in ("read_latency", "read_interval", "read_partition"):
        key = f"nvdimm.media.{name}"
        values[key] = _ns(_default(key) / 1000 * slower)
    slower = draw.between(0.8, 1.6)
    for name in ("write_interval", "write_partition"):
        key = f"nvdimm.media.{name}"
        values[key] = _ns(_default(key) / 1000 * slower)
    levels = values["nvdimm.levels"]
    page = values["nvdimm.wear.block" if levels == 1 else f"nvdimm.buffer.{levels}.entry"]
    assert isinstance(page, int)
    # The indirection table has to fit the DRAM on the DIMM.
    largest = _ON_DIMM_DRAM // _default("nvdimm.table.entry") * page
    values["nvdimm.media.capacity"] = draw.one_of([size for size in CAPACITY if size <= largest])


_ON_DIMM_DRAM = 4 * GIB  # four devices of the default's 8 Gbit, 16 bits wide


def _text(seed: int, values: dict[str, Plain], buffers: Sequence[_Buffer]) -> str:
    sizes = ", ".join(format_quantity(buffer.capacity, BYTES) for buffer in buffers)
    description = f"Random DIMM {seed}: {plural(len(buffers), 'level')} of {sizes}"
    return document("", seed, description, values, ("nvdimm", "imc"))


def document(
    option: str,
    seed: int,
    description: str,
    values: Mapping[str, Plain],
    drawn: Sequence[str],
    base: str | None = None,
) -> str:
    """The text of a model file that `nearfar model random` makes with `option`: its values by
    tables, and that those below each of `drawn` are."""
    lines = [
        f"# Made by `nearfar model random {option}--seed {seed}`.",
        f'description = "{description}"',
        *([f'base = "{base}"'] if base is not None else []),
    ]
    table = ""
    for name, value in values.items():
        above, _, last = name.rpartition(".")
        if above != table:
            lines += ["", f"[{above}]"]
            table = above
        lines.append(f"{last} = {toml(name, value)}")
    lines += ["", "[sources]", *(f'{name} = "drawn at random, seed {seed}"' for name in drawn)]
    return "\n".join(lines) + "\n"


def toml(name: str, value: Plain) -> str:
    key = KEYS[name]
    text = key.format(value)
    plain = isinstance(value, bool) or (isinstance(value, int) and text.isdecimal())
    return text if plain else f'"{text}"'


def _ns(nanoseconds: float) -> int:
    """A time in ps that reads well in nanoseconds."""
    return 100 * round(10 * nanoseconds)


def _default(name: str) -> int:
    value = KEYS[name].default
    assert isinstance(value, int)
    return value


def plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
