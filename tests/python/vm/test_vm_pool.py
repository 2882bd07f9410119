"""One near memory for several machines: how it is divided, and that it is."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from guests import MIB, expected_sum, holder, machine, needs_machines, started, vm_run
from nearfar.errors import NearfarError
from nearfar.tier.client import Running
from nearfar.tier.control import PAGE
from nearfar.vm import machines
from nearfar.vm.division import PERIOD_S, Part, fitted, moved
from nearfar.vm.machines import RunningMachine, running_machines
from nearfar.vm.pool import Pool, Wishes

POOL = 32 * MIB
IDLE = Part(near=16 * MIB, least=MIB, most=64 * MIB)
BUSY = replace(IDLE, rate=1000.0)


def periods(
    parts: dict[str, Part], count: int, needs: dict[str, float] | None = None
) -> dict[str, Part]:
    """So many periods of machines whose rates stay as they are, or, if they have `needs`, are these
    over their near memory."""
    for _ in range(count):
        seen = {
            name: replace(part, rate=needs[name] / part.near) if needs else part
            for name, part in parts.items()
        }
        near = moved(seen)
        assert sum(near.values()) == sum(part.near for part in parts.values())
        parts = {name: replace(seen[name], near=near[name]) for name in parts}
    return parts


def test_half_of_an_idle_machines_memory_is_with_a_busy_one_within_a_second() -> None:
    after = periods({"idle": IDLE, "busy": BUSY}, round(1 / PERIOD_S))
    assert after["idle"].near <= IDLE.near // 2
    assert after["busy"].near == POOL - after["idle"].near


def test_a_large_machine_gives_no_more_than_it_can_in_about_a_period() -> None:
    large = replace(IDLE, near=64 << 30, most=64 << 30)
    after = moved({"idle": large, "busy": replace(BUSY, most=64 << 30)})
    assert 0 < large.near - after["idle"] <= 256 * MIB


def test_two_machines_that_are_alike_keep_what_they_have() -> None:
    parts = {"a": replace(BUSY, rate=1300.0), "b": BUSY}
    assert periods(parts, 50) == parts


def test_memory_comes_to_rest_where_misses_are_inversely_proportional_to_it() -> None:
    needs = {"small": 1e9, "large": 9e9}
    before = periods({"small": BUSY, "large": BUSY}, 40, needs)
    after = periods(before, 40, needs)
    assert before["large"].near > 16 * MIB
    assert abs(after["large"].near - before["large"].near) <= MIB // 8


def test_a_weight_counts_what_a_machine_would_gain_so_many_times() -> None:
    parts = {"a": replace(BUSY, weight=4.0), "b": BUSY}
    near = moved(parts)
    assert near["a"] > 16 * MIB > near["b"]


def test_a_machine_keeps_its_minimum_and_takes_no_more_than_its_guest_has() -> None:
    parts = {"idle": replace(IDLE, least=12 * MIB), "busy": replace(BUSY, most=18 * MIB)}
    after = periods(parts, 40)
    assert after["busy"].near == 18 * MIB
    assert after["idle"].near == 14 * MIB
    parts["busy"] = replace(BUSY, most=64 * MIB)
    after = periods(parts, 60)
    assert 12 * MIB <= after["idle"].near <= 12 * MIB + 8 * PAGE


def test_a_pool_is_given_away_by_weight_and_taken_back_by_what_is_above_the_minimums() -> None:
    parts = {"a": replace(IDLE, weight=3.0, near=0), "b": replace(IDLE, near=0)}
    near = fitted(POOL, parts)
    assert near["a"] - near["b"] == pytest.approx(15 * MIB, abs=PAGE)
    assert POOL - 2 * PAGE <= sum(near.values()) <= POOL
    parts = {"a": replace(IDLE, least=8 * MIB), "b": IDLE}
    near = fitted(16 * MIB, parts)
    assert sum(near.values()) <= 16 * MIB
    assert near["a"] >= 8 * MIB
    assert near["b"] >= MIB
    few = {"a": replace(IDLE, most=20 * MIB), "b": replace(IDLE, most=8 * MIB)}
    assert fitted(POOL, few) == {"a": 20 * MIB, "b": 8 * MIB}


@contextmanager
def pooled(*words: str) -> Iterator[subprocess.Popen[str]]:
    """The command, while it runs; Ctrl-C ends it."""
    command = [sys.executable, "-m", "nearfar", "vm", "pool", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            process.wait()


def limits() -> dict[str, int]:
    """What each machine may have near."""
    return {vm.name: vm.tree.stats["near_limit_bytes"] for vm in running_machines()}


def until(process: subprocess.Popen[str], holds: Callable[[dict[str, int]], bool]) -> None:
    """Read the lines of the command until what machines have is so."""
    assert process.stdout is not None
    while not holds(limits()):
        assert process.stdout.readline() != "", "the pool has ended"


class Launcher:
    """A stand-in for the tree of a machine: what it is asked, and whether it answers."""

    def __init__(self) -> None:
        self.stats = {
            "near_limit_bytes": 16 * MIB, "managed_bytes": 64 * MIB, "copies_in": 0, "flat": False
        }  # fmt: skip
        self.asked: list[str] = []
        self.answers = True

    def ask(self, do: str, near_bytes: int = 0) -> dict[str, object]:
        self.asked.append(do)
        if not self.answers:
            raise NearfarError("it does not answer")
        if do == "set":
            self.stats["near_limit_bytes"] = near_bytes
        return dict(self.stats)


def stand_in(name: str, process: int, launcher: Launcher) -> RunningMachine:
    return RunningMachine(name, process, (64 * MIB,), cast(Running, launcher), "")


def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time that a pool sees, in its only entry."""
    now = [100.0]
    monkeypatch.setattr("nearfar.vm.pool.time.monotonic", lambda: now[0])
    return now


def test_a_launcher_that_is_silent_is_asked_for_nothing_more_and_the_others_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    launchers = {name: Launcher() for name in ("busy", "idle", "silent")}
    there = [stand_in(name, n, launcher) for n, (name, launcher) in enumerate(launchers.items())]
    monkeypatch.setattr("nearfar.vm.pool.running_machines", lambda: there)
    now = clock(monkeypatch)
    shared = Pool(48 * MIB, Wishes())
    shared.period()
    launchers["silent"].answers = False
    launchers["silent"].asked.clear()
    for _ in range(10):
        now[0] += 1
        launchers["busy"].stats["copies_in"] = 10_000 * int(now[0])
        shared.period()
    assert "set" not in launchers["silent"].asked
    assert launchers["busy"].stats["near_limit_bytes"] > 20 * MIB
    assert sum(int(one.stats["near_limit_bytes"]) for one in launchers.values()) <= 48 * MIB


def test_a_machine_that_was_started_again_under_its_name_is_another_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, second = Launcher(), Launcher()
    there = [stand_in("web", 1, first)]
    monkeypatch.setattr("nearfar.vm.pool.running_machines", lambda: there)
    now = clock(monkeypatch)
    shared = Pool(48 * MIB, Wishes())
    shared.period()
    there[:] = [stand_in("web", 2, second)]
    first.answers = False
    now[0] += 10
    shared.period()
    assert second.stats["near_limit_bytes"] == 48 * MIB


@needs_machines
def test_memory_of_an_idle_guest_goes_to_a_busy_one_and_comes_back_when_that_is_idle(
    tmp_path: Path,
) -> None:
    disk = holder(tmp_path, end_mib=56, stride=PAGE)
    run: Sequence[str] = ("--near", "25%", "--far", "anonymous", "--quiet")
    first = vm_run(*run, qemu=[*machine(disk), "-name", "first"])
    second = vm_run(*run, qemu=[*machine(disk), "-name", "second"])
    with started(first) as a, started(second) as b:
        a.begun(), b.begun()
        with pooled("--near", "32MiB") as process:
            for busy, idle, guest in (("first", "second", a), ("second", "first", b)):
                guest.tell("b")
                until(process, lambda near, idle=idle: near[idle] <= 8 * MIB)
                near = limits()
                assert near[busy] > 16 * MIB
                assert sum(near.values()) <= POOL
                assert guest.sum() == expected_sum(0, end_mib=56)
        assert process.returncode == 0
        assert [a.sum(), b.sum()] == [expected_sum(1, end_mib=56)] * 2
        assert [a.end()[0], b.end()[0]] == [0, 0]


def test_a_pool_is_no_share_as_there_is_no_one_memory_that_it_would_be_of(
    refused: Callable[..., str],
) -> None:
    assert "found unit '%', expected a size in" in refused("vm", "pool", "--near", "25%")


def test_a_qemu_whose_words_are_gone_as_it_ends_is_no_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Path, "read_bytes", lambda _: b"")  # as of one without memory
    stats = {"guest_blocks": [64 * MIB], "processes": [{"process": 1}]}
    assert list(machines._machines(Running(stats, None))) == []


@needs_machines
def test_a_pool_that_cannot_be_is_refused_in_one_line(
    tmp_path: Path, refused: Callable[..., str]
) -> None:
    pool = ("vm", "pool", "--near")
    assert refused(*pool, "32MiB", "web") == (
        "web: found no such machine on two tiers, and no machine runs"
    )
    qemu = [*machine(holder(tmp_path)), "-name", "web"]
    with started(vm_run("--near", "25%", "--far", "anonymous", qemu=qemu)) as guest:
        guest.begun()
        assert "did you mean web?" in refused(*pool, "32MiB", "wed")
        assert "is none of the machines" in refused(*pool, "32MiB", "--weight", "db=2", "web")
        assert "expected a weight above 0" in refused(*pool, "32MiB", "--weight", "web=0")
        told = refused(*pool, "8MiB", "--least", "web=16MiB")
        assert "expected at least the 16.0 MiB that web have as their minimums" in told
        with pooled("--near", "32MiB") as process:
            until(process, lambda near: near == {"web": 32 * MIB})
            told = refused(*pool, "32MiB")
            assert told.startswith(f"process {process.pid} manages a pool of this user already")
        guest.end()
