"""The bench of replacement policies draws by the chances it states, and its bounds hold."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

BENCH = Path(__file__).resolve().parents[3] / "bench"
sys.path.insert(0, str(BENCH))

import tier_policies  # noqa: E402  (found by the line above)
from tier_policies import Phase, counted_misses, informed_misses  # noqa: E402

PAGES = 120
DRAWN = ["zipf 0.8", "zipf 1.0", "zipf 1.2", "uniform", "phases", "90/10"]


@pytest.mark.parametrize("name", DRAWN)
def test_pages_are_visited_as_often_as_their_chances_say(name: str) -> None:
    for phase in tier_policies.TRACES[name](np.random.default_rng(3), PAGES, 10):
        assert phase.chances is not None
        assert phase.chances.sum() == pytest.approx(1)
        seen = np.bincount(phase.visits, minlength=PAGES)
        expected = phase.chances * len(phase.visits)
        assert not seen[expected == 0].any()
        # Five standard deviations of a count.
        assert (abs(seen - expected) <= 5 * np.sqrt(expected)).all()


def test_a_page_is_likely_in_another_phase_as_often_as_phases_have_it() -> None:
    made: list[Phase] = []
    for seed in range(200):
        made += tier_policies.phases(np.random.default_rng(seed), 30, 3)
    share = np.mean([phase.chances > 0 for phase in made], axis=0)
    assert share == pytest.approx(made[0].later, abs=5 * (0.25 / len(made)) ** 0.5)


@pytest.mark.parametrize("name", ["scan", "loop", "scan+zipf"])
def test_a_trace_that_is_not_drawn_has_no_informed_choice(name: str) -> None:
    trace = tier_policies.TRACES[name](np.random.default_rng(3), PAGES, 10)
    assert informed_misses(trace, 10) is None


def test_the_informed_choice_evicts_the_page_least_likely_to_be_next() -> None:
    chances = np.array([0.1, 0.3, 0.2, 0.4])
    # 0 and 1 fill near memory; 2 takes the place of 0, 3 that of 2, and 0 that of 1.
    trace = [Phase(np.array([0, 1, 2, 1, 3, 0, 3, 1]), chances)]
    assert informed_misses(trace, 2) == 2
    assert informed_misses(trace, 4) == 0


def test_of_pages_without_a_chance_the_informed_choice_keeps_those_likely_later() -> None:
    later = np.array([0.5, 0.9, 0.7, 0.2])
    first = Phase(np.array([0, 1, 2]), np.array([0.2, 0.2, 0.6, 0]), later)
    # 3 comes when 0, 1 and 2 have no chance any more: 0 goes.
    second = Phase(np.array([3]), np.array([0, 0, 0, 1.0]), later)
    third = Phase(np.array([1, 2]), np.array([0, 0.5, 0.5, 0]), later)
    assert informed_misses([first, second, third], 3) == 0
    assert informed_misses([first, second, Phase(np.array([0]), third.chances)], 3) == 1


def test_the_counted_choice_evicts_the_page_with_the_fewest_visits() -> None:
    # 0 has three visits when 2 comes, so 1 goes; then 2 goes for 1, which had one before.
    trace = [Phase(np.array([0, 0, 0, 1, 2, 1, 0]))]
    assert counted_misses(trace, 2) == 1
    assert counted_misses(trace, 3) == 0
    # Where what is old counts little, 0 goes instead.
    assert counted_misses(trace, 2, fade=0.5) == 1
    assert counted_misses([Phase(np.array([0, 0, 0, 1, 2, 1]))], 2, fade=0.5) == 0


def test_told_of_phases_the_counted_choice_forgets_earlier_ones() -> None:
    # 0 has three visits when 1 and 2 come, but none in their phase.
    trace = [Phase(np.array([0, 0, 0, 1, 2])), Phase(np.array([1, 2, 1, 2, 0]))]
    assert counted_misses(trace, 2) == 5
    assert counted_misses(trace, 2, told=True) == 3
    assert tier_policies.measure_counted("uniform", PAGES, 0.25, [7]).keys() == {"counted"}
    found = tier_policies.measure_counted("phases", PAGES, 0.25, [7])
    assert found["told of phases"] < found["counted"]


def test_the_counted_choice_is_the_informed_one_that_has_to_learn() -> None:
    rng = np.random.default_rng(5)
    trace = tier_policies.TRACES["zipf 1.0"](rng, PAGES, 10)
    informed = informed_misses(trace, 10)
    assert informed is not None
    assert informed < counted_misses(trace, 10) < 1.1 * informed
    assert counted_misses(trace, 10) < counted_misses(trace, 10, fade=10)


@pytest.mark.parametrize("name", ["zipf 0.8", "zipf 1.0", "zipf 1.2"])
def test_the_informed_choice_lies_between_belady_s_and_every_policy_s(name: str) -> None:
    scanned, unscanned = tier_policies.measure(name, PAGES, 0.25, [7])
    for found in (scanned, unscanned):
        policies = [found[policy] for policy in tier_policies.POLICIES]
        assert found["Belady"] < found["informed"] < min(policies)
    assert scanned["fifo"] == unscanned["fifo"]
    assert scanned["clock"] < unscanned["clock"]


def test_a_shortfall_says_what_could_not_have_reached_the_target_either() -> None:
    found = {"regret": 100, "s3-fifo": 100, "Belady": 80, "static": 80, "informed": 89}

    def shortfalls(name: str, found: dict[str, float]) -> list[str]:
        counted = {"counted": 99.0, "told of phases": 81.0}
        return tier_policies.shortfalls(name, 0.5, found, lambda: counted)

    [zipf] = shortfalls("zipf 1.2", found)
    assert zipf == (
        "zipf 1.2 at 50%: 1.136 of best static choice + 10 %, out of reach: informed 1.011"
    )
    [phases] = shortfalls("phases", found)
    assert phases == ("phases at 50%: 1.111 of S3-FIFO - 10 %, counted 1.100, told of phases 0.900")
    [scan] = shortfalls("scan", {**found, "Belady": 99})
    assert scan.endswith(", out of reach: Belady 1.100")
