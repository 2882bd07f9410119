"""`nearfar tier replay`: page replacement policies on a recorded program."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

import nearfar
from conftest import Run
from nearfar.results.faults import POLICIES
from nearfar.results.tier_replay import TierReplayResult
from nearfar.simulate.tier_replay import SCAN_NS_PER_PAGE

PAGE = 4096
Refused = Callable[..., str]


def visits() -> list[tuple[int, bool]]:
    """Pages and whether each is written: some often, some now and then."""
    rng = random.Random(5)
    return [(int(40 * rng.random() ** 2), rng.random() < 0.3) for _ in range(3000)]


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Those visits as a trace of DRAMsim3, each to some line of its page."""
    path = tmp_path / "t.dramsim3"
    lines = [
        f"{page * PAGE + 64 * (i % 64):#x} {'WRITE' if write else 'READ'} {10 * i}\n"
        for i, (page, write) in enumerate(visits())
    ]
    path.write_text("".join(lines))
    return path


def fifo(near: int) -> dict[str, int]:
    """What first-in first-out without limbo does, with a list."""
    resident: list[int] = []
    dirty: set[int] = set()
    seen: set[int] = set()
    counts = {"misses": 0, "copies_in": 0, "copies_out": 0, "clean_drops": 0}
    for page, write in visits():
        if page not in resident:
            counts["misses"] += 1
            counts["copies_in"] += page in seen
            seen.add(page)
            if len(resident) == near:
                leaving = resident.pop(0)
                counts["copies_out" if leaving in dirty else "clean_drops"] += 1
                dirty.discard(leaving)
            resident.append(page)
        if write:
            dirty.add(page)
    return counts


def test_fifo_counts_what_a_list_does(trace: Path) -> None:
    # Below 16 pages there is no limbo.
    one = nearfar.tier_replay(trace, policies=["fifo"], near=["48KiB"]).sizes[0]
    assert (one.near_pages, one.limbo_pages) == (12, 0)
    expected = fifo(12)
    assert {name: getattr(one.policies[0], name) for name in expected} == expected
    assert one.policies[0].scans == 0


def test_all_policies_run_by_default_and_none_beats_belady(nearfar: Run, trace: Path) -> None:
    status, out, err = nearfar("tier", "replay", trace, "--json", "-", "--quiet")
    document = json.loads(out)
    assert (status, err) == (0, "")
    assert document["schema"] == TierReplayResult.SCHEMA
    assert "without_scans" not in document
    assert (document["pages"], document["accesses"]) == (40, 3000)
    assert [one["near_pages"] for one in document["sizes"]] == [2, 4, 10, 20]
    for one in document["sizes"]:
        assert [paged["policy"] for paged in one["policies"]] == list(POLICIES)
        for paged in one["policies"]:
            assert paged["misses"] >= one["belady_misses"]
            assert paged["faults"] == paged["misses"] + paged["second_chances"]
            assert paged["misses"] == paged["first_touches"] + paged["copies_in"]
            assert paged["scan_ns"] == paged["pages_scanned"] * SCAN_NS_PER_PAGE


def test_the_table_has_a_line_a_policy_and_the_bounds(nearfar: Run, trace: Path) -> None:
    status, out, _ = nearfar("tier", "replay", trace, "--policy", "clock,regret", "--near", "25%")
    lines = out.splitlines()
    assert status == 0
    assert lines[0].startswith("t.dramsim3: 3000 accesses, ")
    assert lines[2] == "near 40 KiB: 10 pages, 25.0% of all, of them 0 in limbo"
    assert [line.split()[0] for line in lines[4:]] == ["clock", "regret", "(static)", "(Belady)"]


def test_without_scans_a_clock_that_has_no_limbo_is_fifo(nearfar: Run, trace: Path) -> None:
    status, out, _ = nearfar(
        *("tier", "replay", trace, "--policy", "clock,s3-fifo", "--near", "48KiB"),
        *("--no-scans", "--json", "-", "--quiet"),
    )
    document = json.loads(out)
    assert (status, document["without_scans"]) == (0, True)
    clock, s3_fifo = document["sizes"][0]["policies"]
    assert clock["misses"] == fifo(12)["misses"]
    assert (clock["scans"], s3_fifo["scans"], clock["scan_ns"]) == (0, 0, 0)


def test_the_table_says_that_nothing_was_scanned(nearfar: Run, trace: Path) -> None:
    words = ("tier", "replay", trace, "--policy", "clock", "--near", "25%")
    with_scans, without = (nearfar(*words, *more)[1] for more in ((), ("--no-scans",)))
    assert without.splitlines()[0] == with_scans.splitlines()[0] + ", without scans"


@pytest.mark.parametrize(
    ("to", "clock_ps"),
    [("nft", None), ("ramulator", None), ("lackey", None), ("gem5", 1000), ("champsim", None)],
)
def test_every_format_gives_the_same_pages(
    trace: Path, tmp_path: Path, to: str, clock_ps: int | None
) -> None:
    other = tmp_path / f"t.{to}"
    nearfar.convert_trace(trace, other, nearfar.ConvertOptions(clock_ps=clock_ps))
    # A trace of ChampSim has nothing that tells it.
    formats = {trace: "dramsim3", other: "nearfar" if to == "nft" else to}
    ours, theirs = (
        nearfar.tier_replay(path, policies=["s3-fifo"], near=["25%"], format=format)
        for path, format in formats.items()
    )
    assert theirs.pages == ours.pages
    assert theirs.sizes[0].policies[0].misses == ours.sizes[0].policies[0].misses


def test_an_access_across_a_page_s_end_visits_both(tmp_path: Path) -> None:
    path = tmp_path / "t.lackey"
    path.write_text(" L 00000ffc,8\n S 00005000,4\n")
    replay = nearfar.tier_replay(path, policies=["fifo"], near=["4KiB"])
    assert (replay.pages, replay.visits) == (3, 3)


def test_near_memory_that_holds_all_is_warned_about(nearfar: Run, trace: Path) -> None:
    status, _, err = nearfar("tier", "replay", trace, "--policy", "fifo", "--near", "1MiB")
    assert status == 0
    assert err == (
        "nearfar: warning: all 40 pages fit into 256 near pages: no page is ever evicted; "
        "give a smaller --near\n"
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--policy", "clok"), "found 'clok'"),
        (("--policy", "clok"), "did you mean clock?"),
        (("--near", "0"), "found '0', expected at least a page of 4096 B"),
        (("--policy", "LRU"), "--policy: found 'LRU'"),
        (("--near", "0%"), "--near: found '0%', expected more than 0%"),
        (("--near", "-5%"), "--near: found '-5%', expected more than 0%"),
        (("--near", "4KiB,25"), "--near: found '25' without a unit, expected a size or a share"),
        (("--near", "25"), "did you mean 25%?"),
        (("--near", "1%"), "--near: found '1%' of 40 pages, expected at least a page"),
        (("--near", "12 parsecs"), "found unit 'parsecs'"),
        (("--near", "4KiB,"), "found ''"),
    ],
)
def test_bad_options_are_refused(
    refused: Refused, trace: Path, options: tuple[str, str], said: str
) -> None:
    assert said in refused("tier", "replay", trace, *options)


def test_a_trace_without_accesses_is_refused(refused: Refused, tmp_path: Path) -> None:
    empty = tmp_path / "empty.dramsim3"
    empty.write_text("")
    assert "empty.dramsim3" in refused("tier", "replay", empty)
