"""How often a buffer misses under the walk that the published curves were measured with.

The walk (LENS, MICRO 2020): consecutive fresh regions, the blocks of each visited once in
random order. An entry of E bytes is touched E/B times by blocks of B bytes, at random
moments of its region's walk, so the buffer's hits are all *spatial*: one miss in E/B touches
is unavoidable, and while a region fits there are no others. Beyond its capacity C the misses
grow with R/C until every touch misses. What the growth looks like depends on the policy,
on E/B, on the number of entries as long as that is small, and on nothing else; so it is
simulated once for each of these, touch by touch, and read at any R/C.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

POLICIES = ("fifo", "lru", "random")

# Region over capacity. Below 1 only random replacement loses what it will still need.
_RATIOS = (
    *(0.125, 0.25, 0.5, 0.75, 0.9, 1.0, 1.05, 1.1, 1.2, 1.35, 1.5, 1.75),
    *(2.0, 2.5, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 32.0),
)
_TOUCHES = 30_000  # at each ratio: the miss rate's own noise stays near 0.3 %
_SMALLEST, _LARGEST = 16, 1024  # simulated entries, and simulated entries times touches


def miss_rate(policy: str, touches: int, entries: int, ratio: Floats) -> Floats:
    """Misses a touch where regions are `ratio` times the buffer's capacity.

    `touches` is how often an entry is touched in a region, `entries` how many the buffer
    has; above a few hundred their number no longer matters.
    """
    if touches == 1:
        return np.ones_like(ratio)
    simulated = min(entries, max(_SMALLEST, _LARGEST // touches))
    known, misses = _simulated(policy, touches, 1 << (simulated.bit_length() - 1))
    # Under LRU the rate is linear in 1/ratio (a gap of k uniform touches exceeds the buffer's
    # reach with probability 1 - C/R), and nearly so under the others.
    return np.interp(-1 / ratio, -1 / known, misses, right=1.0) if ratio.size else ratio


@lru_cache(maxsize=256)
def _simulated(policy: str, touches: int, entries: int) -> tuple[Floats, Floats]:
    """The ratios and the miss rate at each; a last point at infinity, where all miss."""
    rng = np.random.default_rng([POLICIES.index(policy), touches, entries])
    rates = []
    for ratio in _RATIOS:
        region = max(1, round(ratio * entries))
        if policy != "random" and ratio <= 1:
            rates.append(1 / touches)  # nothing that will be needed is ever replaced
            continue
        regions = max(3, _TOUCHES // (region * touches))
        rates.append(_replay(policy, entries, _walk(rng, region, touches, regions), rng))
    return np.array([*_RATIOS, np.inf]), np.array([*rates, 1.0])


def _walk(rng: np.random.Generator, region: int, touches: int, regions: int) -> list[int]:
    """Entries in the order they are touched: each region's blocks once, in random order."""
    orders = [rng.permutation(region * touches) // touches + n * region for n in range(regions)]
    walk: list[int] = np.concatenate(orders).tolist()
    return walk


def _replay(policy: str, entries: int, walk: list[int], rng: np.random.Generator) -> float:
    return _REPLAYS[policy](entries, walk, rng) / len(walk)


def _fifo(entries: int, walk: list[int], rng: np.random.Generator) -> int:  # noqa: ARG001
    born: dict[int, int] = {}
    misses = 0
    for entry in walk:
        if misses - born.get(entry, misses - entries) >= entries:
            born[entry] = misses
            misses += 1
    return misses


def _lru(entries: int, walk: list[int], rng: np.random.Generator) -> int:  # noqa: ARG001
    held: dict[int, None] = {}
    misses = 0
    for entry in walk:
        if entry in held:
            del held[entry]
        else:
            misses += 1
            if len(held) == entries:
                del held[next(iter(held))]
        held[entry] = None
    return misses


def _random(entries: int, walk: list[int], rng: np.random.Generator) -> int:
    slots = [-1 - n for n in range(entries)]
    held = set(slots)
    victims = _victims(entries, rng)
    misses = 0
    for entry in walk:
        if entry not in held:
            misses += 1
            victim = next(victims)
            held.discard(slots[victim])
            held.add(entry)
            slots[victim] = entry
    return misses


def _victims(entries: int, rng: np.random.Generator) -> Iterator[int]:
    while True:
        yield from rng.integers(entries, size=4096).tolist()


_REPLAYS: dict[str, Callable[[int, list[int], np.random.Generator], int]] = {
    "fifo": _fifo,
    "lru": _lru,
    "random": _random,
}
