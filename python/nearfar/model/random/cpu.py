"""Random processors in front of Optane DIMMs: what the probers of caches and TLBs are tested on."""

from __future__ import annotations

from nearfar.model.key import Plain
from nearfar.model.random.dimm import KIB, Draw, document
from nearfar.model.units import BYTES, format_quantity

SETS = (32, 64)  # of L1: at most a page of lines, so that placement plays no part
WAYS = (4, 6, 8, 12, 16)
POLICIES = ("lru", "plru", "qlru", "random")
SECOND = (128 * KIB, 2048 * KIB)
THIRD = (1024 * KIB, 24 * 1024 * KIB)
SLICES = (1, 2, 4, 8)
TLB_FIRST = (48, 128)
TLB_SECOND = (512, 2048)
TLB_WAYS = (4, 6, 8, 12)
RATIO = 4  # between the sizes of neighbouring levels, at least


def random_cpu_model(seed: int) -> str:
    """The text of a model file: Optane DIMMs behind a random processor, the same for a seed.

    An L1 of 32 or 64 sets and 4 to 16 ways, an L2 of 128 KiB to 2 MiB, an L3 of up to 24 MiB,
    inclusive or not, in 1 to 8 slices, each at least four times the one before; LRU, a tree of
    pointers (where the ways are a power of two), two bits of age or random replacement; a
    first-level TLB of 48 to 128 entries and a second of 512 to 2048.
    """
    draw = Draw(seed)
    while True:
        first = _cache(draw, draw.one_of(SETS))
        second = _cache(draw, 1 << int(draw.between(7, 12)))
        third = _cache(draw, 1 << int(draw.between(10, 15)))
        sizes = [64 * sets * ways for sets, ways in (first, second, third)]
        if (
            SECOND[0] <= sizes[1] <= SECOND[1]
            and THIRD[0] <= sizes[2] <= THIRD[1]
            and sizes[1] >= RATIO * sizes[0]
            and sizes[2] >= RATIO * sizes[1]
        ):
            break
    values: dict[str, Plain] = {"seed": seed % 2**32}
    latency = draw.between(1.5, 2.5)  # a core issues no load of a chain sooner
    for level, (_, ways), size in zip((1, 2, 3), (first, second, third), sizes, strict=True):
        policies = POLICIES if ways.bit_count() == 1 else tuple(p for p in POLICIES if p != "plru")
        values[f"cpu.l{level}.size"] = size
        values[f"cpu.l{level}.ways"] = ways
        values[f"cpu.l{level}.policy"] = draw.one_of(policies)
        values[f"cpu.l{level}.latency"] = 100 * round(10 * latency)
        latency *= draw.between(2.2, 4)
    values["cpu.l3.slices"] = draw.one_of(SLICES)
    values["cpu.l3.inclusive"] = draw.chance(0.5)
    ways = draw.one_of(TLB_WAYS)
    values["cpu.tlb.l1.entries"] = draw.magnitude(*TLB_FIRST) // ways * ways
    values["cpu.tlb.l1.huge_entries"] = 8 * ways
    values["cpu.tlb.l1.ways"] = ways
    ways = draw.one_of(TLB_WAYS)
    values["cpu.tlb.l2.entries"] = draw.magnitude(*TLB_SECOND) // ways * ways
    values["cpu.tlb.l2.ways"] = ways
    values["cpu.tlb.l2.latency"] = 100 * round(draw.between(10, 40))
    about = ", ".join(format_quantity(size, BYTES) for size in sizes)
    description = f"Random processor {seed}: caches of {about}"
    return document("--cpu ", seed, description, values, ("cpu",), base="optane-100")


def _cache(draw: Draw, sets: int) -> tuple[int, int]:
    return sets, draw.one_of(WAYS)
