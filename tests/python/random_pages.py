"""Walks through caches whose sets 4 KiB pages fill at random, counted set by set.

Nothing is fitted here and no formula used: pages are dealt to colours, lines to hashed slices, and
a set with more lines than ways keeps none of them (LRU, every line once a round).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

KIB, MIB = 1 << 10, 1 << 20
LINE, PAGE_LINES = 64, 64


@dataclass(frozen=True)
class Level:
    """A cache of any number of sets; `hashed` where lines fall into sets by a hash."""

    size: int
    ways: int
    hashed: bool = False

    @property
    def sets(self) -> int:
        return self.size // LINE // self.ways


def missing(level: Level, lines: int, rng: np.random.Generator) -> float:
    """The share of a walk's lines that the cache does not keep, in one placement of its pages."""
    if level.hashed:
        crowd = np.bincount(rng.integers(0, level.sets, lines), minlength=level.sets)
    else:
        colours = max(1, level.sets // PAGE_LINES)
        pages = np.bincount(rng.integers(0, colours, -(-lines // PAGE_LINES)), minlength=colours)
        crowd = pages * (PAGE_LINES * colours // level.sets or 1)
    lost = crowd[crowd > level.ways].sum()
    return float(lost / max(1, crowd.sum()))


def walked(
    levels: tuple[Level, Level], lines: int, repetitions: int, rng: np.random.Generator
) -> np.ndarray:
    """The shares that miss the second and the third cache, a row each repetition."""
    shares = []
    for _ in range(repetitions):
        second = missing(levels[0], lines, rng)
        shares.append((second, min(second, missing(levels[1], lines, rng))))
    return np.array(shares)


def curve(
    levels: tuple[Level, Level],
    latencies: tuple[float, float, float],
    lines: np.ndarray,
    repetitions: int,
    noise: float,
    rng: np.random.Generator,
) -> list[np.ndarray]:
    """Repetitions of the walks over so many lines, ns a load."""
    hit, second, memory = latencies
    times = []
    for count in lines:
        share = walked(levels, int(count), repetitions, rng)
        ns = hit + (second - hit) * share[:, 0] + (memory - second) * share[:, 1]
        times.append(ns * np.exp(noise * rng.standard_normal(repetitions)))
    return times
