"""Ways and policy from a re-read in the same order.

n blocks of one set are read, then read again in the same order. First-in-first-out and
least-recently-used replacement alike have always just evicted the block that comes next: as
soon as n exceeds the ways, every block is gone. Random replacement loses a few at first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_TRIALS = 200
_REJECTED = 2.0  # times the squared error of the other shape
_FULL = 0.5  # the loss must exceed this share somewhere, or nothing was overflowed


@dataclass(frozen=True)
class Step:
    """The last number of blocks that stayed, its bounds, and whether replacement is random."""

    ways: int
    low: int
    high: int
    random: bool
    errors: tuple[float, float]  # rms of the step and of the random shape


def same_order(blocks: Sequence[int], lost: Sequence[float]) -> Step | None:
    """The step in `lost`, the share of `blocks` that had to be fetched again."""
    count = np.array(blocks)
    share = np.array(lost, dtype=float)
    if len(count) < 6 or share.max() < _FULL or share.min() > 1 - _FULL:
        return None
    candidates = [int(ways) for ways in count[:-1] if ways >= 1]
    steps = np.array([_error(share, (count > ways).astype(float)) for ways in candidates])
    randoms = np.array([_error(share, _random(count, ways)) for ways in candidates])
    best, other = float(steps.min()), float(randoms.min())
    if min(best, other) > 0.5 * float(np.mean((share - share.mean()) ** 2)):
        return None  # no shape explains even half of it
    random = best > _REJECTED * other
    errors = randoms if random else steps
    noise = float(errors.min())
    # One point on the wrong side costs 1/n; as good is what differs by less than the noise of
    # the worst point.
    allowed = [w for w, e in zip(candidates, errors, strict=True) if e <= noise + 0.5 / len(count)]
    ways = candidates[int(np.argmin(errors))]
    return Step(ways, allowed[0], allowed[-1], random, (best**0.5, other**0.5))


def _error(share: Floats, shape: Floats) -> float:
    return float(np.mean((share - shape) ** 2))


def _random(count: NDArray[np.int64], ways: int) -> Floats:
    """Expected loss under random replacement: filled once in order, read again in order."""
    rng = np.random.default_rng(ways)
    return np.array([_loss(int(blocks), ways, rng) for blocks in count])


def _loss(blocks: int, ways: int, rng: np.random.Generator) -> float:
    if blocks <= ways:
        return 0.0
    lost = 0
    for _ in range(max(1, _TRIALS // blocks)):
        slots = list(range(ways))
        held = set(slots)
        victims = rng.integers(ways, size=2 * blocks).tolist()
        for touch in range(ways, 2 * blocks):
            block = touch % blocks
            if block in held:
                continue
            lost += touch >= blocks
            victim = victims[touch]
            held.discard(slots[victim])
            held.add(block)
            slots[victim] = block
    return lost / (max(1, _TRIALS // blocks) * blocks)
