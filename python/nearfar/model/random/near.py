"""Random near memories in front of Optane DIMMs: what a Memory Mode prober is tested on."""

from __future__ import annotations

from nearfar.model.key import Plain
from nearfar.model.random.dimm import GIB, KIB, Draw, document, plural
from nearfar.model.units import BYTES, format_quantity

LINE = tuple(64 << i for i in range(7))  # 64 B to 4 KiB
WAYS = (1, 1, 2, 3, 4, 8, 16)
ODD = (1, 1, 3, 5, 7)  # a way is so many times a power of two
WAY = tuple(64 * KIB << i for i in range(18))  # 64 KiB to 8 GiB, times ODD
CHANNELS = (1, 2, 3, 6)

_MODULE = 8 * GIB  # near DRAM of a channel by default


def random_near_model(seed: int) -> str:
    """The text of a model file: Optane DIMMs behind a random near memory, the same for a seed.

    64 KiB to half of the near DRAM, in 1 to 16 ways; a way is 1, 3, 5 or 7 times a power of two;
    lines of 64 B to 4 KiB; LRU, FIFO or random replacement; tags in ECC bits or among the data;
    write-back, of whole lines or sectors, or write-through; with or without prefetch.
    """
    draw = Draw(seed)
    channels, near_channels = draw.one_of((1, 2, 6)), draw.one_of(CHANNELS)
    while True:
        ways = draw.one_of(WAYS)
        capacity = ways * draw.one_of(ODD) * draw.one_of(WAY)
        if capacity <= near_channels * _MODULE // 2:
            break
    values: dict[str, Plain] = {
        "channels": channels,
        "seed": seed % 2**32,
        "near.kind": "cache",
        "near.channels": near_channels,
        "near.capacity": capacity,
        "near.line": draw.one_of(LINE),
        "near.ways": ways,
        "near.policy": draw.one_of(("lru", "fifo", "random")),
        "near.tags": draw.one_of(("ecc", "data")),
        "near.write": draw.one_of(("back", "back", "through")),
        "near.dirty": draw.one_of(("line", "sector")),
        "near.prefetch": draw.one_of(("none", "next_line")),
    }
    if values["near.write"] == "through":
        values["near.dirty"] = "line"  # nothing of it is ever written back
    description = (
        f"Random near memory {seed}: {format_quantity(capacity, BYTES)}, {plural(ways, 'way')}"
    )
    return document("--near ", seed, description, values, ("near",), base="optane-100")
