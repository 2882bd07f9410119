"""Threads that bring their pages in themselves (`--sigbus`) find in memory what others find."""

from __future__ import annotations

from pathlib import Path

import pytest

from nearfar.cli.main import main
from tiered import MIB, PROGRAMS, WAYS, compiled, native, needs_tier, run_tiered

BENCH = PROGRAMS.parents[1] / "bench"
SIGBUS = ("--sigbus",)


def without_times(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith(("wall", "cpu"))]


@needs_tier
@pytest.mark.parametrize(
    "words",
    ["sigbus", "file_over_managed", "past_advice", "past_mappings", "given_back", "remaps",
     "libc_syscall", "grows_break", "protections", "forks_under_writes", "handler_forks",
     "discards_beside_forks", "flushes_beside_forks", "robust_mutex", "thread_values", "locks",
     "seccomp all", "filters_beside_forks", "exec_chain 3", "main_ends", "closes", "raw_fork",
     "raw_forks_beside_forks"],
)  # fmt: skip
def test_nothing_is_lost_where_threads_serve_their_faults(tmp_path: Path, words: str) -> None:
    name, *case = words.split()
    program = compiled(PROGRAMS / "hazards" / f"{name}.c", tmp_path / name)
    ran = run_tiered(tmp_path, "2MiB", program, *case, policy="fifo", options=SIGBUS).covered()
    assert ran.out == "ok\n", ran.err
    assert ran.counts["near_peak_bytes"] <= 2 * MIB + MIB


@needs_tier
def test_system_calls_find_far_memory_that_they_are_given(tmp_path: Path) -> None:
    program = compiled(
        PROGRAMS / "hazards" / "far_buffers.c",
        tmp_path / "far_buffers",
        "-Wno-deprecated-declarations",
    )
    for options in (SIGBUS, ()):
        ran = run_tiered(tmp_path, "2MiB", program, tmp_path, policy="fifo", options=options)
        assert ran.covered().out == "ok\n", ran.err


@needs_tier
def test_a_call_that_waits_gets_what_comes_once_while_others_hold_much(tmp_path: Path) -> None:
    program = compiled(PROGRAMS / "hazards" / "waiting_buffers.c", tmp_path / "waiting_buffers")
    ran = run_tiered(tmp_path, "8MiB", program, tmp_path, policy="fifo", options=SIGBUS)
    assert ran.covered().out == "ok\n", ran.err


@needs_tier
@pytest.mark.parametrize("near", ["2MiB", "6MiB"])
def test_threads_that_copy_pages_at_once_lose_no_write(tmp_path: Path, near: str) -> None:
    program = compiled(PROGRAMS / "hazards" / "faults_at_once.c", tmp_path / "faults_at_once")
    options = (*SIGBUS, *WAYS["in memory"])  # pages of a far file elsewhere come one at a time
    ran = run_tiered(tmp_path, near, program, options=options).covered()
    assert ran.out == "ok\n", ran.err
    assert ran.counts["copies_in"] > 1000


@needs_tier
def test_a_program_that_moves_memory_past_libc_is_ended(tmp_path: Path) -> None:
    program = compiled(PROGRAMS / "hazards" / "past_remaps.c", tmp_path / "past_remaps")
    ran = run_tiered(tmp_path, "2MiB", program, policy="fifo", options=SIGBUS)
    assert (ran.out, ran.status) == ("", 1)
    said = "the program has moved memory past libc, which --sigbus does not follow\n"
    assert ran.err.endswith(f"nearfar tier: {said}")


@needs_tier
@pytest.mark.parametrize(
    ("pattern", "size", "near"), [("options", "32", "8MiB"), ("itemsets", "6", "4MiB")]
)
def test_programs_that_compute_in_memory_find_the_same(
    tmp_path: Path, pattern: str, size: str, near: str
) -> None:
    main = BENCH / "tier_programs.c"
    others = [str(source) for source in sorted(BENCH.glob("tier_*.c")) if source != main]
    others += [
        str(BENCH.parent / f"examples/programs/kit/{one}.c") for one in ("options", "itemsets")
    ]
    program = compiled(main, tmp_path / "programs", "-O2", *others, "-lm")
    words = (program, pattern, size, "1", "1")
    waited = run_tiered(tmp_path, near, *words).covered()
    signalled = run_tiered(tmp_path, near, *words, options=SIGBUS).covered()
    expected = without_times(native(*words))
    assert without_times(waited.out) == expected
    assert without_times(signalled.out) == expected
    assert signalled.counts["copies_in"] > 0
    assert signalled.counts["over_budget"] == 0


@needs_tier
def test_pages_that_a_thread_only_reads_leave_without_being_written(tmp_path: Path) -> None:
    program = compiled(PROGRAMS / "programs" / "touches.c", tmp_path / "touches")
    counts = {}
    for touch in ("read", "write"):
        ran = run_tiered(tmp_path, "4MiB", program, touch, options=SIGBUS).covered()
        assert ran.out == "ok\n"
        counts[touch] = ran.counts
    faults = 2 * 4096  # of three rounds, those that are not served by what is near already
    assert counts["read"]["clean_drops"] > faults
    assert counts["read"]["copies_out"] < counts["write"]["copies_out"] - faults
    assert counts["read"]["protected_ins"] == 0  # system calls that write there would fail


@needs_tier
def test_threads_of_an_openmp_program_find_the_same(tmp_path: Path) -> None:
    source = PROGRAMS / "programs" / "mapreduce.c"
    program = compiled(source, tmp_path / "mapreduce", "-fopenmp", "-O2")
    ran = run_tiered(tmp_path, "8MiB", program, options=SIGBUS).covered()
    assert ran.out == native(program)


@needs_tier
def test_the_cost_of_the_option_is_said_at_the_start(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ["tier", "run", "--near", "8MiB", "--far", str(tmp_path / "far"), "--sigbus", "--"]
    main([*words, str(tmp_path / "missing")])
    assert "EFAULT" not in capfd.readouterr().err
    main([*words, "true"])
    assert capfd.readouterr().err.startswith(
        "nearfar: warning: --sigbus: a system call past libc that is given far memory fails"
    )


def test_the_kernels_swap_serves_no_faults_by_signals(capfd: pytest.CaptureFixture[str]) -> None:
    words = ["tier", "run", "--near", "8MiB", "--backend", "swap", "--sigbus", "--", "true"]
    assert main(words) == 2
    assert capfd.readouterr().err == (
        "nearfar: --sigbus: is for --backend uffd; swap has the kernel serve faults\n"
    )
