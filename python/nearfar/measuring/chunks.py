"""From chunk timings to a figure, and from repetitions to an interval. Pure functions.

A measurement on a real machine is a few dozen to a few thousand *chunks*, each timed at once and
short enough (about 100 us) that most of them see no interrupt. Disturbance only ever adds
time, so a low quantile of many chunks is what an undisturbed machine takes.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from nearfar.errors import NearfarError

Chunks = Mapping[str, Sequence[Any]]

SLICES = 16
LOW = 0.1
CONFIDENCE = 0.95


def low_quantile(values: Sequence[float]) -> float:
    """The tenth percentile; of fewer than eleven values the least."""
    return sorted(values)[int(LOW * (len(values) - 1))]


def serial_ns(chunks: Chunks, extent: int) -> float:
    """ns a line of accesses that wait for one another.

    `extent` is how many lines a walk of the region has. A walk need not be equally fast from
    end to end (a buffer may hold more and more of what it comes to), so a quantile of
    all chunks would prefer its fast part. Chunks are compared with those of the same
    sixteenth of the walk, and the sixteenths are added up.
    """
    slices: dict[int, list[tuple[float, int]]] = {}
    for ns, lines, at in zip(chunks["ns"], chunks["lines"], chunks["at"], strict=True):
        slices.setdefault(min(SLICES * at // extent, SLICES - 1), []).append((ns / lines, lines))
    weights = {part: sum(lines for _, lines in items) for part, items in slices.items()}
    total = sum(weights.values())
    return (
        sum(low_quantile([ns for ns, _ in items]) * weights[part] for part, items in slices.items())
        / total
    )


def posted_ns(chunks: Chunks) -> float:
    """ns a line of accesses that nothing waits for: the median of the chunks.

    Queues take some chunks in faster than the memory can follow, so the low quantile that
    suits a dependent chain would flatter it.
    """
    per_line = (ns / lines for ns, lines in zip(chunks["ns"], chunks["lines"], strict=True))
    return float(statistics.median(per_line))


def together_ns(threads: Sequence[float]) -> float:
    """ns a line and thread of threads that each take so long, by the sum of their speeds."""
    if min(threads) <= 0:
        raise NearfarError("a chunk took less time than reading the clock; give more lines")
    return len(threads) / sum(1 / ns for ns in threads)


def median_interval(values: Sequence[float]) -> tuple[float, float]:
    """An interval that holds the median of what `values` are drawn from, with 95 %.

    By order statistics, whatever the distribution; fewer than six values are no more than
    their range, which has less.
    """
    ordered = sorted(values)
    n = len(ordered)
    outside, below = 0.0, 0
    for k in range(n // 2):
        outside += math.comb(n, k) / 2**n
        if 2 * outside > 1 - CONFIDENCE:
            break
        below = k
    return ordered[below], ordered[n - 1 - below]
