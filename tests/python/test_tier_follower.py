"""Where the pager's thread runs: beside whoever faults, as long as it gets to run there; and whom
it keeps there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tiered import PROGRAMS, compiled, needs_root, needs_tier, run_tiered

pytestmark = [
    needs_tier,
    needs_root,
    pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one processor only"),
]
CASES = (
    "comes", "preferred", "kept", "idle", "starved", "forked", "sandboxed", "sandboxed-past-libc",
    "sandboxed-before", "one-thread-sandboxed",
)  # fmt: skip


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("followed")
    return compiled(PROGRAMS / "hazards" / "followed.c", folder / "followed")


@pytest.mark.parametrize("case", CASES)
def test_it_comes_and_goes(tmp_path: Path, program: Path, case: str) -> None:
    run = run_tiered(tmp_path, "4MiB", program, case)
    assert run.out == "ok\n", run.out + run.err
    counts = run.covered().counts
    assert (counts["followed"] > 0) == (case != "sandboxed-before")
    assert counts["followed"] < counts["faults"]


def test_what_kept_threads_start_may_run_everywhere(tmp_path: Path, program: Path) -> None:
    run = run_tiered(tmp_path, "4MiB", program, "starts")
    # Of vfork, posix_spawn, syscall and exec.
    assert run.out == 4 * "ok\n", run.out + run.err
    assert run.counts["followed"] > 0


def test_on_one_processor_nobody_is_followed(tmp_path: Path, program: Path) -> None:
    one = {min(os.sched_getaffinity(0))}
    run = run_tiered(
        tmp_path, "4MiB", program, "much", preexec_fn=lambda: os.sched_setaffinity(0, one)
    )
    assert run.out == "ok\n", run.out + run.err
    assert run.covered().counts["followed"] == 0


def test_nor_by_who_cannot_get_its_policy_back(tmp_path: Path, program: Path) -> None:
    run = run_tiered(
        tmp_path, "4MiB", "setpriv", "--bounding-set", "-sys_nice", "--inh-caps", "-sys_nice",
        program, "much",
    )  # fmt: skip
    assert run.out == "ok\n", run.out + run.err
    assert run.covered().counts["followed"] == 0
