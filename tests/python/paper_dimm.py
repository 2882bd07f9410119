"""Buffer levels on paper: what hits and what misses, without any time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from nearfar.model.key import Plain

WORD = (1 << 64) - 1


class SplitMix:
    """The core's random numbers (Steele, Lea and Flood, OOPSLA 2014)."""

    def __init__(self, seed: int) -> None:
        self._state = seed & WORD

    def below(self, bound: int) -> int:
        self._state = (self._state + 0x9E3779B97F4A7C15) & WORD
        z = self._state
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & WORD
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & WORD
        return (z ^ (z >> 31)) * bound >> 64


class PaperBuffer:
    """A set-associative directory; of each set the slots, the next to leave first."""

    def __init__(self, values: Mapping[str, Plain], level: int, seed: int) -> None:
        entries, entry, ways = (
            int(values[f"nvdimm.buffer.{level}.{name}"]) for name in ("entries", "entry", "ways")
        )
        self.entry = entry
        self._ways = ways
        self._policy = values[f"nvdimm.buffer.{level}.policy"]
        self._orders = [list(range(ways)) for _ in range(entries // ways)]
        self._blocks: list[list[int | None]] = [[None] * ways for _ in self._orders]
        self._random = SplitMix(seed)

    def hit(self, address: int) -> bool:
        """Whether the entry of `address` is there; it counts as used."""
        block = address // self.entry
        number = block % len(self._orders)
        if block not in self._blocks[number]:
            return False
        if self._policy == "lru":
            self._renew(number, self._blocks[number].index(block))
        return True

    def insert(self, address: int) -> int | None:
        """Takes a slot for the entry; the address of the entry that had to leave."""
        block = address // self.entry
        number = block % len(self._orders)
        blocks, slot = self._blocks[number], self._orders[number][0]
        if self._policy == "random" and blocks[slot] is not None:
            slot = self._random.below(self._ways)
        left, blocks[slot] = blocks[slot], block
        self._renew(number, slot)
        return None if left is None else left * self.entry

    def forget(self, address: int) -> None:
        """Throws the entry out, if it is there; its slot is taken next."""
        block = address // self.entry
        number = block % len(self._orders)
        if block in self._blocks[number]:
            slot = self._blocks[number].index(block)
            self._blocks[number][slot] = None
            self._orders[number].remove(slot)
            self._orders[number].insert(0, slot)

    def _renew(self, number: int, slot: int) -> None:
        self._orders[number].remove(slot)
        self._orders[number].append(slot)


class PaperDimm:
    """Loads one after another, each after everything the last one caused has ended."""

    def __init__(self, values: Mapping[str, Plain], seed: int) -> None:
        levels = int(values["nvdimm.levels"])
        self._first = PaperBuffer(values, 1, seed + 1)
        self._middle = PaperBuffer(values, 2, seed + 0x1000) if levels == 3 else None
        self._last = PaperBuffer(values, levels, seed + 2) if levels > 1 else None
        self.counts: Counter[str] = Counter()

    def load(self, address: int) -> str:
        """The part that answers: "rmw", "middle", "ait", or else "table"."""
        if self._count("rmw", self._first.hit(address)):
            return "rmw"
        in_middle = self._middle is not None and self._middle.hit(address)
        if self._middle is not None and not in_middle:
            left = self._middle.insert(address)
            if left is not None:
                for part in range(left, left + self._middle.entry, self._first.entry):
                    self._first.forget(part)
        self._first.insert(address)
        if self._middle is not None and self._count("middle", in_middle):
            return "middle"
        if self._last is not None:
            if self._count("ait", self._last.hit(address)):
                return "ait"
            self._last.insert(address)
        self.counts["table.reads"] += 1
        return "table"

    def _count(self, buffer: str, hit: bool) -> bool:
        self.counts[f"{buffer}.{'hits' if hit else 'misses'}"] += 1
        return hit


def paper_loads(
    values: Mapping[str, Plain], addresses: list[int], seed: int
) -> tuple[Counter[str], list[str]]:
    """The counts of the DIMMs of a model together, and the part that serves each load."""
    channels, chunk = int(values["channels"]), int(values["imc.interleave"])
    dimms = [PaperDimm(values, seed) for _ in range(channels)]
    served = []
    for address in addresses:
        number, offset = divmod(address, chunk)
        served.append(dimms[number % channels].load(number // channels * chunk + offset))
    return sum((dimm.counts for dimm in dimms), Counter()), served
