"""Sizes of caches whose sets pages fill at random: the interval holds the truth, and is narrow."""

from __future__ import annotations

import numpy as np
import pytest

from nearfar.inference.caches.model import CONTIGUOUS, RANDOM, Organisation, miss_share, miss_shares
from nearfar.inference.caches.ramps import Reading, Span, fit
from random_pages import KIB, MIB, Level, curve, missing

SECOND = (
    Level(256 * KIB, 4), Level(256 * KIB, 8), Level(512 * KIB, 8), Level(1 * MIB, 16),
    Level(1280 * KIB, 20), Level(2 * MIB, 16),
)  # fmt: skip
THIRD = (
    Level(8 * MIB, 16), Level(16 * MIB, 16, hashed=True), Level(32 * MIB, 16),
    Level(36 * MIB, 12, hashed=True), Level(33 * MIB, 11, hashed=True),
)  # fmt: skip


def spans(
    levels: tuple[Level, Level], noise: float, seed: int, largest: int = 128 * MIB
) -> list[Span]:
    """What a full probe's walks say: about ten regions an octave on the ramps."""
    rng = np.random.default_rng(seed)
    lines = np.unique(np.round(np.geomspace(64 * KIB, largest, 70) / 4096) * 64).astype(float)
    times = curve(levels, (4.0, 15.0, 95.0), lines, 10, noise, rng)
    mean = np.array([float(np.mean(one)) for one in times])
    median = np.array([float(np.median(one)) for one in times])
    error = np.array([float(np.std(one)) for one in times]) / 3 / mean
    first = lines[median <= 4.0 * 1.04].max()
    behind = lines[(median <= 15.0 * 1.12)].max()
    return fit(lines, (Reading(mean, error), Reading(median, error)), (first, behind))


@pytest.mark.parametrize("seed", range(8))
def test_the_interval_holds_the_size_and_is_narrow(seed: int) -> None:
    rng = np.random.default_rng(1000 + seed)
    levels = (SECOND[rng.integers(len(SECOND))], THIRD[rng.integers(len(THIRD))])
    found = spans(levels, float(rng.choice([0.003, 0.01, 0.02])), seed)
    for level, span in zip(levels, found, strict=True):
        assert span.low * 64 <= level.size <= span.high * 64
        assert span.bounded
        assert span.high < 2.3 * span.low


def test_a_36_mib_cache_of_hashed_slices_is_not_taken_for_a_smaller_one() -> None:
    _, third = spans((Level(1 * MIB, 16), Level(36 * MIB, 12, hashed=True)), 0.003, 5)
    assert 30 * MIB < third.low * 64 < 36 * MIB < third.high * 64 < 44 * MIB


def test_a_second_cache_of_512_kib_in_8_ways_is_not_taken_for_a_smaller_one() -> None:
    second, _ = spans((Level(512 * KIB, 8), Level(16 * MIB, 16, hashed=True)), 0.01, 6)
    assert 380 * KIB < second.low * 64 < 512 * KIB < second.high * 64 < 700 * KIB


def test_a_curve_that_ends_on_the_ramp_has_no_upper_bound_of_its_own() -> None:
    _, third = spans((Level(512 * KIB, 8), Level(36 * MIB, 12)), 0.01, 7, largest=32 * MIB)
    assert third.low * 64 <= 36 * MIB
    assert third.high * 64 >= 36 * MIB or not third.bounded


@pytest.mark.parametrize("hashed", [False, True])
@pytest.mark.parametrize("ratio", [0.6, 1.0, 1.5])
def test_the_model_counts_the_misses_of_pages_that_lie_anywhere(hashed: bool, ratio: float) -> None:
    level = Level(2 * MIB, 16, hashed)
    lines = int(ratio * level.size / 64)
    rng = np.random.default_rng(3)
    counted = float(np.mean([missing(level, lines, rng) for _ in range(200)]))
    candidate = Organisation(level.size // 64, 16, "lru", RANDOM)
    assert miss_share(np.array([float(lines)]), candidate)[0] == pytest.approx(counted, abs=0.02)


@pytest.mark.parametrize("placement", [CONTIGUOUS, RANDOM])
@pytest.mark.parametrize("policy", ["lru", "qlru", "random"])
def test_shares_of_many_candidates_at_once_are_those_of_each(placement: str, policy: str) -> None:
    lines = np.geomspace(1000, 500_000, 23)
    some = [Organisation(size, 8, policy, placement) for size in (4096, 8192, 65536, 262144)]
    each = np.array([miss_share(lines, one) for one in some])
    assert miss_shares(lines, some) == pytest.approx(each, abs=0.01)
