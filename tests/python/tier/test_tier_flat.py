"""Two tiers that a program addresses directly: pages change places while it runs.

This machine may have one node: near and far are then told apart by the page table alone.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nearfar._lists import REGION
from nearfar.layout import values
from nearfar.tier.client import find_member
from nearfar.tier.control import MOVE
from nearfar.tier.far import nodes
from nearfar.tier.flat import interferences
from nearfar.tier.machine import evictions, tracks
from nearfar.tier.share import parse_share
from tiered import MIB, PROGRAMS, SLOWER, Tiered, compiled, needs_tier

pytestmark = needs_tier
FAR = f"node:{nodes()[-1]}"


def _flat(
    folder: Path, *words: str | Path, near: str = "25%", options: tuple[str, ...] = ()
) -> list[str]:
    return [
        *(sys.executable, "-m", "nearfar", "tier", "run", "--flat", "--near", near, "--far", FAR),
        *("--interval", "20ms", "--json", str(folder / "result.json"), "--quiet", *options),
        *("--", *map(str, words)),
    ]


def _run(
    folder: Path, *words: str | Path, near: str = "25%", options: tuple[str, ...] = ()
) -> Tiered:
    ran = subprocess.run(
        _flat(folder, *words, near=near, options=options),
        **{"capture_output": True, "text": True, "check": False, "timeout": 120 * SLOWER},
    )
    return Tiered(ran, folder / "result.json")


@pytest.fixture(autouse=True)
def moves() -> None:
    if MOVE not in evictions():
        pytest.skip("this kernel cannot move pages")


@pytest.fixture(scope="module")
def phases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that uses one part of its memory until a byte comes, then another, then none, and
    says so; at the end it looks at every word."""
    return compiled(PROGRAMS / "programs" / "phases.c", tmp_path_factory.mktemp("flat") / "phases")


class Phases:
    """It while it runs, as the launcher sees it."""

    def __init__(self, words: list[str]) -> None:
        self.process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.answered()

    def answered(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def go_on(self) -> str:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.answered()

    def stats(self) -> dict[str, Any]:
        return _asked("stats", "--json", "-", str(self.process.pid))

    def until(self, done: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Its figures, once they are so; the test's own limit of time ends it otherwise."""
        while not done(stats := self.stats()):
            assert self.process.poll() is None
        return stats


def _asked(*words: str) -> dict[str, Any]:
    ran = subprocess.run(
        [sys.executable, "-m", "nearfar", "tier", *words],
        **{"capture_output": True, "text": True, "check": True, "timeout": 60 * SLOWER},
    )
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


@pytest.fixture
def running(tmp_path: Path, phases: Path) -> Iterator[Callable[..., Phases]]:
    started: list[Phases] = []

    def start(*options: str, near: str = "2MiB", program: Path = phases) -> Phases:
        started.append(Phases(_flat(tmp_path, program, near=near, options=options)))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.process.send_signal(signal.SIGTERM)
        one.process.communicate(timeout=60 * SLOWER)


# That a page was written once in a scan does not pay for its move, says payback: no "dirty" for it.
@pytest.mark.parametrize(
    ("policy", "detector"), [("raminate", "probe"), ("raminate", "dirty"), ("payback", "probe")]
)
def test_pages_in_use_come_near_and_come_again_when_others_are_used(
    running: Callable[..., Phases], detector: str, policy: str
) -> None:
    if detector == "dirty" and not tracks(accesses=False):
        pytest.skip("this kernel does not note writes")
    # An interval in which each page is probed.
    program = running("--policy", policy, "--detector", detector, "--interval", "200ms")
    _follow(program, 100)


def _follow(program: Phases, pages: int) -> dict[str, Any]:
    """So many pages of each part come near while it is used, and all words are right; the figures
    behind the second."""
    first = program.until(lambda stats: stats["promoted"] >= pages)
    program.go_on()
    seen = program.until(lambda stats: stats["promoted"] >= first["promoted"] + pages)
    program.go_on()
    assert program.go_on() == "all words are right\n"
    return seen


def test_memory_that_is_mostly_in_use_comes_near_2_mib_at_a_time(
    running: Callable[..., Phases],
) -> None:
    if not tracks(accesses=False):
        pytest.skip("this kernel does not note writes")
    # Where the machine is busy, a group may come near in parts: by several decisions.
    whole = 0
    for _ in range(10):
        program = running("--policy", "raminate", "--detector", "dirty", near="5MiB")
        whole += _follow(program, 600)["groups_exchanged"]
        if whole >= 2:
            return
    pytest.fail(f"{whole} groups came near whole in ten runs")


def test_a_program_may_change_its_memory_while_groups_of_it_change_places(
    running: Callable[..., Phases], tmp_path: Path
) -> None:
    if not tracks(accesses=False):
        pytest.skip("this kernel does not note writes")
    changes = compiled(PROGRAMS / "programs" / "changes_groups.c", tmp_path / "changes")
    options = ("--policy", "raminate", "--detector", "dirty", "--interval", "10ms")
    program = running(*options, near="5MiB", program=changes)
    program.until(lambda stats: stats["promoted"] >= 5000)
    assert program.go_on() == "all words are right\n"


def test_an_idle_program_is_not_found_to_write_what_was_exchanged(
    running: Callable[..., Phases],
) -> None:
    if not tracks(accesses=False):
        pytest.skip("this kernel does not note writes")
    program = running("--policy", "raminate", "--detector", "dirty")
    program.until(lambda stats: stats["promoted"] >= 200)
    program.go_on()
    program.until(lambda stats: stats["promoted"] >= 500)
    program.go_on()  # idle from here on, but for the page that it waits on
    idle = program.stats()
    seen = program.until(lambda stats: stats["scanned"] > idle["scanned"] + 20 * 4096)
    later = program.until(lambda stats: stats["scanned"] > seen["scanned"] + 10 * 4096)
    assert later["found_used"] == seen["found_used"]
    assert later["promoted"] == seen["promoted"]


def test_a_lower_limit_moves_pages_far_at_once_and_a_share_is_one(
    running: Callable[..., Phases],
) -> None:
    program = running("--policy", "static", near="8MiB")
    before = program.stats()["near_bytes"]
    assert 3 * MIB < before <= 8 * MIB
    stats = _asked("set", "--near", "3MiB", "--json", "-", str(program.process.pid))
    assert stats["near_bytes"] == 3 * MIB
    assert stats["demoted"] == (before - 3 * MIB) // 4096
    stats = _asked("set", "--near", "10%", "--json", "-", str(program.process.pid))
    assert stats["near_bytes"] <= stats["managed_bytes"] // 10
    top = subprocess.run(
        [sys.executable, "-m", "nearfar", "tier", "top", "--once", str(program.process.pid)],
        **{"capture_output": True, "text": True, "check": True, "timeout": 60 * SLOWER},
    ).stdout
    assert "PROMOTED/s" in top
    assert "DETECTOR" in top


def test_the_report_says_how_pages_were_exchanged(tmp_path: Path) -> None:
    run = _run(tmp_path, sys.executable, "-c", "print(len([str(i) * 9 for i in range(90000)]))")
    assert (run.status, run.out) == (0, "90000\n")
    counts = run.counts
    assert counts["policy"] == "payback"
    assert (counts["near_share"], counts["far_node"], counts["pairs"]) == (0.25, nodes()[-1], 1000)
    assert 0 < counts["near_peak_bytes"] <= counts["managed_peak_bytes"] * 0.26
    assert counts["evictions"] == counts["copies_in"] == counts["copies_out"] == 0


# Each makes the change while some of the memory is out of its place.
HAZARDS = {
    "fork": ("forks_under_writes",),
    "fork while threads fault": ("forks_beside_faults",),
    "fork in a signal handler": ("handler_forks",),
    "munmap and mremap": ("remaps",),
    "MADV_DONTNEED": ("given_back",),
    "mprotect": ("protections",),
    "O_DIRECT": ("direct_io", "file"),
    "io_uring": ("io_uring_pins",),
    "memory that the kernel compacts": ("compaction",),
    "mlock": ("locks",),
    "system calls by number": ("libc_syscall",),
    "another process that reads it": ("other_process",),
    "seccomp": ("seccomp", "1"),
    "threads that fault at once": ("faults_at_once",),
}


@pytest.mark.parametrize("name", HAZARDS)
def test_what_is_done_to_memory_that_is_out_of_its_place_is_as_without(
    tmp_path: Path, name: str
) -> None:
    source, *words = HAZARDS[name]
    program = compiled(PROGRAMS / "hazards" / f"{source}.c", tmp_path / source, "-DNEARFAR_FLAT")
    arguments = [str(tmp_path / word) if word == "file" else word for word in words]
    # A policy that never goes without scans.
    often = ("--interval", "10ms", "--policy", "raminate")
    run = _run(tmp_path, program, *arguments, near="2MiB", options=often)
    if run.out.endswith("here\n"):
        pytest.skip(run.out.strip())
    assert (run.status, run.out) == (0, "ok\n"), run.err


def test_pages_lie_where_they_are_counted(running: Callable[..., Phases]) -> None:
    program = running("--policy", "raminate", "--interval", "200ms", near="4MiB")
    program.until(lambda stats: stats["promoted"] >= 500)
    program.go_on()
    program.go_on()
    # All that were probed come back, and no more change places.
    _asked("pause", "--resident", "--json", "-", str(program.process.pid))
    stats = program.stats()
    process = stats["processes"][0]["process"]
    counted = {nodes()[0]: 0, nodes()[-1]: 0}  # one, on a machine with one node
    counted[nodes()[0]] += stats["near_bytes"] // 4096
    counted[nodes()[-1]] += stats["far_bytes"] // 4096
    assert _on_nodes(process) == counted


def _on_nodes(process: int) -> dict[int, int]:
    """Pages of a process's managed memory on the first node and on the last, as the kernel counts
    them."""
    with Path(f"/proc/{process}/mem").open("rb") as memory:
        memory.seek(find_member(process).region)
        region = values(REGION, memory.read(256))
    on = dict.fromkeys((nodes()[0], nodes()[-1]), 0)
    for line in Path(f"/proc/{process}/numa_maps").read_text().splitlines():
        if 0 <= int(line.split()[0], 16) - region["base"] < region["length"]:
            for node, pages in re.findall(r"N(\d+)=(\d+)", line):
                on[int(node)] += int(pages)
    return on


def test_the_memory_of_a_guest_changes_places_under_its_running_processor(tmp_path: Path) -> None:
    program = compiled(PROGRAMS / "programs" / "guest.c", tmp_path / "guest")
    run = _run(tmp_path, program, "8000", near="4MiB", options=("--policy", "raminate"))
    if run.out.endswith("here\n"):
        pytest.skip(run.out.strip())
    assert (run.status, run.out) == (0, "ok\n"), run.err
    assert run.counts["scanned"] > 0


def test_memory_that_becomes_executable_is_managed_no_more(tmp_path: Path) -> None:
    program = compiled(PROGRAMS / "programs" / "compiles.c", tmp_path / "compiles")
    run = _run(tmp_path, program, near="1MiB", options=("--policy", "raminate"))
    assert (run.status, run.out) == (0, "ok\n"), run.err


def test_memory_that_the_program_binds_itself_is_left_alone(tmp_path: Path) -> None:
    program = compiled(PROGRAMS / "programs" / "binds.c", tmp_path / "binds")
    run = _run(tmp_path, program, near="1MiB", options=("--policy", "raminate"))
    if run.out.endswith("here\n"):
        pytest.skip(run.out.strip())
    assert (run.status, run.out) == (0, "ok\n"), run.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--near", "0%"), "--near: found '0%', expected more than 0% and at most 100%"),
        (("--near", "101%"), "--near: found '101%', expected more than 0% and at most 100%"),
        (("--far", "file"), "--far: found file, expected node:N with --flat"),
        (("--far", "anonymous"), "--far: found anonymous, expected node:N with --flat"),
        (("--far", "node:999"), "--far node:999: found no such NUMA node with memory"),
        (("--policy", "fifo"), "--policy: found 'fifo', expected one of static, raminate"),
        (("--detector", "sampled"), "--detector: found 'sampled', expected one of dirty"),
        (("--interval", "1ms"), "--interval: found '1ms', expected 10 ms to 1 h"),
        (("--pairs", "0"), "--pairs: found '0', expected 1 to 1048576"),
        (("--compress", "lz4"), "--compress: found beside --flat"),
        (("--sigbus",), "--sigbus: found beside --flat"),
    ],
)
def test_bad_options_are_refused_in_one_line(
    refused: Callable[..., str], words: tuple[str, ...], said: str
) -> None:
    base = ["tier", "run", "--flat", "--near", "25%", "--far", FAR]
    assert said in refused(*base, *words, "--", "true")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--near", "25%"), "a share of the program's memory is for --flat"),
        (("--near", "8MiB", "--pairs", "5"), "--pairs: is for --flat"),
    ],
)
def test_options_of_flat_tiers_are_refused_without(
    refused: Callable[..., str], words: tuple[str, ...], said: str
) -> None:
    assert said in refused("tier", "run", "--far", "anonymous", *words, "--", "true")


@pytest.mark.parametrize(
    ("text", "millionths"), [("25%", 250000), ("0.5 %", 5000), ("100%", 10**6)]
)
def test_a_share_is_a_part_of_all(text: str, millionths: int) -> None:
    assert parse_share(text).millionths == millionths


def test_what_moves_pages_by_itself_is_named_with_what_stops_it(tmp_path: Path) -> None:
    balancing = tmp_path / "proc/sys/kernel/numa_balancing"
    demotion = tmp_path / "sys/kernel/mm/numa/demotion_enabled"
    for file in (balancing, demotion):
        file.parent.mkdir(parents=True)
    balancing.write_text("2\n")
    demotion.write_text("true\n")
    first, second = interferences(tmp_path)
    assert "NUMA balancing (2)" in str(first)
    assert "kernel.numa_balancing=0" in str(first)
    assert "demotes pages" in str(second)
    balancing.write_text("0\n")
    demotion.unlink()
    assert interferences(tmp_path) == []
