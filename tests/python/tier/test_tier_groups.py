"""Memory that leaves two MiB at a time and, where it is read in order, comes back so."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from tiered import MIB, PROGRAMS, Tiered, compiled, needs_huge, needs_tier, run_tiered

pytestmark = [needs_tier, needs_huge]
CASES = (
    "given-back", "own-madvise", "mapped-anew", "moved", "protected", "middle", "rewritten",
    "forked", "written", "written-first", "threads", "parts", "counted",
)  # fmt: skip


@pytest.fixture(scope="module")
def groups(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("groups")
    return compiled(PROGRAMS / "hazards" / "groups.c", folder / "groups")


def ran(
    folder: Path, groups: Path, case: str, near: int = 64, options: Sequence[str] = ()
) -> Tiered:
    run = run_tiered(folder, f"{near}MiB", groups, case, str(near), options=options)
    assert run.out == "ok\n", run.out + run.err
    return run.covered()


@pytest.mark.parametrize("case", CASES)
def test_groups_that_come_back_as_one_lose_nothing(tmp_path: Path, groups: Path, case: str) -> None:
    counts = ran(tmp_path, groups, case).counts
    assert counts["huge_ins"] > 0
    assert counts["near_peak_bytes"] <= 64 * MIB + (MIB if case == "protected" else 0)


@pytest.mark.parametrize(
    "options",
    [
        ("--compress", "lz4"),
        ("--policy", "fifo"),
        ("--emulate", "latency=1us,bandwidth=4GB/s"),
        ("--sigbus",),
    ],
    ids=lambda options: options[-1],
)
@pytest.mark.parametrize("case", ["given-back", "written"])
def test_other_far_memory_and_other_ways_bring_it_back_as_one(
    tmp_path: Path, groups: Path, case: str, options: Sequence[str]
) -> None:
    counts = ran(tmp_path, groups, case, options=options).counts
    assert counts["huge_ins"] > 0
    assert counts["near_peak_bytes"] <= 64 * MIB


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="no tmpfs")
@pytest.mark.parametrize("case", ["given-back", "written", "forked"])
def test_a_far_file_in_memory_is_read_where_it_lies(case: str, groups: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="nearfar-groups-", dir="/dev/shm") as folder:
        assert ran(Path(folder), groups, case).counts["huge_ins"] > 0


def test_every_page_but_the_first_is_counted_as_read_ahead(tmp_path: Path, groups: Path) -> None:
    counts = ran(tmp_path, groups, "counted").counts
    assert counts["huge_ins"] * 511 < counts["read_ahead"]
    assert counts["read_ahead_hits"] > 0.9 * counts["read_ahead"]


def test_groups_that_streams_run_into_are_read_before_they_are_touched(
    tmp_path: Path, groups: Path
) -> None:
    counts = ran(tmp_path, groups, "waited").counts
    # Of the groups that this waits before, one in four, most.
    assert counts["ready_ins"] > counts["huge_ins"] / 8
    assert counts["near_peak_bytes"] <= 64 * MIB


@pytest.mark.parametrize("case", CASES)
def test_groups_read_into_recycled_memory_lose_nothing(
    tmp_path: Path, groups: Path, case: str
) -> None:
    # First in, first out: of a loop that hardly fits, everything leaves.
    counts = ran(tmp_path, groups, case, 116, ("--policy", "fifo")).counts
    assert counts["near_peak_bytes"] <= 116 * MIB + (MIB if case == "protected" else 0)
    assert counts["recycled_ins"] > 0


def test_groups_leave_limbo_as_one_though_single_pages_leave_before_them(
    tmp_path: Path, groups: Path
) -> None:
    # The memory of a group that is written out with single pages is no huge page any more.
    counts = ran(tmp_path, groups, "parts", 116).counts
    assert counts["recycled_ins"] > 0.8 * counts["huge_ins"]


def test_small_pages_that_came_in_order_become_a_huge_page(tmp_path: Path, groups: Path) -> None:
    assert ran(tmp_path, groups, "middle").counts["collapsed"] > 0


def test_memory_that_is_read_backwards_comes_back_page_by_page(
    tmp_path: Path, groups: Path
) -> None:
    assert ran(tmp_path, groups, "backwards").counts["huge_ins"] == 0


@pytest.mark.parametrize("options", [(), ("--evict", "copy")], ids=["little", "copied"])
def test_where_groups_do_not_leave_as_one_none_comes_back_so(
    tmp_path: Path, groups: Path, options: Sequence[str]
) -> None:
    near = 64 if options else 32
    assert ran(tmp_path, groups, "written", near, options).counts["huge_ins"] == 0
