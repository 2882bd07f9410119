"""What is known of the levels of buffers while a device is being studied."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Level:
    """A buffer, as far as it is known."""

    number: int
    latency: float
    threshold: float  # a read that took longer was served deeper
    entry: int = 0
    capacity: int = 0
    noise: float = 0.0  # share of its hits that look slower than `threshold`
    reads: int = 0  # hits that `noise` is known from
    evidence: tuple[str, ...] = ()

    @property
    def entries(self) -> int:
        return self.capacity // self.entry

    def name(self, what: str) -> str:
        return f"buffer.{self.number}.{what}"


@dataclass(frozen=True)
class Structure:
    """The levels found, and what reads and writes of memory need to know of them."""

    levels: tuple[Level, ...] = ()
    memory: float = 0.0  # the quickest read that no buffer serves
