"""Entry sizes, from how much an overflowing buffer costs blocks of different sizes.

A block of B bytes meets a miss every time once its buffer is overflowed, but only every
E/B-th time while the buffer fits. What overflowing adds to a line is therefore

    d * 64 * (1/B - 1/E)   for B < E,   nothing for B >= E,

compared at equal B, so that the overlap of lines inside a block cancels. Stores show the unit
in which a device writes: a line costs E/B of a whole write until blocks reach it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LINE = 64
# Candidate entries: 64 B to 64 KiB, 32 an octave.
_SIZES = LINE * 2.0 ** (np.arange(0, 10 * 32 + 1) / 32)
_ALLOWED = 4.0  # chi-squared above the best: 95 % for one unknown
_SYSTEMATIC = 0.003  # of a plateau's height: what drifts between its ends


@dataclass(frozen=True)
class Plateaus:
    """One block size: the cost of a line below and above, and the error of each."""

    block: int
    below: float
    above: float
    error: float


@dataclass(frozen=True)
class Size:
    """Bytes, between two bounds."""

    value: float
    low: float
    high: float


def plateaus(
    region: Floats,
    values: Floats,
    block: int,
    noise: float,
    fitting: tuple[float, float],
    overflowing: tuple[float, float],
) -> Plateaus | None:
    """The two levels of a curve between regions; None where it has no points there."""
    below = values[(region >= fitting[0]) & (region <= fitting[1])]
    above = values[(region >= overflowing[0]) & (region <= overflowing[1])]
    if not len(below) or not len(above):
        return None
    level = float(np.median(below))
    error = level * np.hypot(noise * np.sqrt(1 / len(below) + 1 / len(above)), _SYSTEMATIC)
    return Plateaus(block, level, float(np.median(above)), float(error))


def read_entry(levels: Sequence[Plateaus]) -> Size | None:
    """The entry from the rises of several block sizes; None with fewer than two of them."""
    if len({one.block for one in levels}) < 2:
        return None
    blocks = np.array([one.block for one in levels], dtype=float)
    rise = np.maximum(np.array([one.above - one.below for one in levels]), 0.0)
    error = np.array([one.error for one in levels])
    shape = np.maximum(LINE * (1 / blocks[None, :] - 1 / _SIZES[:, None]), 0.0)
    return _likeliest(shape, rise, error, blocks)


def write_unit(costs: Sequence[tuple[int, float, float]]) -> Size | None:
    """The unit of writes from (block, saturated cost of a line, error) of several blocks."""
    if len({block for block, _, _ in costs}) < 2:
        return None
    blocks, cost, error = (np.array(column, dtype=float) for column in zip(*costs, strict=True))
    shape = np.maximum(1.0, _SIZES[:, None] / blocks[None, :])
    return _likeliest(shape, cost, error, blocks)


def _likeliest(shape: Floats, value: Floats, error: Floats, blocks: Floats) -> Size | None:
    """The best size for `value` = d * `shape`, d free, and all that are nearly as good."""
    weighted, target = shape / error, value / error
    scale = np.sum(weighted * target, axis=1) / np.maximum(np.sum(weighted**2, axis=1), 1e-300)
    distance = np.sum((target - scale[:, None] * weighted) ** 2, axis=1)
    distance[np.sum(shape, axis=1) == 0] = np.sum(target**2)
    best = float(np.min(distance))
    if best > _ALLOWED * 4 * len(blocks):
        return None  # no entry size explains these curves
    allowed = _SIZES[distance <= best + _ALLOWED]
    return Size(float(_SIZES[np.argmin(distance)]), float(allowed[0]), float(allowed[-1]))


def power_of_two(low: float, high: float) -> int | None:
    """The only power of two from `low` to `high`, or None."""
    first = 2 ** int(np.ceil(np.log2(low) - 1e-9))
    return int(first) if first <= high * (1 + 1e-9) and 2 * first > high * (1 + 1e-9) else None
