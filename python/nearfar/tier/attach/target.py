"""What is managed from outside."""

from __future__ import annotations

from dataclasses import dataclass

Span = tuple[int, int]  # addresses: of the first byte, and behind the last


@dataclass(frozen=True)
class Target:
    """A process, and the parts of its memory that are managed; none: all that can be. `program`
    says in a table what it is; `guest_blocks` are the bytes of each block of its guest's memory, if
    it is a machine's QEMU.
    """

    process: int
    program: str
    only: tuple[Span, ...] = ()
    guest_blocks: tuple[int, ...] = ()
