"""Calls on managed memory and on what lies beside it answer as the kernel does.

Each is a small C program of tests/tier/calls, which says what was answered otherwise.
"""

from __future__ import annotations

import re
import resource
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tiered import PROGRAMS, Tiered, compiled, needs_tier, run_tiered

pytestmark = needs_tier
Answered = Callable[..., Tiered]


@pytest.fixture(params=["move", "copy"])
def answered(request: pytest.FixtureRequest, tmp_path: Path) -> Answered:
    """Compile a program and run it with 2 MiB of near memory: nothing was answered otherwise."""

    def run(name: str, *words: str) -> Tiered:
        program = compiled(PROGRAMS / "calls" / f"{name}.c", tmp_path / name)
        options = ("--evict", request.param)
        ran = run_tiered(tmp_path, "2MiB", program, *words, policy="fifo", options=options)
        assert (ran.out, ran.status) == ("ok\n", 0), ran.out + ran.err
        return ran

    return run


def test_advice_that_cannot_be_followed_is_refused(answered: Answered) -> None:
    answered("advice")


def test_a_wished_address_is_given_where_nothing_is_mapped(answered: Answered) -> None:
    answered("chosen")


def test_memory_for_code_is_mapped_where_other_code_reaches_it(answered: Answered) -> None:
    answered("beside")


def test_a_file_takes_the_place_of_memory_or_leaves_it_alone(answered: Answered) -> None:
    answered("fixed")


def test_memory_that_grows_downwards_grows(answered: Answered) -> None:
    answered("grows_down")


def test_a_program_has_the_data_that_it_allows_itself(answered: Answered) -> None:
    answered("limits_data")


@pytest.mark.parametrize("limit_kib", [150_000, 320_000])
def test_a_program_has_the_data_that_a_limit_around_it_allows(
    tmp_path: Path, limit_kib: int
) -> None:
    code = "held = bytearray(20 << 20); held[::4096] = b'x' * (5 << 10); print(sum(held))"

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (limit_kib << 10, limit_kib << 10))

    ran = run_tiered(tmp_path, "4MiB", sys.executable, "-c", code, preexec_fn=limited)
    assert (ran.out, ran.status) == (f"{ord('x') * (5 << 10)}\n", 0), ran.err
    assert ran.counts["evictions"] > 0


def test_a_limit_too_small_for_the_pager_is_said_in_a_line(tmp_path: Path) -> None:
    program = compiled(PROGRAMS / "calls" / "fixed.c", tmp_path / "fixed")
    words = ("/bin/sh", "-c", f"ulimit -d 1500; exec {program}")
    ran = run_tiered(tmp_path, "2MiB", *words)
    assert (ran.status, ran.out) == (1, "")
    assert re.fullmatch(r"nearfar tier: no memory [^\n]*\n", ran.err), ran.err


def test_core_dumps_hold_what_the_program_has_mapped(answered: Answered) -> None:
    answered("dumped")


def test_the_page_table_takes_no_huge_pages_where_all_memory_may(
    answered: Answered,
) -> None:
    answered("small_pages")


def test_many_handlers_of_fork_run_in_order_and_children_find_memory(
    answered: Answered, tmp_path: Path
) -> None:
    library = tmp_path / "forks_library.so"
    compiled(PROGRAMS / "calls" / "forks_library.c", library, "-shared", "-fPIC")
    answered("forks", str(library))


def test_memory_is_put_to_use_among_terabytes_of_reserved_addresses(answered: Answered) -> None:
    assert answered("reserves").counts["managed_share"] > 0.9


def test_moved_or_grown_memory_keeps_its_kind(answered: Answered) -> None:
    answered("moves")


def test_unmapped_memory_is_reported_as_unmapped(answered: Answered) -> None:
    answered("mapped")


def test_unmapped_memory_cannot_be_protected(answered: Answered) -> None:
    answered("protects")


@pytest.mark.parametrize("limit", ["64", "256", "1024"])
def test_low_descriptors_are_the_programs_and_close_can_be_cancelled(
    answered: Answered, limit: str
) -> None:
    answered("descriptors", limit)


def test_an_allocation_that_fails_says_why(answered: Answered) -> None:
    answered("allocations")


@pytest.mark.parametrize("way", ["move", "copy"])
def test_memory_that_becomes_executable_is_not_asked_to_leave(tmp_path: Path, way: str) -> None:
    program = compiled(PROGRAMS / "programs" / "compiles.c", tmp_path / "compiles")
    ran = run_tiered(tmp_path, "2MiB", program, policy="fifo", options=("--evict", way))
    assert (ran.out, ran.status) == ("ok\n", 0), ran.out + ran.err
    code_pages = 128
    assert ran.counts["evictions"] > 10 * code_pages
    assert ran.counts["pinned"] < code_pages


@pytest.mark.parametrize("way", ["move", "copy"])
@pytest.mark.parametrize("kib", [64, 16384])  # less and more than near memory
def test_far_memory_that_is_protected_in_part_becomes_executable(
    tmp_path: Path, kib: int, way: str
) -> None:
    program = compiled(PROGRAMS / "programs" / "partly_protected.c", tmp_path / "partly_protected")
    options = ("--evict", way)
    ran = run_tiered(tmp_path, "4MiB", program, str(kib), options=options, timeout=60)
    assert (ran.out, ran.status) == ("ok\n", 0), ran.out + ran.err
