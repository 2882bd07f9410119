"""The table of a study in which parts are switched off and on: its pairs, means and intervals."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from nearfar.results.sweep import DONE, SweepPoint

BENCH = Path(__file__).resolve().parents[3] / "bench"
sys.path.insert(0, str(BENCH))

import studies  # noqa: E402  (found by the line above)

LAZY, PRE = "nvdimm.lazy.enabled", "nvdimm.pretranslation.enabled"
BOTH = (LAZY, PRE)


def document(time_ns: float, writes: int = 10) -> dict[str, Any]:
    """A run of two processes, of which the second does the work."""

    def process(time: float, instructions: int) -> dict[str, Any]:
        counters = {"memory.far.channel.0.dimm.media.writes": writes,
                    "memory.far.channel.0.bus.busy_ps": 7}  # fmt: skip
        return {
            "machine": {
                "core": {
                    "counts": {"instructions": instructions},
                    "stack_ps": {"base": 400 * time, "memory": 600 * time, "away": 10**9},
                },
                "counters": counters,
                "hits": {"second TLB": [60, 100]},
                "load_latency": {"p999_ns": 300},
            }
        }

    return {"processes": [process(1, 10), process(time_ns, 20_000)]}


def point(
    draw: int, on: Mapping[str, str], time_ns: float, work: str = "tpcc", target: str = "m"
) -> SweepPoint:
    return SweepPoint(
        id=f"{draw}{on}",
        target=f"model:{target}",
        work=f"run --skip 6M -- build/{work} build/a.pool 2 {draw}",
        settings={"draw": str(draw), **on},
        state=DONE,
        result=document(time_ns),
    )


def switched(lazy: bool, pre: bool) -> dict[str, str]:
    return {LAZY: str(lazy).lower(), PRE: str(pre).lower()}


def evaluation() -> list[SweepPoint]:
    times = {(False, False): (110, 121, 100), (True, False): (100, 110, 100),
             (False, True): (100, 110, 90.9091), (True, True): (55, 60.5, 50)}  # fmt: skip
    return [point(draw, switched(*on), each[draw - 1])
            for on, each in times.items() for draw in (1, 2, 3)]  # fmt: skip


def test_runs_are_paired_by_draw_and_named_by_what_is_on() -> None:
    runs = studies.paired(evaluation(), BOTH)
    ((key, draws),) = runs.items()
    assert key == ("m", "tpcc 2")
    assert set(draws) == {"1", "2", "3"}
    found = [studies.row(key, draws, on) for on in studies.combinations(BOTH, runs)]
    lines = [line for line in found if line is not None]
    assert [line[0][2] for line in lines] == [
        "Lazy cache", "Pre-translation", "Lazy cache + Pre-translation",
    ]  # fmt: skip
    # Ratios 1.1, 1.1 and 1: the mean, and 4.303 (Student's t, two degrees) of its deviations.
    assert lines[0][1].speedup == pytest.approx(20 / 3)
    assert lines[0][1].half == pytest.approx(100 * 4.303 * 0.0577350 / 3**0.5, rel=1e-4)
    assert lines[0][1].note == "noise"
    # The same gain in every draw: the interval is nought, and that is no noise.
    assert lines[1][1].speedup == pytest.approx(10, abs=1e-4)
    assert lines[1][1].note == ""
    assert lines[2][1].speedup == pytest.approx(100)


def test_the_busiest_process_is_the_one_that_counts() -> None:
    seen = studies.seen(document(50, writes=3))
    assert (seen.time_ns, seen.media_writes, seen.bus_ps) == (50, 3, 7)
    assert seen.tlb_misses == pytest.approx(1000 * 40 / 20_000)


def test_a_single_draw_has_no_interval_and_says_so() -> None:
    gain = studies.gain([1.2])
    assert (gain.half, gain.note) == (None, "one draw")
    assert gain.speedup == pytest.approx(20)


def test_a_speed_up_within_its_interval_is_named_noise() -> None:
    assert studies.gain([1.0, 1.02]).note == "noise"
    assert studies.gain([0.8, 0.801, 0.799]).note == ""


def test_draws_that_lack_a_partner_are_left_out() -> None:
    points = [one for one in evaluation() if one.settings[LAZY] == "false" or
              one.settings["draw"] != "2"]  # fmt: skip
    runs = studies.paired(points, BOTH)
    ((key, draws),) = runs.items()
    line = studies.row(key, draws, frozenset({LAZY}))
    assert line is not None
    assert line[0][3] == "2"
    assert studies.row(key, {"1": draws["2"]}, frozenset({LAZY})) is None


def test_a_switch_in_the_target_is_no_other_machine() -> None:
    marked = f"m,{PRE}=true,cpu.pretranslation.mark=auto"
    points = [point(1, {LAZY: "false"}, 100, target=target) for target in ("m", marked)]
    ((_, draws),) = studies.paired(points, BOTH).items()
    assert set(draws["1"]) == {frozenset(), frozenset({PRE})}


def test_means_are_geometric() -> None:
    ((target, what, named, _, mean, *_),) = studies.means({("m", "both"): [100.0, 0.0, 100.0]})
    assert (target, what, named) == ("m", "mean of 3 workloads", "both")
    assert mean == "+58.74 %"


def test_the_table_of_a_study_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(studies, "points_of", lambda stores, switches: evaluation())  # noqa: ARG005
    monkeypatch.setattr(
        sys, "argv", ["studies", "a.db", "--switch", LAZY, "--switch", PRE, "--mean"]
    )
    studies.main()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + 3 + 3
    assert "+6.67 %" in lines[1]
    assert "noise" in lines[1]
    assert "mean of 1 workloads" in lines[-1]


def test_runs_of_a_program_that_is_told_the_draw_among_its_arguments_are_one_workload() -> None:
    points = []
    for draw in (1, 2, 3):
        for on in (False, True):
            one = point(draw, switched(on, False), 1.0)
            work = f"run -- build/list build/{draw}.pool 1 {draw} 3"
            points.append(dataclasses.replace(one, work=work))
    (key,) = studies.paired(points, BOTH)
    assert key[1] == "list 1 3"
