"""What loses memory, or hangs, on two tiers if it is built naively: each a small C program.

They make memory far, do the one thing, and look at every word; tests/tier/hazards has them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from nearfar.tier.machine import headers
from tiered import MIB, PROGRAMS, WAYS, Tiered, compiled, need, needs_root, needs_tier, run_tiered

pytestmark = needs_tier
Hazard = Callable[..., Tiered]


# Hazards are about how pages leave and come, not about where they lie: that by night only.
NIGHTLY = os.environ.get("NEARFAR_NIGHTLY") == "1"


LEAVING = [way for way in WAYS if NIGHTLY or way in ("moved", "copied")]
# What devices write while a page is copied may be lost, and of changes past libc the kernel tells
# only where pages are moved, as documented.
not_copied = pytest.mark.parametrize(
    "way", [way for way in LEAVING if way != "copied"], indirect=True
)


@pytest.fixture(params=LEAVING)
def way(request: pytest.FixtureRequest) -> str:
    """One of WAYS."""
    need(request.param)
    return str(request.param)


@pytest.fixture
def hazard(tmp_path: Path, way: str) -> Hazard:
    """Compile a hazard and run it with 2 MiB of near memory, in every way.

    First in, first out: hazards send memory far by using other memory once, which the default
    policy takes for a scan.
    """

    def run(name: str, *words: str | Path) -> Tiered:
        program = compiled(PROGRAMS / "hazards" / f"{name}.c", tmp_path / name)
        ran = run_tiered(tmp_path, "2MiB", program, *words, policy="fifo", options=WAYS[way])
        if ran.out.endswith("here\n"):
            pytest.skip(ran.out.strip())
        assert ran.counts["eviction"] == ("copy" if way == "copied" else "move")
        return ran

    return run


def lost_nothing(ran: Tiered) -> Tiered:
    assert ran.out == "ok\n", ran.err
    assert ran.counts["near_peak_bytes"] <= 2 * MIB + MIB
    return ran.covered()


def test_buffers_registered_with_io_uring_stay_where_devices_write(
    hazard: Hazard, way: str
) -> None:
    ran = hazard("io_uring_pins")
    if way == "copied":
        assert ran.out == "registering a buffer: Operation not supported\n"
    else:
        assert lost_nothing(ran).counts["pinned"] > 0


@not_copied
def test_direct_input_and_output_work_on_far_memory(hazard: Hazard, tmp_path: Path) -> None:
    lost_nothing(hazard("direct_io", tmp_path / "file"))


@needs_root
def test_memory_that_the_kernel_compacts_loses_nothing(hazard: Hazard) -> None:
    assert lost_nothing(hazard("compaction")).counts["over_budget"] == 0


@not_copied
def test_memory_that_is_read_before_it_is_written_takes_no_near_memory_and_loses_nothing(
    hazard: Hazard, tmp_path: Path
) -> None:
    counts = lost_nothing(hazard("reads_fresh", tmp_path / "file")).counts
    assert counts["zero_reads"] > 2 * 16384
    assert 0 < counts["zero_writes"] < 2000


def test_another_process_reads_and_writes_far_memory(hazard: Hazard) -> None:
    lost_nothing(hazard("other_process"))


@pytest.mark.parametrize("name", ["raw_fork", "raw_forks_beside_forks"])
def test_a_child_made_past_libc_dies_rather_than_finds_zeros(hazard: Hazard, name: str) -> None:
    lost_nothing(hazard(name))


def test_vfork_and_spawned_programs_leave_memory_alone(hazard: Hazard) -> None:
    lost_nothing(hazard("spawns"))


def test_closing_every_descriptor_in_every_way_keeps_memory(hazard: Hazard) -> None:
    lost_nothing(hazard("closes"))


def test_calls_by_number_are_followed(hazard: Hazard) -> None:
    lost_nothing(hazard("libc_syscall"))


@not_copied
@pytest.mark.parametrize("what", ["advice", "mappings", "moves", "remaps"])
def test_memory_changed_past_libc_is_followed(hazard: Hazard, what: str) -> None:
    lost_nothing(hazard(f"past_{what}"))


def test_closing_descriptors_past_libc_ends_the_program_before_it_sees_zeros(
    hazard: Hazard,
) -> None:
    ran = hazard("own_instructions")
    assert (ran.out, ran.status) == ("", 1)
    said = "nearfar tier: the program closed a descriptor that its memory depends on\n"
    assert ran.err.splitlines(keepends=True)[-1] == said


def test_discarded_memory_reads_as_zeros(hazard: Hazard) -> None:
    lost_nothing(hazard("given_back"))


def test_threads_that_fault_at_once_lose_no_write(hazard: Hazard) -> None:
    lost_nothing(hazard("faults_at_once"))


@needs_root
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one processor only")
@pytest.mark.parametrize(
    "words",
    ["faults_at_once", "forks_beside_faults", "forks_under_writes", "given_back", "past_advice",
     "past_mappings", "past_moves", "past_remaps", "libc_syscall", "seccomp all", "windows part"],
)  # fmt: skip
def test_nothing_is_lost_where_faults_are_served_on_each_processor(
    tmp_path: Path, words: str
) -> None:
    name, *case = words.split()
    if name.startswith("past_"):
        need("moved")
    program = compiled(PROGRAMS / "hazards" / f"{name}.c", tmp_path / name)
    near = 64 if name == "windows" else 2
    ran = run_tiered(
        tmp_path, f"{near}MiB", program, *case, policy="fifo", options=("--pager-cpu", "per_cpu")
    ).covered()
    assert ran.out == "ok\n", ran.err
    assert ran.counts["near_peak_bytes"] <= near * MIB + MIB


def test_locked_memory_stays_near_and_all_of_it_cannot_be_locked(hazard: Hazard) -> None:
    assert lost_nothing(hazard("locks")).counts["pinned"] > 0


def test_a_program_goes_on_that_has_locked_more_than_near_memory(tmp_path: Path) -> None:
    program = compiled(PROGRAMS / "hazards" / "locks_more.c", tmp_path / "locks_more")
    ran = run_tiered(tmp_path, "16MiB", program)
    assert ran.out == "ok\n", ran.err
    assert ran.counts["over_budget"] > 0
    assert ran.counts["faults"] < 20_000


def test_changes_of_protection_keep_contents(hazard: Hazard) -> None:
    lost_nothing(hazard("protections"))


def test_pages_that_a_write_barrier_protects_are_not_asked_to_leave_again_and_again(
    tmp_path: Path,
) -> None:
    program = compiled(PROGRAMS / "hazards" / "write_barriers.c", tmp_path / "write_barriers")
    ran = run_tiered(tmp_path, "16MiB", program, "15", "12")
    assert ran.out == "ok\n", ran.err
    assert ran.counts["near_peak_bytes"] <= 16 * MIB
    assert ran.counts["over_budget"] == 0
    assert 0 < ran.counts["pinned"] < 20 * ran.counts["evictions"]


def test_a_child_goes_on_where_pages_of_parent_and_child_that_cannot_leave_fill_near_memory(
    tmp_path: Path,
) -> None:
    program = compiled(PROGRAMS / "hazards" / "forks_read_only.c", tmp_path / "forks_read_only")
    ran = run_tiered(tmp_path, "16MiB", program)
    assert ran.out == "ok\n", ran.err
    assert ran.counts["over_budget"] > 0
    assert ran.counts["near_peak_bytes"] <= 20 * MIB
    assert ran.counts["pinned"] < 20 * ran.counts["evictions"]


@pytest.mark.parametrize("threads", ["one", "all"])
def test_seccomp_after_the_start_leaves_far_memory_in_reach(hazard: Hazard, threads: str) -> None:
    lost_nothing(hazard("seccomp", threads))


def test_children_forbid_themselves_calls_as_their_parent_does(hazard: Hazard) -> None:
    lost_nothing(hazard("filters_beside_forks"))


@needs_root
def test_a_program_with_threads_becomes_another_user_and_forks(hazard: Hazard) -> None:
    lost_nothing(hazard("changes_user"))


def test_a_robust_mutex_tells_of_a_dead_owner_however_short_memory_is(hazard: Hazard) -> None:
    lost_nothing(hazard("robust_mutex"))


def test_far_memory_grows_shrinks_and_moves(hazard: Hazard) -> None:
    lost_nothing(hazard("remaps"))


def test_forks_while_threads_write_lose_nothing(hazard: Hazard) -> None:
    assert lost_nothing(hazard("forks_under_writes")).counts["forks"] == 12


def test_forks_while_threads_wait_for_faults_lose_nothing(hazard: Hazard) -> None:
    # What they bring in meanwhile is charged twice, and hardly any of it beyond the limit.
    assert lost_nothing(hazard("forks_beside_faults")).counts["forks"] == 10


def test_a_handler_forks_while_its_thread_discards_memory(hazard: Hazard) -> None:
    assert lost_nothing(hazard("handler_forks")).counts["forks"] == 100


def test_a_signal_is_handled_on_a_stack_that_is_far(hazard: Hazard) -> None:
    lost_nothing(hazard("far_signal_stack"))


def test_memory_below_a_growing_break_is_managed(hazard: Hazard) -> None:
    lost_nothing(hazard("grows_break"))


def test_the_first_thread_may_end_before_the_others(hazard: Hazard) -> None:
    lost_nothing(hazard("main_ends"))


def test_every_program_of_a_chain_has_memory_of_its_own(hazard: Hazard) -> None:
    lost_nothing(hazard("exec_chain", "5"))


def test_far_memory_of_programs_that_have_ended_is_used_again(hazard: Hazard) -> None:
    once = lost_nothing(hazard("exec_chain", "0")).counts["far_peak_bytes"]
    often = lost_nothing(hazard("exec_chain", "12")).counts["far_peak_bytes"]
    assert often < 2 * once
    ran = lost_nothing(hazard("spawns_for_room"))
    assert ran.counts["far_peak_bytes"] < 2 * once


def test_a_child_of_a_program_with_its_own_descriptors_keeps_far_memory(hazard: Hazard) -> None:
    lost_nothing(hazard("own_table"))


@pytest.mark.parametrize("descriptors", [None, "30"])
def test_eighty_children_run_at_once_or_as_many_as_there_are_descriptors_for(
    tmp_path: Path, descriptors: str | None
) -> None:
    program = compiled(PROGRAMS / "hazards" / "many_children.c", tmp_path / "many_children")
    limited = () if descriptors is None else (descriptors,)
    ran = run_tiered(tmp_path, "24MiB", program, "80", *limited).covered()
    assert ran.out == "ok\n", ran.err
    assert ran.counts["forks"] == 80 if descriptors is None else 0 < ran.counts["forks"] < 30


def test_memory_that_a_program_wants_near_stays_there_until_it_may_leave(tmp_path: Path) -> None:
    source = PROGRAMS / "hazards" / "keeps_near.c"
    program = compiled(source, tmp_path / "keeps_near", f"-I{headers()}")
    ran = lost_nothing(run_tiered(tmp_path, "2MiB", program, policy="fifo"))
    assert ran.counts["pinned"] > 0


def test_cold_pages_that_are_to_leave_with_others_and_cannot_are_not_lost(tmp_path: Path) -> None:
    source = PROGRAMS / "hazards" / "cold_while_leaving.c"
    program = compiled(source, tmp_path / "cold_while_leaving", f"-I{headers()}")
    ran = run_tiered(tmp_path, "128MiB", program).covered()
    assert ran.out == "ok\n", ran.err
    # Pages that are protected are copied out, and not moved.
    assert (ran.counts["pinned"] > 0) == (ran.counts["eviction"] == "move")
    assert ran.counts["over_budget"] == 0


@pytest.mark.parametrize("steps", ["1", "4", "512"])
def test_records_of_discarded_memory_take_no_near_memory(hazard: Hazard, steps: str) -> None:
    ran = lost_nothing(hazard("wanders", "2048", steps, "200", "2"))
    assert ran.counts["over_budget"] == 0


def test_discarded_windows_take_no_near_memory(tmp_path: Path) -> None:
    """Always 16 MiB of 64: nothing ever leaves, and the kernel fills most of it by itself."""
    program = compiled(PROGRAMS / "hazards" / "wanders.c", tmp_path / "wanders")
    ran = run_tiered(tmp_path, "64MiB", program, "4096", "1", "1500", "64")
    assert (ran.out, ran.counts["over_budget"]) == ("ok\n", 0), ran.err
    assert ran.counts["evictions"] == 0
    assert ran.counts["faults"] < 1500 * 4096 / 100


@needs_root
def test_a_program_that_sees_no_other_process_leaves_their_memory_alone(hazard: Hazard) -> None:
    lost_nothing(hazard("own_numbers"))


def test_a_sleeping_parent_makes_room_for_what_it_spawned(hazard: Hazard) -> None:
    assert lost_nothing(hazard("spawns_for_room")).counts["over_budget"] == 0


def test_a_thread_ends_on_a_stack_that_the_program_gave_it(hazard: Hazard) -> None:
    lost_nothing(hazard("own_stack"))


@not_copied
def test_pages_that_come_in_protected_lose_no_write(hazard: Hazard) -> None:
    counts = lost_nothing(hazard("guarded")).counts
    assert counts["protected_drops"] > 1000
    assert counts["protected_writes"] > 250
    assert counts["protected_ins"] >= counts["protected_drops"] + counts["protected_writes"]


@pytest.mark.parametrize(
    "name",
    [
        "discards_beside_forks",
        "flushes_beside_forks",
        "forks_on_coroutines",
        "killed_beside",
        "thread_values",
        "unmaps_beside_forks",
    ],
)
def test_forks_work_whatever_libc_and_other_threads_do(hazard: Hazard, name: str) -> None:
    assert lost_nothing(hazard(name)).counts["forks"] > 0


@not_copied
def test_forks_work_beside_threads_that_discard_memory_by_number(hazard: Hazard) -> None:
    assert lost_nothing(hazard("discards_beside_forks", "by number")).counts["forks"] == 50


def test_memory_moves_while_other_threads_fill_and_discard_it(hazard: Hazard) -> None:
    lost_nothing(hazard("moves_beside"))


def test_touches_are_served_beside_threads_that_discard_without_a_pause(hazard: Hazard) -> None:
    lost_nothing(hazard("touches_beside_discards"))


@pytest.mark.parametrize(
    "options", [("--sigbus",), ("--pager-cpu", "per_cpu")], ids=["sigbus", "each"]
)
def test_touches_beside_discards_are_served_by_several_threads_too(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    if "--sigbus" in options:
        need("moved")
    program = compiled(PROGRAMS / "hazards" / "touches_beside_discards.c", tmp_path / "touches")
    lost_nothing(run_tiered(tmp_path, "2MiB", program, policy="fifo", options=options))


def test_memory_of_libraries_that_find_libc_first_may_be_freed_by_others(
    tmp_path: Path,
) -> None:
    source = PROGRAMS / "hazards" / "loads.c"
    program = compiled(source, tmp_path / "loads")
    (tmp_path / "inner").mkdir()
    library = ("-shared", "-fPIC")
    compiled(source, tmp_path / "inner" / "libinner.so", *library, "-DINNER")
    path = "-Wl,--enable-new-dtags,-rpath,$ORIGIN/inner"
    outer = compiled(source, tmp_path / "outer.so", *library, "-DOUTER", path)
    run = run_tiered(tmp_path, "4MiB", program, outer)
    assert run.out == "ok\n", run.err
    run.covered()


def test_a_process_whose_first_thread_has_ended_keeps_its_far_memory(hazard: Hazard) -> None:
    lost_nothing(hazard("main_ends_first"))
