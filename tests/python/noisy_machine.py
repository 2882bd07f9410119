"""A machine with caches, a TLB and noise, that walks chains as the real one does.

It shares no code with the inference: sets are looked up address by address, pages lie wherever
a generator puts them, and every walk is off by a per cent or, at times, by far more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from nearfar.errors import InputError
from nearfar.inference.caches.plan import Experiment
from nearfar.probing.walk import Walked

PAGE, HUGE = 4096, 2 << 20
LONG = 2000  # loads
FRAMES = 1 << 28  # pages of physical memory: 1 TiB


@dataclass(frozen=True)
class Cache:
    size: int
    ways: int
    ns: float
    policy: str = "lru"
    line: int = 64
    hashed: bool = False  # sets are chosen by a hash of the line, as slices are

    def set_of(self, lines: np.ndarray) -> np.ndarray:
        """The sets that lines fall into."""
        if not self.hashed:
            return lines % self.sets
        mixed = lines.astype(np.uint64)
        for shift, factor in ((33, 0xFF51AFD7ED558CCD), (33, 0xC4CEB9FE1A85EC53), (33, 1)):
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
        return (mixed % np.uint64(self.sets)).astype(np.int64)

    @cached_property
    def sets(self) -> int:
        return self.size // self.line // self.ways


@dataclass
class NoisyMachine:
    """A `Walker`: caches from the core outwards, then memory."""

    caches: Sequence[Cache]
    memory_ns: float = 100.0
    tlb: int = 64  # entries, fully associative, LRU
    tlb_ns: float = 3.0
    split: bool = False  # a hypervisor maps 2 MiB pages by 4 KiB
    huge_pages: bool = True  # whether the kernel grants them
    change_ns: float = 0.5  # what changing a line takes
    write_back_ns: float = 0.0  # what a reader waits when a changed line leaves the first cache
    noise: float = 0.01
    outliers: float = 0.03  # share of walks that a neighbour disturbs
    seed: int = 0
    memory_bytes: int = 12 << 20
    walks: int = 0
    rng: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)

    def walk(self, chain: np.ndarray, asked: Experiment) -> Walked:
        assert int(chain.max()) + 8 <= asked.extent
        pages = asked.pages
        if pages == "2MiB" and not self.huge_pages:
            raise InputError("pages: the kernel granted no 2 MiB pages")
        self.walks += 1
        virtual = chain.astype(np.int64)
        assert np.all(np.diff(np.sort(virtual))), "a chain passes a word once"
        whole = pages == "2MiB" and not self.split
        physical = self._place(virtual, HUGE if whole else PAGE)
        ns = self._loads(physical) + self._translate(virtual // (HUGE if whole else PAGE))
        if asked.changes:
            ns += self.change_ns + self.write_back_ns * self._evicted(physical)
        return Walked(self._disturb(ns), len(chain))

    def _evicted(self, physical: np.ndarray) -> float:
        """The share of loads that throw a line out of the first cache."""
        first, others = self.caches[0], self.memory_ns
        others = self.caches[1].ns if len(self.caches) > 1 else others
        return (self._loads(physical) - first.ns) / (others - first.ns)

    def _place(self, virtual: np.ndarray, page: int) -> np.ndarray:
        # Two pages in one frame are so rare among so many frames that nothing comes of it.
        frames = self.rng.integers(0, FRAMES * PAGE // page, int(virtual.max()) // page + 1)
        return frames[virtual // page] * page + virtual % page

    def _loads(self, physical: np.ndarray) -> float:
        """Mean ns of a load, once the chain has been walked a few times."""
        lines = physical // self.caches[0].line
        once = bool(np.all(np.diff(np.sort(lines))))
        # Long chains come back to a line late, if at all: by then it has gone as if for good.
        if (once or len(lines) > LONG) and all(c.policy != "random" for c in self.caches):
            return self._once_a_round(lines, lines if once else np.unique(lines))
        return self._load_by_load(lines)

    def _once_a_round(self, lines: np.ndarray, distinct: np.ndarray) -> float:
        """Each line once a round: under LRU and FIFO it stays just when its set holds all."""
        ns = np.full(len(lines), self.memory_ns)
        for cache in reversed(self.caches):
            crowd = np.bincount(cache.set_of(distinct), minlength=cache.sets)
            ns[crowd[cache.set_of(lines)] <= cache.ways] = cache.ns
        return float(ns.mean())

    def _load_by_load(self, lines: np.ndarray) -> float:
        content: list[dict[int, list[int]]] = [{} for _ in self.caches]
        total, rounds, warm = 0.0, 10, 4
        for turn in range(rounds):
            for line in lines.tolist():
                ns = self._load(content, line)
                total += ns if turn >= warm else 0.0
        return total / ((rounds - warm) * len(lines))

    def _load(self, content: list[dict[int, list[int]]], line: int) -> float:
        served = self.memory_ns
        for level, cache in enumerate(self.caches):
            held = content[level].setdefault(line % cache.sets, [])
            if line in held:
                if cache.policy == "lru":
                    held.remove(line)
                    held.append(line)
                served = cache.ns
                break
            if len(held) == cache.ways:
                victim = int(self.rng.integers(cache.ways)) if cache.policy == "random" else 0
                held.pop(victim)
            held.append(line)
        return served

    def _translate(self, pages: np.ndarray) -> float:
        """Mean ns that translation adds: LRU over the chain's pages, as far as it is followed."""
        if np.count_nonzero(np.diff(np.sort(pages))) < self.tlb:
            return 0.0
        followed = pages[:4096].tolist()
        held: dict[int, None] = {}
        misses = 0
        for page in followed:
            if page in held:
                del held[page]
            else:
                misses += 1
                if len(held) == self.tlb:
                    del held[next(iter(held))]
            held[page] = None
        return self.tlb_ns * misses / len(followed)

    def _disturb(self, ns: float) -> float:
        ns *= 1 + abs(float(self.rng.normal(0, self.noise)))
        if self.rng.random() < self.outliers:
            ns *= float(self.rng.uniform(1.05, 3))
        return ns
