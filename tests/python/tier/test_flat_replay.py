"""`nearfar tier replay --flat`: placement policies on a recorded program."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

import nearfar
from conftest import Run
from nearfar._lists import DETECTORS, PLACEMENT_POLICIES
from nearfar.results.flat_replay import FlatPolicy, FlatReplayResult
from nearfar.simulate.flat_replay import FlatOptions, flat_replay
from nearfar.simulate.traces.convert import ConvertOptions, convert

PAGE = 4096
CLOCK_PS = 1000
APART = 400  # cycles between two accesses: 400 ns
MS = 10**9  # ps
Refused = Callable[..., str]


def written(tmp_path: Path, accesses: list[tuple[int, bool]], clock: int | None = CLOCK_PS) -> Path:
    """A trace with an access each 400 ns, to pages and written or not."""
    text = tmp_path / "t.dramsim3"
    text.write_text(
        "".join(
            f"{page * PAGE + 64 * (at % 64):#x} {'WRITE' if write else 'READ'} {APART * at}\n"
            for at, (page, write) in enumerate(accesses)
        )
    )
    if clock is None:
        return text
    trace = tmp_path / "t.nft"
    convert(text, trace, ConvertOptions(clock_ps=clock))
    return trace


def hot_after_all_were_touched(count: int = 50_000, pages: int = 200) -> list[tuple[int, bool]]:
    """Pages are touched once, then the last twenty of them nearly always."""
    rng = random.Random(7)
    touched = [(page, False) for page in range(pages)]
    hot = [
        (pages - 1 - rng.randrange(20) if rng.random() < 0.95 else rng.randrange(pages), False)
        for _ in range(count)
    ]
    return touched + hot


def options(**given: object) -> FlatOptions:
    """In twenty milliseconds, a hundred decisions."""
    values: dict[str, object] = {
        "near": ["10%"],
        "interval": MS // 5,
        "pairs": 20,
        "detector": "accessed",
    }
    return FlatOptions(**{**values, **given})  # type: ignore[arg-type]


def policies(result: FlatReplayResult) -> dict[str, FlatPolicy]:
    return {policy.policy: policy for policy in result.sizes[0].policies}


def test_static_serves_the_pages_touched_first_from_near_memory(tmp_path: Path) -> None:
    accesses = [(0, False), (1, False), (1, True), (0, False), (2, True)]
    result = flat_replay(written(tmp_path, accesses), options(near=["4KiB"], policies=["static"]))
    (static,) = result.sizes[0].policies
    assert (static.near_reads, static.near_writes) == (2, 0)
    assert (static.far_reads, static.far_writes) == (1, 2)
    # The times of the trace are of near memory; what far memory takes is added.
    assert result.times_with_memory
    assert result.all_near_ns == 4 * APART
    assert static.time_ns == pytest.approx(4 * APART + 279 + 2 * 18)
    assert result.all_far_ns == pytest.approx(4 * APART + 2 * 279 + 2 * 18 + 279)


def test_policies_bring_hot_pages_near_and_none_beats_the_offline_bound(tmp_path: Path) -> None:
    trace = written(tmp_path, hot_after_all_were_touched())
    result = flat_replay(trace, options())
    one = result.sizes[0]
    found = policies(result)
    assert list(found) == ["static", *(p for p in PLACEMENT_POLICIES if p != "static")]
    assert found["static"].gap_recovered == 0
    assert found["static"].promoted == 0
    assert found["raminate"].bound_recovered > 0.6
    assert found["payback"].bound_recovered > 0.8
    for policy in one.policies:
        assert one.bound_ns <= policy.time_ns
        assert policy.near_reads + policy.far_reads == result.reads
        assert sum(policy.intervals["promoted"]) == policy.promoted
        assert max(policy.intervals["promoted"]) <= result.pairs
        assert len(policy.intervals["far_reads"]) == result.decisions + 1
    assert result.all_near_ns <= one.bound_ns <= one.hottest_ns <= result.all_far_ns


@pytest.mark.parametrize("detector", DETECTORS)
def test_every_detector_drives_every_policy_the_same_way_twice(
    tmp_path: Path, detector: str
) -> None:
    trace = written(tmp_path, [(page, page % 3 == 0) for page, _ in hot_after_all_were_touched()])
    once = flat_replay(trace, options(detector=detector)).to_dict()
    assert once == flat_replay(trace, options(detector=detector)).to_dict()


def test_a_sequential_scan_gives_payback_nothing_to_move(tmp_path: Path) -> None:
    trace = written(tmp_path, [(at // 16 % 200, False) for at in range(50_000)])
    found = policies(flat_replay(trace, options()))
    assert found["payback"].time_ns < 1.01 * found["static"].time_ns
    assert found["payback"].promoted < 20
    assert found["raminate"].promoted > 500


def test_a_scaled_trace_stands_for_a_longer_run_with_as_many_more_accesses(tmp_path: Path) -> None:
    trace = written(tmp_path, hot_after_all_were_touched())
    short = flat_replay(trace, options(policies=["static"]))
    long = flat_replay(trace, options(policies=["static"], interval=20 * MS, time_scale=100))
    assert long.decisions == short.decisions
    assert long.all_near_ns == pytest.approx(100 * short.all_near_ns)
    assert long.sizes[0].policies[0].time_ns == pytest.approx(
        100 * short.sizes[0].policies[0].time_ns
    )
    # A move is one move, and costs what it costs: it pays sooner in the longer run.
    costly = flat_replay(trace, options(policies=["raminate"])).sizes[0].policies[1]
    cheap = (
        flat_replay(trace, options(policies=["raminate"], interval=20 * MS, time_scale=100))
        .sizes[0]
        .policies[1]
    )
    assert cheap.promoted == costly.promoted
    assert cheap.move_ns == pytest.approx(costly.move_ns)


def test_the_command_prints_a_table_and_writes_json_and_a_page(
    nearfar: Run, tmp_path: Path
) -> None:
    trace = written(tmp_path, hot_after_all_were_touched())
    saved, page = tmp_path / "r.json", tmp_path / "r.html"
    status, out, err = nearfar(
        *("tier", "replay", trace, "--flat", "--near", "5%,10%", "--interval", "200us"),
        *("--pairs", "20", "--detector", "accessed", "--json", saved, "--html", page),
    )
    assert (status, err) == (0, "")
    for name in ("all near", *PLACEMENT_POLICIES, "all far", "(offline bound)"):
        assert out.count(f"\n{name} ") == 2
    document = json.loads(saved.read_text())
    assert document["schema"] == FlatReplayResult.SCHEMA
    html = page.read_text()
    assert "Traffic of the tiers" in html
    assert "Pages moved to near memory in an interval" in html
    status, again, _ = nearfar("report", saved, "-o", "-")
    assert status == 0
    assert "Traffic of the tiers" in again


def test_a_trace_without_a_decision_says_so(nearfar: Run, tmp_path: Path) -> None:
    trace = written(tmp_path, [(0, False), (1, False)])
    status, _, err = nearfar("tier", "replay", trace, "--flat", "--near", "50%")
    assert status == 0
    assert err.startswith("nearfar: warning: the trace ends before the first decision")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--policy", "raminat"), "did you mean raminate?"),
        (("--policy", "s3-fifo"), "--policy: found 's3-fifo', expected one of static, "),
        (("--detector", "dirt"), "did you mean dirty?"),
        (("--near", "0%"), "found '0%', expected more than 0%"),
        (("--near", "101%"), "found '101%', expected at most 100%"),
        (("--pairs", "0"), "--pairs: found 0, expected at least 1"),
        (("--time-scale", "0"), "--time-scale: found 0.0, expected more than 0"),
        (("--interval", "1ps"), "--interval: found 0.001 ns at a time scale of 1"),
        (("--read", "95ns"), "expected two times, of near and of far memory"),
        (("--read", "300ns,95ns"), "expected far memory to be no faster"),
        (("--no-scans",), "--no-scans: not with --flat"),
    ],
)
def test_options_that_cannot_be_meant_are_refused_in_one_line(
    refused: Refused, tmp_path: Path, words: tuple[str, ...], told: str
) -> None:
    trace = written(tmp_path, [(0, False), (1, False)])
    assert told in refused("tier", "replay", str(trace), "--flat", *words)


def test_options_of_flat_tiers_are_refused_without_flat(refused: Refused, tmp_path: Path) -> None:
    trace = written(tmp_path, [(0, False), (1, False)])
    told = refused("tier", "replay", str(trace), "--move-cost", "9us")
    assert told == "--move-cost: only with --flat"


def test_traces_that_do_not_say_when_memory_is_asked_are_refused(
    refused: Refused, tmp_path: Path
) -> None:
    cycles = written(tmp_path, [(0, False), (1, False)], clock=None)
    assert "cycles of unknown length" in refused("tier", "replay", str(cycles), "--flat")
    untimed = tmp_path / "t.lackey"
    untimed.write_text(" L 04222cac,4\n S 04222cac,4\n")
    told = refused("tier", "replay", str(untimed), "--flat")
    assert "without times" in told or "before its caches" in told


def test_times_that_cannot_be_counted_are_refused(refused: Refused, tmp_path: Path) -> None:
    text = tmp_path / "far.dramsim3"
    text.write_text(f"0x0 READ 0\n0x40 READ {2**54 + 5}\n")
    trace = tmp_path / "far.nft"
    convert(text, trace, ConvertOptions(clock_ps=1024))
    told = refused("tier", "replay", str(trace), "--flat", "--near", "4KiB")
    assert "expected the trace to end within 106 days" in told
    text.write_text(f"0x0 READ 0\n0x40 READ {2**52}\n")
    convert(text, trace, ConvertOptions(clock_ps=1024))
    told = refused("tier", "replay", str(trace), "--flat", "--near", "4KiB", "--interval", "1ns")
    assert "more than 1000000 intervals" in told


def test_the_api_has_the_names_that_the_command_has() -> None:
    assert nearfar.flat_replay is flat_replay
    assert nearfar.FlatOptions is FlatOptions
