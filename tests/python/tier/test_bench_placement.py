"""On traces of all kinds, with moves that are dear, our placement policy never costs much."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from nearfar.results.flat_replay import FlatReplayResult

BENCH = Path(__file__).resolve().parents[3] / "bench"
sys.path.insert(0, str(BENCH))

import placement  # noqa: E402  (found by the line above)

PAGES = 300


@pytest.mark.parametrize("name", placement.GENERATED)
def test_payback_is_at_most_a_hundredth_slower_than_first_touch(name: str, tmp_path: Path) -> None:
    trace = placement.generated(name, 1, PAGES, tmp_path)
    for detector in placement.DETECTORS:
        for size in placement.replayed(trace, detector).sizes:
            times = {one.policy: one.time_ns for one in size.policies}
            assert times[placement.OURS] <= placement.MOST * times["static"]


def test_payback_gains_where_heat_lasts(tmp_path: Path) -> None:
    result: FlatReplayResult = placement.replayed(
        placement.generated("zipf 0.8", 1, PAGES, tmp_path), "accessed"
    )
    times = {one.policy: one.time_ns for one in result.sizes[0].policies}
    assert times[placement.OURS] < 0.99 * times["static"]


def test_a_replay_of_a_trace_has_a_hundred_decisions(tmp_path: Path) -> None:
    trace = placement.generated("scan", 1, PAGES, tmp_path)
    assert placement.replayed(trace, "dirty").decisions in range(98, 103)
