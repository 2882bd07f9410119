"""Near memory: DRAM that the memory controller uses as a cache of the far one (Memory Mode)."""

# ruff: noqa: E501
# fmt: off
# One line a key, however long: a key is added, changed and compared as a line.
from nearfar.model.key import choice, count, flag, size, time
from nearfar.model.schema import dram

KEYS = (
    choice("near.kind", "none", ("none", "cache", "tier"), "What near memory is: none, DRAM as a cache in the memory controller in front of the memory, or DRAM beside it in which pages of programs may be placed; the other keys of near describe it"),
    count("near.channels", 1, 1, 6, "Channels of near DRAM, interleaved"),
    size("near.interleave", "4 KiB", "64 B", "1 GiB", "Bytes on one near channel before the next channel's turn", power_of_two=True),
    size("near.capacity", None, "64 B", "24 TiB", "Data that near memory holds, over all its channels", derived="all of the near DRAM, less its tags if they lie among the data"),
    size("near.line", "64 B", "64 B", "4 KiB", "Line of near memory: what a tag stands for, and what a read that misses brings in", power_of_two=True),
    count("near.ways", 1, 1, 64, "Associativity; 1: direct-mapped"),
    choice("near.policy", "lru", ("lru", "fifo", "random"), "Replacement, with more than one way"),
    choice("near.tags", "ecc", ("ecc", "data"), "Where tags lie: in the ECC bits of every 64 B block, read along with it, or in lines of their own behind the data, 8 B a way"),
    choice("near.write", "back", ("back", "through"), "Writes stay in near memory until their line is evicted, or go to far memory as well"),
    choice("near.dirty", "line", ("line", "sector"), "What an evicted line writes back: all of it if anything was written, or the 64 B blocks that were"),
    flag("near.inclusive", True, "A line that the processor reads stays in near memory; false: a read that misses goes past it, and only what the processor writes is kept"),
    flag("near.write_fetch", False, "A write that misses reads its block from far memory first, though it will replace all of it"),
    choice("near.prefetch", "none", ("none", "next_line"), "What a read that misses also brings in"),
    size("near.app_direct", "0 B", "0 B", "24 TiB", "End of the address space that bypasses near memory (App Direct); the rest is cached"),
    time("near.latency", "2 ns", "0 ps", "10 us", "From a look-up's data to its outcome in the controller"),
    count("near.queue.read", 64, 1, 4096, "Reads that the controller of a near channel works on at once, misses until their line is filled"),
    count("near.queue.write", 64, 1, 4096, "Writes likewise"),
    *dram.keys("near.dram", standards=("DDR4", "DDR5")),
)
