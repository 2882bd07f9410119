"""A figure comes out of chunk timings whatever disturbs some of them, and says how sure it is."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as some

from nearfar.errors import NearfarError
from nearfar.measuring.chunks import (
    low_quantile,
    median_interval,
    posted_ns,
    serial_ns,
    together_ns,
)


def walk(
    costs: list[float], lines: int = 100, disturbed: set[int] | None = None
) -> dict[str, list]:
    """A walk of one chunk after another, each line costing so many ns."""
    slow = disturbed or set()
    return {
        "ns": [cost * lines + (4_000_000 if i in slow else 0) for i, cost in enumerate(costs)],
        "lines": [lines] * len(costs),
        "at": [i * lines for i in range(len(costs))],
    }


def test_a_disturbed_chunk_does_not_count() -> None:
    calm = walk([80.0] * 160)
    assert serial_ns(calm, 16_000) == pytest.approx(80)
    assert serial_ns(walk([80.0] * 160, disturbed={3, 50, 51, 120}), 16_000) == pytest.approx(80)
    assert posted_ns(walk([80.0] * 160, disturbed=set(range(0, 160, 3)))) == 80


def test_a_walk_that_gets_faster_counts_from_end_to_end() -> None:
    costs = [200.0 - i * 150 / 320 for i in range(320)]
    mean = sum(costs) / len(costs)
    assert serial_ns(walk(costs), 32_000) == pytest.approx(mean, rel=0.04)
    # What a quantile over all of it would have said.
    assert low_quantile(costs) < 0.6 * mean


def test_reads_after_writes_count_beside_them() -> None:
    both = walk([5.0] * 32 + [95.0] * 32)
    assert serial_ns(both, 6400) == pytest.approx(50)


def test_threads_count_by_the_sum_of_their_speeds() -> None:
    assert together_ns([10.0]) == 10
    assert together_ns([10.0, 10.0]) == 10
    assert together_ns([10.0, 30.0]) == pytest.approx(2 / (1 / 10 + 1 / 30))
    with pytest.raises(NearfarError, match="give more lines"):
        together_ns([10.0, 0.0])


@given(some.lists(some.floats(1, 1e6), min_size=1, max_size=40))
def test_the_interval_holds_the_median_and_lies_within_the_values(values: list[float]) -> None:
    low, high = median_interval(values)
    assert min(values) <= low <= high <= max(values)
    ordered = sorted(values)
    assert low <= ordered[len(values) // 2]
    assert high >= ordered[(len(values) - 1) // 2]


@pytest.mark.parametrize("count", [6, 7, 10, 15, 25])
def test_the_interval_covers_the_true_median_as_often_as_it_says(count: int) -> None:
    rng = random.Random(count)
    trials = 4000
    held = 0
    for _ in range(trials):
        low, high = median_interval([rng.lognormvariate(0, 1) for _ in range(count)])
        held += low <= 1 <= high
    assert held / trials > 0.95 - 3 * math.sqrt(0.05 * 0.95 / trials)


def test_the_interval_narrows_with_the_number_of_repetitions() -> None:
    assert median_interval([3, 1, 2]) == (1, 3)
    assert median_interval(list(range(1, 26))) == (8, 18)
