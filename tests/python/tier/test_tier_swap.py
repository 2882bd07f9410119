"""Programs over the kernel's swap do what they do natively, and stay near their limit.

Counts tell what happened. A run in which the monitor swapped nothing out shows nothing.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from nearfar.tier import group as groups
from nearfar.tier.swap import machine as swap_machine
from swap_area import swap_area
from tiered import FORKS

MIB = 1 << 20


@pytest.fixture(scope="module", autouse=True)
def area() -> Iterator[str]:
    """A swap area for all tests here; why there is none, or nothing."""
    with swap_area() as missing:
        found = None if missing else swap_machine.swap_obstacle()
        yield str(found) if found else missing


class Swapped:
    """A finished run: what it printed, its status, and what was counted."""

    def __init__(self, out: str, err: str, status: int, result: Path) -> None:
        self.out, self.err, self.status = out, err, status
        self.counts: dict[str, Any] = json.loads(result.read_text()) if result.exists() else {}

    def held(self) -> Swapped:
        """Itself, if our own evictions kept it within its limit."""
        assert self.status == 0, self.err
        assert self.counts["evictions"] > 0
        if self.counts["hard_limit"]:
            assert self.counts["near_peak_bytes"] <= self.counts["near_limit_bytes"]
        assert self.counts["far_peak_bytes"] > 0
        return self


Run = Callable[..., Swapped]


def command(
    near: int, result: Path, *words: str | Path, launcher: Sequence[str] = ("-m", "nearfar")
) -> list[str]:
    return [
        sys.executable, *launcher, "tier", "run", "--backend", "swap", "--near",
        f"{near}MiB", "--json", str(result), *map(str, words),
    ]  # fmt: skip


@pytest.fixture
def swapped(tmp_path: Path, area: str) -> Run:
    """Run a program with so many MiB of near memory; leaves no group behind."""
    if area:
        pytest.skip(area)

    def run(
        near: int,
        *words: str | Path,
        options: Sequence[str] = (),
        launcher: Sequence[str] = ("-m", "nearfar"),
        **more: Any,
    ) -> Swapped:
        result = tmp_path / "result.json"
        words = tuple(command(near, result, *options, "--", *words, launcher=launcher))
        with subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more
        ) as process:
            out, err = process.communicate(timeout=120)
        assert groups_of(process.pid) == []
        return Swapped(out, err, process.returncode, result)

    return run


def groups_of(launcher: int) -> list[Path]:
    """The groups that a launcher has made and not removed."""
    found = groups.memory_controller()
    return list(found[1].glob(f"nearfar-{launcher}-*")) if found else []


def native(*words: str | Path, **more: Any) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=100, **more)
    return done.stdout


TOUCHES = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
  const size_t words = (size_t)48 << 17;
  uint64_t *memory = malloc(words * 8), sum = 0, at = 1;
  for (size_t i = 0; i < words; ++i) memory[i] = i * 0x9e3779b97f4a7c15u;
  for (int i = 0; i < 20000; ++i) {
    at = at * 6364136223846793005u + 1442695040888963407u;
    sum += memory[(at >> 20) % words]++;
  }
  for (size_t i = 0; i < words; ++i) sum = sum * 31 + memory[i];
  printf("%llu\n", (unsigned long long)sum);
}
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")
@pytest.mark.parametrize("policy", ["fifo", "s3-fifo", "regret"])
def test_a_static_program_computes_the_same(
    swapped: Run, compiled: Callable[..., Path], policy: str
) -> None:
    program = compiled("touches", TOUCHES, "-static")
    ran = swapped(12, program, options=("--policy", policy)).held()
    assert ran.out == native(program)
    assert ran.counts["policy"] == policy
    assert ran.counts["faults"] > 1000
    assert ran.counts["page_ins_seen"] > 0
    assert ran.counts["first_touches_seen"] > 0


def test_sort_in_a_quarter_of_its_memory_sorts(swapped: Run, tmp_path: Path) -> None:
    lines = tmp_path / "lines"
    lines.write_text("".join(f"{i * 7919 % 300003} line {i}\n" for i in range(200000)))
    words = ["sort", "-S", "200M", lines]
    locale = {"env": os.environ | {"LC_ALL": "C"}}
    assert swapped(6, *words, **locale).held().out == native(*words, **locale)


def test_forked_children_and_their_parent_each_keep_their_own(swapped: Run) -> None:
    words = [sys.executable, "-c", FORKS]
    ran = swapped(12, *words).held()
    assert ran.out == native(*words)
    assert ran.counts["processes_peak"] >= 2


GO = """package main

import "fmt"

func main() {
  lists := make([][]uint64, 0)
  for i := uint64(0); i < 1500; i++ {
    list := make([]uint64, 2048)
    for j := range list {
      list[j] = i * uint64(j+1)
    }
    lists = append(lists, list)
  }
  sum := uint64(0)
  for i := 0; i < 5000; i++ {
    sum = sum*31 + lists[i*7919%1500][i%2048]
  }
  fmt.Println(sum)
}
"""


@pytest.mark.skipif(shutil.which("go") is None, reason="no go")
def test_a_go_program_computes_the_same(swapped: Run, tmp_path: Path) -> None:
    source, program = tmp_path / "main.go", tmp_path / "go"
    source.write_text(GO)
    settings = os.environ | {"GOFLAGS": "-mod=mod", "GOCACHE": str(tmp_path / "cache")}
    subprocess.run(["go", "build", "-o", program, source], check=True, env=settings)
    assert swapped(12, program).held().out == native(program)


def test_orphans_of_a_program_keep_to_the_limit_too(swapped: Run) -> None:
    code = "held = bytearray(60 << 20); held[::4096] = bytes(15360); print(len(held))"
    words = ["sh", "-c", f"({sys.executable} -c '{code}' & ) | cat"]
    assert swapped(16, *words).held().out == f"{60 << 20}\n"


def test_the_status_of_the_program_is_that_of_the_command(swapped: Run) -> None:
    assert swapped(8, "sh", "-c", "exit 7").status == 7
    assert swapped(8, "sh", "-c", "kill -9 $$").status == 128 + 9


def test_processes_left_behind_are_said_to_run_without_a_limit(swapped: Run) -> None:
    ran = swapped(8, "sh", "-c", "sleep 600 > /dev/null 2>&1 & echo $!")
    os.kill(int(ran.out), signal.SIGKILL)
    assert ran.counts["processes_left"] == 1
    assert "1 processes still run" in ran.err


WITHOUT_GROUPS = """
import contextlib, sys
from nearfar.cli.main import main
from nearfar.tier.swap import run
run.limited = lambda _: contextlib.nullcontext()
sys.exit(main(sys.argv[1:]))
"""

SLOWLY = """
import time
held = bytearray(40 << 20)
for at in range(0, len(held), 4096):
    held[at] = 1
    if at % (1 << 20) == 0:
        time.sleep(0.01)
print(sum(held[::4096]))
"""


def test_without_a_control_group_pages_are_swapped_out_and_the_report_says_it(
    swapped: Run,
) -> None:
    ran = swapped(24, sys.executable, "-c", SLOWLY, launcher=["-c", WITHOUT_GROUPS])
    assert ran.status == 0, ran.err
    assert ran.out == "10240\n"
    assert ran.counts["evictions"] > 0
    assert ran.counts["faults"] > 0
    assert not ran.counts["hard_limit"]
    assert "no control group" in ran.err


def interrupted(process: subprocess.Popen[str], number: int) -> None:
    """Sends a signal to a launcher once its program runs."""
    assert process.stdout is not None
    assert process.stdout.readline() == "running\n"
    process.send_signal(number)


WAITS = "echo running; exec sleep 600"


def start(tmp_path: Path) -> subprocess.Popen[str]:
    words = command(8, tmp_path / "result.json", "--", "sh", "-c", WAITS)
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)


@pytest.mark.usefixtures("swapped")
def test_a_signal_ends_the_program_and_leaves_no_group(tmp_path: Path) -> None:
    with start(tmp_path) as process:
        interrupted(process, signal.SIGTERM)
        assert process.wait(60) == 128 + signal.SIGTERM
    assert groups_of(process.pid) == []


def test_the_group_of_a_killed_launcher_goes_with_the_next_run(
    swapped: Run, tmp_path: Path
) -> None:
    if groups.memory_controller() is None:
        pytest.skip("no memory controller")
    with start(tmp_path) as process:
        interrupted(process, signal.SIGKILL)
        (folder,) = groups_of(process.pid)
        process.wait(60)
    (program,) = [int(word) for word in (folder / "cgroup.procs").read_text().split()]
    os.kill(program, signal.SIGKILL)
    while Path(f"/proc/{program}/exe").exists():
        time.sleep(0.01)
    assert folder.exists()
    swapped(8, "true")
    assert not folder.exists()


def test_a_far_file_has_no_place_beside_swap(refused: Callable[..., str]) -> None:
    words = ["--near", "8MiB", "--backend", "swap", "--far", "far"]
    assert "system's swap" in refused("tier", "run", *words, "--", "true")


def test_without_swap_it_is_said_what_to_do(
    nearfar: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(swap_machine, "_capable", lambda _: True)
    monkeypatch.setattr(swap_machine, "swap_areas", list)
    status, _, err = nearfar("tier", "run", "--backend", "swap", "--near", "8MiB", "--", "true")
    assert status == 1
    assert err.count("\n") == 1
    assert "mkswap" in err
    assert "swapon" in err


def test_without_the_capabilities_it_is_said_what_to_do(
    nearfar: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(swap_machine, "_capable", lambda _: False)
    status, _, err = nearfar("tier", "run", "--backend", "swap", "--near", "8MiB", "--", "true")
    assert status == 1
    assert err.count("\n") == 1
    assert "SYS_NICE" in err


def test_a_version_2_group_is_found_where_the_mounts_say(tmp_path: Path) -> None:
    mount = tmp_path / "cgroup"
    mount.mkdir()
    (mount / "cgroup.controllers").write_text("cpu memory\n")
    (tmp_path / "self").mkdir()
    (tmp_path / "self/cgroup").write_text("0::/user.slice/one.scope\n")
    line = f"30 23 0:26 / {mount} rw - cgroup2 cgroup2 rw\n"
    (tmp_path / "self/mountinfo").write_text(line)
    found = groups.memory_controller(tmp_path)
    assert found == (mount, mount / "user.slice/one.scope", True)
    (mount / "cgroup.controllers").write_text("cpu\n")
    assert groups.memory_controller(tmp_path) is None
