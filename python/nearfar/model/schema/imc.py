"""The integrated memory controller in front of the modules."""

# ruff: noqa: E501
# fmt: off
# One line a key, however long: a key is added, changed and compared as a line.
from nearfar.model.key import choice, count, size

KEYS = (
    size("imc.interleave", "4 KiB", "64 B", "1 GiB", "Bytes on one channel before the next channel's turn", power_of_two=True),
    count("imc.wpq.lines", 8, 1, 4096, "Write pending queue of a channel, in 64 B lines; a write accepted here survives power loss (ADR)"),
    choice("imc.domain", "adr", ("adr", "eadr"), "What survives power loss besides the DIMMs: the write pending queue, or the caches too (see nearfar crash)"),
    count("imc.rpq.lines", 44, 1, 4096, "Read pending queue of a channel, in 64 B lines"),
)
