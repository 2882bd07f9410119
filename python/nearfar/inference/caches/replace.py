"""What one full set replaces under each policy: the share of misses once it has warmed up.

FIFO, LRU, a tree of pointers to the half not used last (plru), two bits of age (qlru), random.
With two bits a hit makes a line young, a new one starts at 1, the first of age 3 leaves, and all
grow older until there is one: QLRU_H11_M1_R0_U0 in Abel and Reineke, "nanoBench", ISPASS 2020.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

_ROUNDS = 24
_WARM = 16  # a tree of pointers takes so long to settle
_OLDEST = 3


def _queue(lines: list[int], ways: int, refresh: bool) -> float:
    content: dict[int, None] = {}
    misses = 0
    for turn in range(_ROUNDS):
        for line in lines:
            if line in content:
                if refresh:
                    del content[line]
                    content[line] = None
                continue
            misses += turn >= _WARM
            if len(content) == ways:
                del content[next(iter(content))]
            content[line] = None
    return misses / ((_ROUNDS - _WARM) * len(lines))


def _fifo(lines: list[int], ways: int, rng: np.random.Generator) -> float:
    del rng
    return _queue(lines, ways, refresh=False)


def _lru(lines: list[int], ways: int, rng: np.random.Generator) -> float:
    del rng
    return _queue(lines, ways, refresh=True)


def _random(lines: list[int], ways: int, rng: np.random.Generator) -> float:
    content: list[int] = []
    misses = 0
    victims = rng.integers(0, ways, _ROUNDS * len(lines)).tolist()
    for turn in range(_ROUNDS):
        for line in lines:
            if line in content:
                continue
            misses += turn >= _WARM
            if len(content) < ways:
                content.append(line)
            else:
                content[victims.pop()] = line
    return misses / ((_ROUNDS - _WARM) * len(lines))


def _tree(lines: list[int], ways: int, rng: np.random.Generator) -> float:
    """Pseudo-LRU by a binary tree of pointers to the half not used last.

    Ways that are no power of two have a tree of the next one whose missing leaves are never
    pointed to.
    """
    del rng
    leaves = 1 << (ways - 1).bit_length()
    points_right = [False] * leaves  # node 1 is the root
    content: dict[int, int] = {}
    held = [-1] * ways
    misses = 0
    for turn in range(_ROUNDS):
        for line in lines:
            way = content.get(line, -1)
            if way < 0:
                misses += turn >= _WARM
                way = held.index(-1) if -1 in held else _victim(points_right, leaves, ways)
                content.pop(held[way], None)
                held[way] = line
                content[line] = way
            node, low, width = 1, 0, leaves
            while width > 1:
                width //= 2
                right = way >= low + width
                points_right[node] = not right
                low += width if right else 0
                node = 2 * node + right
    return misses / ((_ROUNDS - _WARM) * len(lines))


def _victim(points_right: list[bool], leaves: int, ways: int) -> int:
    node, low, width = 1, 0, leaves
    while width > 1:
        width //= 2
        right = points_right[node] and low + width < ways
        low += width if right else 0
        node = 2 * node + right
    return low


def _aged(lines: list[int], ways: int, rng: np.random.Generator) -> float:
    """Quad-age LRU."""
    del rng
    held, ages = [-1] * ways, [_OLDEST] * ways
    misses = 0
    for turn in range(_ROUNDS):
        for line in lines:
            if line in held:
                way = held.index(line)
                ages[way] = 1 if ages[way] >= 2 else 0
                continue
            misses += turn >= _WARM
            if -1 in held:
                way = held.index(-1)
            else:
                older = _OLDEST - max(ages)
                ages = [age + older for age in ages]
                way = ages.index(_OLDEST)
            held[way], ages[way] = line, 1
    return misses / ((_ROUNDS - _WARM) * len(lines))


POLICIES: dict[str, Callable[[list[int], int, np.random.Generator], float]] = {
    "fifo": _fifo,
    "lru": _lru,
    "plru": _tree,
    "qlru": _aged,
    "random": _random,
}
