"""The replacement models agree with buffers written as plainly as can be."""

from __future__ import annotations

import random

import numpy as np
import pytest

from nearfar.inference import replacement
from standin_device import Buffer

SHAPES = [(8, 1), (8, 8), (12, 3), (64, 4), (60, 20)]


def blocks(entries: int, seed: int, count: int = 4000) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, entries + entries // 2, count)


def played(policy: str, entries: int, ways: int, order: np.ndarray, seed: int = 1) -> np.ndarray:
    """Hits of the stand-in's buffer."""
    buffer, rng = Buffer(64, entries, ways, policy, 0.0), random.Random(seed)
    return np.array([buffer.access(64 * int(block), rng) for block in order])


def plausible(entries: int, ways: int, order: np.ndarray, hits: np.ndarray) -> bool:
    candidate = replacement.judge(entries, ways, "random", order, hits)
    return replacement.plausible(candidate, entries, order, hits)


@pytest.mark.parametrize(("entries", "ways"), SHAPES)
@pytest.mark.parametrize("policy", ["fifo", "lru"])
def test_ordered_replacement_is_predicted_access_by_access(
    policy: str, entries: int, ways: int
) -> None:
    order = blocks(entries, seed=entries)
    expected = played(policy, entries, ways, order)
    assert np.array_equal(replacement.ordered(policy, entries, ways, order), expected)


@pytest.mark.parametrize(("entries", "ways"), SHAPES)
def test_chances_of_random_replacement_exclude_nothing_that_occurs(entries: int, ways: int) -> None:
    order = blocks(entries, seed=3, count=20_000)
    hits = played("random", entries, ways, order)
    chances = replacement.random_chances(entries, ways, order, hits)
    assert not hits[chances == 0].any()
    assert hits[chances == 1].all()


def test_the_chance_to_survive_one_replacement_is_known() -> None:
    """0 to 3 fill the set, 4 pushes one out, and each of the four is as likely to be it."""
    order = np.array([0, 1, 2, 3, 4, 0])
    chances = replacement.random_chances(4, 4, order, np.zeros(6, dtype=bool))
    assert chances.tolist() == [0, 0, 0, 0, 0, pytest.approx(0.75)]


@pytest.mark.parametrize(
    ("entries", "ways", "policy"),
    [
        (entries, ways, policy)
        for entries, ways in SHAPES
        for policy in (("fifo", "lru", "random") if ways > 1 else ("fifo",))
    ],
)
def test_the_true_organisation_is_the_likeliest(policy: str, entries: int, ways: int) -> None:
    order = blocks(entries, seed=5)
    hits = played(policy, entries, ways, order)
    judged = [
        replacement.judge(entries, other, kind, order, hits)
        for other in replacement.candidates(entries, 32)
        for kind in (("fifo", "lru", "random") if other > 1 else ("fifo",))
    ]
    best = max(judged, key=lambda candidate: candidate.log_likelihood)
    assert (best.ways, best.policy) == (ways, policy)


@pytest.mark.parametrize(("entries", "ways"), [(8, 8), (64, 4), (60, 20)])
def test_random_replacement_is_plausible_and_the_hits_of_lru_are_not(
    entries: int, ways: int
) -> None:
    order = blocks(entries, seed=7, count=12_000)
    hits = played("random", entries, ways, order)
    assert plausible(entries, ways, order, hits)
    assert not plausible(entries, ways, order, played("lru", entries, ways, order))


def test_late_hits_are_recognised_as_hits() -> None:
    """A hit that was delayed looks like a miss; the organisation is found all the same."""
    order = blocks(64, seed=11, count=12_000)
    delayed = np.random.default_rng(1).random(len(order)) < 1 / 16
    for policy in ("fifo", "lru", "random"):
        hits = played(policy, 64, 4, order) & ~delayed
        judged = [
            replacement.judge(64, ways, kind, order, hits, late)
            for ways in replacement.candidates(64, 32)[1:]
            for kind, late in (("fifo", 0.0), ("lru", 0.0), ("random", 0.0), ("random", 1 / 16))
        ]
        best = max(judged, key=lambda candidate: candidate.log_likelihood)
        assert (best.ways, best.policy) == (4, policy)
        assert best.late == pytest.approx(1 / 16, abs=0.02)


def test_hits_by_the_toss_of_a_coin_are_not_plausible() -> None:
    order = blocks(64, seed=9, count=12_000)
    hits = np.random.default_rng(0).random(len(order)) < 0.5
    assert not plausible(64, 4, order, hits)


def test_candidates_divide_the_entries() -> None:
    assert replacement.candidates(12, 4) == [1, 2, 3, 4, 12]
    assert replacement.candidates(7, 4) == [1, 7]
