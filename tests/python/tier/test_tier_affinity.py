"""Where the pager's thread runs: beside the faulting thread, as long as it gets to run there; and
the threads that it keeps there."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tiered import PROGRAMS, command, compiled, needs_root, needs_tier, run_tiered

pytestmark = [
    needs_tier,
    needs_root,
    pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one processor only"),
]
WITHOUT_RIGHT = ("setpriv", "--bounding-set", "-sys_nice", "--inh-caps", "-sys_nice")
CASES = (
    "comes", "preferred", "kept", "idle", "starved", "forked", "sandboxed", "sandboxed-past-libc",
    "sandboxed-before", "one-thread-sandboxed", "other-thread-sandboxed",
)  # fmt: skip


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("followed")
    return compiled(PROGRAMS / "hazards" / "followed.c", folder / "followed")


@pytest.mark.parametrize("case", CASES)
def test_the_pager_comes_to_faulting_threads_and_leaves_idle_ones(
    tmp_path: Path, program: Path, case: str
) -> None:
    # Each comes there in its first trial, but "kept" wants it to go on.
    options = ("--pager-cpu", "same_idle") if case == "kept" else ()
    run = run_tiered(tmp_path, "4MiB", program, case, options=options)
    assert run.out == "ok\n", run.out + run.err
    counts = run.covered().counts
    assert (counts["kept_faults"] > 0) == (case != "sandboxed-before")
    assert counts["kept_faults"] < counts["faults"]


def test_programs_that_kept_threads_start_may_run_everywhere(tmp_path: Path, program: Path) -> None:
    run = run_tiered(tmp_path, "4MiB", program, "starts", options=("--pager-cpu", "same_idle"))
    # Of vfork, posix_spawn, syscall and exec.
    assert run.out == 4 * "ok\n", run.out + run.err
    assert run.counts["kept_faults"] > 0


def test_each_of_two_processors_has_a_pagers_thread_for_the_threads_kept_there(
    tmp_path: Path, program: Path
) -> None:
    run = run_tiered(tmp_path, "4MiB", program, "each", options=("--pager-cpu", "per_cpu"))
    assert run.out == "ok\n", run.out + run.err
    assert run.covered().counts["kept_faults"] > 0


def test_on_one_processor_the_pager_follows_no_thread(tmp_path: Path, program: Path) -> None:
    one = {min(os.sched_getaffinity(0))}
    run = run_tiered(
        tmp_path, "4MiB", program, "much", preexec_fn=lambda: os.sched_setaffinity(0, one)
    )
    assert run.out == "ok\n", run.out + run.err
    assert run.covered().counts["kept_faults"] == 0


@pytest.mark.parametrize("case", ["equal", "served-there"])
def test_without_the_right_to_sched_idle_the_pager_runs_as_an_equal(
    tmp_path: Path, program: Path, case: str
) -> None:
    run = run_tiered(
        tmp_path, "4MiB", *WITHOUT_RIGHT, program, case, options=("--pager-cpu", "same_idle"),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NICE, (0, 0)),
    )  # fmt: skip
    assert run.out == "ok\n", run.out + run.err
    assert run.covered().counts["kept_faults"] > 0


def test_the_pager_leaves_when_the_first_thread_has_ended(tmp_path: Path, program: Path) -> None:
    run = run_tiered(
        tmp_path, "4MiB", program, "first-thread-ended", options=("--pager-cpu", "same_idle")
    )
    assert run.out == "ok\n", run.out + run.err
    assert run.covered().counts["kept_faults"] > 0


@pytest.mark.parametrize("where", ["same", "same_idle", "per_cpu"])
def test_the_pager_goes_where_it_is_told_to(tmp_path: Path, program: Path, where: str) -> None:
    run = run_tiered(tmp_path, "4MiB", program, "served-there", options=("--pager-cpu", where))
    assert run.out == "ok\n", run.out + run.err
    assert run.covered().counts["kept_faults"] > 0


def test_a_pager_that_may_run_anywhere_follows_no_thread(tmp_path: Path, program: Path) -> None:
    run = run_tiered(tmp_path, "4MiB", program, "much", options=("--pager-cpu", "any"))
    assert run.out == "ok\n", run.out + run.err
    assert run.covered().counts["kept_faults"] == 0


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (
            ("--pager-cpu", "same_idel"),
            "--pager-cpu: found 'same_idel', expected one of auto, any, same, same_idle, per_cpu; "
            "did you mean same_idle?",
        ),
        (("--backend", "swap", "--pager-cpu", "same"), "--pager-cpu: is for --backend uffd"),
    ],
)
def test_an_unknown_place_is_refused(
    tmp_path: Path, refused: Callable[..., str], options: tuple[str, ...], complaint: str
) -> None:
    far = () if "swap" in options else ("--far", tmp_path / "far")
    assert complaint in refused("tier", "run", "--near", "4MiB", *far, *options, "--", "true")


def test_a_pager_that_could_not_stay_is_not_started(tmp_path: Path) -> None:
    words = command(
        "4MiB",
        tmp_path / "far",
        "true",
        result=tmp_path / "r",
        options=("--pager-cpu", "same_idle"),
    )
    one = {min(os.sched_getaffinity(0))}
    ran = subprocess.run(
        words, capture_output=True, text=True, check=False,
        preexec_fn=lambda: os.sched_setaffinity(0, one),
    )  # fmt: skip
    assert ran.returncode == 1
    assert ran.stderr.endswith(
        "nearfar: --pager-cpu same_idle: found one processor, expected at least two\n"
    )
