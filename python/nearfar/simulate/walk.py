"""Dependent reads of chosen lines, again and again: what the sets and ways of a buffer show in.

Where a chase goes through a region, a walk goes through blocks whose addresses have some
bits held constant, or that lie a stride apart. It is played in a core's place by single
accesses, each waiting for the one before.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any, ClassVar, Protocol, cast

from nearfar.measuring.core import load_core
from nearfar.model import Model
from nearfar.simulate.validation.quantities import WALK

LINE = 64
_BLOCK = 256
_BESIDE = 4096  # where the reads between passes begin: another set of either buffer
_OPERAND_BITS = 56
_LOAD = 0 << _OPERAND_BITS

# Reads before those that are timed: as many passes as bring every buffer to what it will
# keep, or as many reads as touch every page of a region far beyond the buffers.
_WARM_PASSES = 2
_WARM_READS = 20_000
_TIMED_READS = 3_000


class Played(ABC):
    """Single accesses, one after the other, that no pattern of `nearfar.measure` is.

    Hashable; a dataclass with a `seed`.
    """

    seed: int

    @abstractmethod
    def at_seed(self, seed: int) -> Played:
        """The same accesses, with another seed of what is random."""

    @abstractmethod
    def quantities(self, model: Model, core: object = None) -> Mapping[str, float]:
        """What the accesses show on `model`, by the names that points read."""


@dataclass(frozen=True)
class Walk(Played):
    """`blocks` blocks, one line of each, in a random order or in turn.

    Block i lies at i x `stride`, spread around the address bits in `held`, which stay 0.
    `between` reads of other blocks of 256 B, in as few pages beside, follow each pass and are
    not timed: they fill the first buffer, so that only the second one remembers the pass.
    """

    blocks: int
    stride: int = LINE
    held: tuple[int, ...] = ()
    random: bool = True
    between: int = 0
    seed: int = 1

    kind: ClassVar[str] = "walk"

    @classmethod
    def over(cls, region: int, held: tuple[int, ...] = ()) -> Walk:
        """Every line of a region; bits that its addresses do not reach are held anyway."""
        walk = cls(blocks=region // LINE, held=held)
        reached = tuple(bit for bit in held if walk.address(walk.blocks - 1) >> bit)
        return cls(blocks=region // LINE, held=reached)

    def at_seed(self, seed: int) -> Walk:
        """The same walk in another order."""
        return replace(self, seed=seed)

    def quantities(self, model: Model, core: object = None) -> Mapping[str, float]:
        """The mean of the timed reads."""
        return {WALK: fmean(play(model, self, core))}

    def address(self, block: int) -> int:
        """Where the block lies."""
        address = block * self.stride
        for bit in sorted(self.held):
            low = address & ((1 << bit) - 1)
            address = (address - low) << 1 | low
        return address

    def reads(self) -> tuple[int, int]:
        """How many reads come first, and how many are timed."""
        warm = min(_WARM_PASSES * self.blocks, _WARM_READS)
        return warm, _TIMED_READS

    def steps(self) -> bytes:
        """The accesses as the core's sequences take them."""
        order = range(self.blocks)
        # Of a region far beyond the buffers no line is read twice: those that are, will do.
        chosen = min(self.blocks, sum(self.reads()))
        shuffled = random.Random(self.seed).sample(order, chosen) if self.random else order
        words = [_LOAD | self.address(block) for block in shuffled]
        words += [_LOAD | _BESIDE + i * _BLOCK for i in range(self.between)]
        return array("Q", (words[i % len(words)] for i in range(self.length()))).tobytes()

    def length(self) -> int:
        """How many reads are made in all, the ones between passes with them."""
        whole, rest = divmod(sum(self.reads()), self.blocks)
        return whole * (self.blocks + self.between) + rest

    def timed(self, times: Sequence[float]) -> list[float]:
        """Of the times of all reads, those that count."""
        one = self.blocks + self.between
        passes = [time for i, time in enumerate(times) if i % one < self.blocks]
        return passes[self.reads()[0] :]


class _Sequencer(Protocol):
    def sequence(
        self, settings: str, *, steps: bytes, outstanding: int, agent: str, seed: int
    ) -> Mapping[str, Any]: ...


def play(model: Model, walk: Walk, core: object = None) -> list[float]:
    """What each of the timed reads took, in ns."""
    sequencer = cast(_Sequencer, core or load_core())
    done = sequencer.sequence(
        model.export(), steps=walk.steps(), outstanding=1, agent="core", seed=walk.seed
    )
    issued, finished = array("Q", done["issued_ps"]), array("Q", done["done_ps"])
    took = [(end - start) / 1000 for start, end in zip(issued, finished, strict=True)]
    return walk.timed(took)
