"""The machine as a whole: what is behind the memory controller, and how much of it."""

# ruff: noqa: E501
# fmt: off
# One line a key, however long: a key is added, changed and compared as a line.
from nearfar._lists import MACHINE_KINDS
from nearfar.model.key import choice, count, size

KEYS = (
    choice("machine", "nvdimm", MACHINE_KINDS, "What is behind the memory controller: DDR4 modules or non-volatile DIMMs"),
    count("channels", 1, 1, 8, "Memory channels in use, one module each, interleaved"),
    size("capacity", None, "1 MiB", "4 TiB", "Capacity of one channel; a dram machine has what its geometry gives", derived="dram: ranks x density x 64 / width; nvdimm: nvdimm.media.capacity"),
    count("seed", 1, 0, 2**63 - 1, "Seed of everything random: replacement, wear jitter, initial state"),
)
