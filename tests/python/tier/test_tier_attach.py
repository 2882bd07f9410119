"""Programs that run already, of which `tier attach` moves pages between two nodes from outside.

This machine may have one node: pages are then told apart by count alone. It may not note which
pages are written: then only the policy that does without can be tried.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nearfar.tier.attach.damon import claimed_damon, damon_obstacle
from nearfar.tier.attach.machine import attach_obstacle, notes_writes
from nearfar.tier.client import find
from nearfar.tier.far import nodes
from tiered import MIB, PROGRAMS, SLOWER, compiled, needs_root, needs_tier

_OBSTACLE = attach_obstacle()
pytestmark = pytest.mark.skipif(_OBSTACLE is not None, reason=str(_OBSTACLE))
# Debian's kernels note writes, and others do not: scripts/kernels runs these there.
needs_writes = pytest.mark.other_kernel
KDAMONDS = Path("/sys/kernel/mm/damon/admin/kdamonds/nr_kdamonds")
TRACE = Path("/sys/kernel/tracing/instances/nearfar")
FAR = f"node:{nodes()[-1]}"
LIMIT = 60 * SLOWER
WRITES = ("--detector", "dirty")

# Holds 24 MiB that may be shared, says where they are, and tells their sum for each line.
HOLDS = """
import ctypes, hashlib, mmap, os, sys
flags = mmap.MAP_SHARED if sys.argv[1] == "shared" else mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
file = os.memfd_create("held") if sys.argv[1] == "shared" else -1
if file >= 0:
    os.truncate(file, 24 << 20)
held = mmap.mmap(file, 24 << 20, flags=flags)
for at in range(0, 24 << 20, 4096):
    held[at:at + 8] = at.to_bytes(8, "little")
print(ctypes.addressof(ctypes.c_char.from_buffer(held)), flush=True)
while sys.stdin.readline():
    print(hashlib.sha1(held).hexdigest(), flush=True)
"""


class Program:
    """One that runs by itself."""

    def __init__(self, *words: str | Path) -> None:
        self.process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.first = self.answered()

    @property
    def pid(self) -> int:
        return self.process.pid

    def answered(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def end(self) -> None:
        """Have it end by the end of its input."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(timeout=LIMIT)
        self.process.stdout.close()

    def go_on(self) -> str:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.answered()


class Manager:
    """A `tier attach` that has begun."""

    def __init__(self, process: int, *options: str, near: str, result: Path) -> None:
        self.result = result
        self.process = subprocess.Popen(
            [sys.executable, "-m", "nearfar", "tier", "attach", "--flat", "--near", near, "--far",
             FAR, "--interval", "50ms", "--json", str(result), *options, str(process)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self.process.stderr is not None
        lines: list[str] = []
        while not lines or "from now on" not in lines[-1]:
            lines.append(self.process.stderr.readline())
            assert lines[-1], lines

    def ended(self) -> dict[str, Any]:
        """Its figures, when it has."""
        assert self.process.wait(timeout=LIMIT) == 0
        figures: dict[str, Any] = json.loads(self.result.read_text())
        return figures


@pytest.fixture(autouse=True)
def sockets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where they are, of this test alone."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))


@pytest.fixture
def start() -> Iterator[Callable[..., Program]]:
    """Start a program that ends with the test."""
    started: list[Program] = []

    def begin(*words: str | Path) -> Program:
        started.append(Program(*words))
        return started[-1]

    yield begin
    for program in started:
        program.end()


@pytest.fixture
def holding(start: Callable[..., Program]) -> Program:
    return start(sys.executable, "-c", HOLDS, "private")


@pytest.fixture
def attach(tmp_path: Path) -> Iterator[Callable[..., Manager]]:
    """Attach to a process: by default with the policy that does without a detector."""
    begun: list[Manager] = []

    def begin(process: int, *options: str, near: str = "8MiB", policy: str = "static") -> Manager:
        result = tmp_path / f"result{len(begun)}.json"
        begun.append(Manager(process, "--policy", policy, *options, near=near, result=result))
        return begun[-1]

    yield begin
    for manager in begun:
        if manager.process.poll() is None:
            manager.process.kill()
        manager.process.communicate(timeout=LIMIT)


@pytest.fixture
def tier(nearfar: Callable[..., tuple[int, str, str]]) -> Callable[..., dict[str, Any]]:
    """A verb of `nearfar tier` that succeeds: its JSON."""

    def run(*words: str | int) -> dict[str, Any]:
        status, out, err = nearfar("tier", *map(str, words), "--json", "-")
        assert (status, err) == (0, "")
        found: dict[str, Any] = json.loads(out)
        return found

    return run


Attach = Callable[..., Manager]
Tier = Callable[..., dict[str, Any]]


@pytest.mark.parametrize("kind", ["private", "shared"])
def test_a_program_that_runs_already_has_no_more_near_than_its_limit(
    start: Callable[..., Program], attach: Attach, tier: Tier, kind: str
) -> None:
    holding = start(sys.executable, "-c", HOLDS, kind)
    before = holding.go_on()
    attach(holding.pid, near="8MiB")
    stats = tier("stats", holding.pid)
    assert stats["near_bytes"] <= 8 * MIB < 24 * MIB <= stats["managed_bytes"]
    assert stats["demoted"] >= (24 - 8) * MIB // 4096
    assert stats["attached"] is True
    assert [part["process"] for part in stats["processes"]] == [holding.pid]
    if len(nodes()) > 1:
        assert on_far(holding.pid, int(holding.first)) >= (24 - 8) * MIB // 4096
    assert holding.go_on() == before


def on_far(process: int, address: int) -> int:
    """Pages on the far node of the mapping at an address, as the kernel counts them."""
    for line in Path(f"/proc/{process}/numa_maps").read_text().splitlines():
        if int(line.split()[0], 16) == address:
            found = re.search(rf"N{nodes()[-1]}=(\d+)", line)
            return int(found[1]) if found else 0
    raise AssertionError(address)


def test_the_limit_is_changed_paused_and_given_up_while_the_program_runs(
    holding: Program, attach: Attach, tier: Tier, nearfar: Callable[..., tuple[int, str, str]]
) -> None:
    before = holding.go_on()
    manager = attach(holding.pid, near="16MiB")
    assert tier("set", "--near", "4MiB", holding.pid)["near_bytes"] <= 4 * MIB
    share = tier("set", "--near", "10%", manager.process.pid)
    assert share["near_bytes"] <= share["managed_bytes"] // 10
    assert tier("pause", "--resident", holding.pid)["resident"] is True
    assert tier("resume", holding.pid)["resident"] is False
    status, table, _ = nearfar("tier", "top", "--once", str(holding.pid))
    assert (status, "PROMOTED/s" in table) == (0, True)
    last = tier("detach", holding.pid)
    assert manager.ended()["demoted"] == last["demoted"] > 0
    assert holding.go_on() == before


def test_a_program_that_was_left_can_be_managed_again(holding: Program, attach: Attach) -> None:
    before = holding.go_on()
    first = attach(holding.pid)
    first.process.kill()
    first.process.wait()
    assert holding.go_on() == before
    second = attach(holding.pid)
    second.process.send_signal(signal.SIGTERM)
    assert second.ended()["near_bytes"] <= 8 * MIB
    assert holding.go_on() == before


def test_the_manager_ends_with_the_program_and_says_what_was_done(
    holding: Program, attach: Attach
) -> None:
    manager = attach(holding.pid)
    holding.end()
    assert manager.ended()["demoted"] > 0
    assert manager.process.stdout is not None
    assert "pages promoted" in manager.process.stdout.read()


@pytest.fixture
def damon() -> Iterator[None]:
    """DAMON, of which a machine has one, for this test alone."""
    with Path(tempfile.gettempdir(), "nearfar-test-damon").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        obstacle = damon_obstacle()
        if obstacle is not None:
            pytest.skip(str(obstacle))
        yield


@needs_writes
def test_pages_that_are_written_come_near_and_others_when_those_are(
    start: Callable[..., Program], attach: Attach, tier: Tier, tmp_path: Path
) -> None:
    program = start(compiled(PROGRAMS / "programs" / "phases.c", tmp_path / "phases"))
    attach(program.pid, *WRITES, near="6MiB", policy="raminate")
    come_near_in_turn(program, tier)


@needs_writes
@pytest.mark.usefixtures("damon")
def test_pages_that_are_only_read_come_near_and_damon_is_left_as_it_was(
    start: Callable[..., Program], attach: Attach, tier: Tier, tmp_path: Path
) -> None:
    program = start(compiled(PROGRAMS / "programs" / "phases.c", tmp_path / "phases"), "reads")
    manager = attach(program.pid, "--interval", "1s", near="6MiB", policy="raminate")
    assert tier("stats", program.pid)["detector"] == "damon"
    assert KDAMONDS.read_text() == "1\n"
    come_near_in_turn(program, tier)
    tier("detach", program.pid)
    assert manager.ended()["detector_ns"] > 0
    assert (KDAMONDS.read_text(), TRACE.exists()) == ("0\n", False)


@needs_writes
@pytest.mark.usefixtures("damon")
def test_a_program_is_started_with_nothing_loaded_into_it(
    start: Callable[..., Program], tier: Tier, tmp_path: Path
) -> None:
    result = tmp_path / "result.json"
    program = start(
        sys.executable, "-m", "nearfar", "tier", "run", "--flat", "--near", "6MiB", "--far", FAR,
        "--detector", "damon", "--interval", "1s", "--policy", "raminate", "--quiet", "--json",
        result, "--", compiled(PROGRAMS / "programs" / "phases.c", tmp_path / "phases"), "reads",
    )  # fmt: skip
    come_near_in_turn(program, tier)
    program.end()
    figures = json.loads(result.read_text())
    assert (figures["status"], figures["detector"]) == (0, "damon")
    assert figures["promoted"] >= 100


@needs_writes
@pytest.mark.usefixtures("damon")
def test_damon_of_a_killed_manager_is_taken_over(holding: Program, attach: Attach) -> None:
    first = attach(holding.pid, "--detector", "damon", policy="raminate")
    first.process.kill()
    first.process.wait()
    assert KDAMONDS.read_text() == "1\n"
    second = attach(holding.pid, "--detector", "damon", policy="raminate")
    second.process.send_signal(signal.SIGINT)
    second.ended()
    assert (KDAMONDS.read_text(), TRACE.exists()) == ("0\n", False)


@needs_writes
@pytest.mark.usefixtures("damon")
def test_damon_in_other_use_is_refused_or_done_without(
    refused: Callable[..., str], holding: Program, attach: Attach, tier: Tier
) -> None:
    words = ("tier", "attach", "--flat", "--near", "25%", "--far", FAR, "--detector", "damon")
    KDAMONDS.write_text("1")
    try:
        assert "another program has set DAMON up" in refused(*words, str(holding.pid))
    finally:
        KDAMONDS.write_text("0")
    with claimed_damon():
        assert "used by another `nearfar tier attach`" in refused(*words, str(holding.pid))
        attach(holding.pid, policy="raminate")
        assert tier("stats", holding.pid)["detector"] == "dirty"


def decided(program: Program, tier: Tier) -> dict[str, Any]:
    """Its figures when the part that it uses first has been found, and is near: by exchanges, or
    since the limit came to hold, as pages that are not used leave first."""
    found = tier("stats", program.pid)
    while found["found_used"] < 1000:
        assert program.process.poll() is None
        found = tier("stats", program.pid)
    while (stats := tier("stats", program.pid))["decisions"] < found["decisions"] + 3:
        assert program.process.poll() is None
    return stats


def come_near_in_turn(program: Program, tier: Tier) -> None:
    """One part of its pages after another, as a program that has phases uses them."""
    first = decided(program, tier)
    assert program.go_on() == "another part"
    while tier("stats", program.pid)["promoted"] < first["promoted"] + 100:
        assert program.process.poll() is None
    assert program.go_on() == "idle"
    stats = tier("stats", program.pid)
    assert stats["near_bytes"] <= 6 * MIB
    assert stats["found_used"] > 0
    assert program.go_on() == "all words are right"


@needs_writes
def test_an_idle_program_is_not_found_to_write_what_was_moved(
    start: Callable[..., Program], attach: Attach, tier: Tier, tmp_path: Path
) -> None:
    program = start(compiled(PROGRAMS / "programs" / "phases.c", tmp_path / "phases"))
    attach(program.pid, *WRITES, near="6MiB", policy="raminate")
    first = decided(program, tier)
    program.go_on()
    while tier("stats", program.pid)["promoted"] < first["promoted"] + 100:
        assert program.process.poll() is None
    program.go_on()
    idle = tier("stats", program.pid)
    while (seen := tier("stats", program.pid))["scanned"] < idle["scanned"] + 20 * 4096:
        assert program.process.poll() is None
    while (later := tier("stats", program.pid))["scanned"] < seen["scanned"] + 10 * 4096:
        assert program.process.poll() is None
    assert later["found_used"] == seen["found_used"]


@pytest.mark.skipif(notes_writes(), reason="this kernel notes writes")
def test_a_kernel_that_notes_no_writes_is_named_with_what_does_without(
    refused: Callable[..., str], holding: Program
) -> None:
    words = ("tier", "attach", "--flat", "--near", "25%", "--far", FAR, "--detector", "dirty")
    said = refused(*words, str(holding.pid))
    assert "does not note which pages of other processes are written" in said
    assert "--policy static" in said


def test_a_second_manager_of_a_process_is_refused(
    refused: Callable[..., str], holding: Program, attach: Attach
) -> None:
    attach(holding.pid)
    words = ("tier", "attach", "--flat", "--near", "25%", "--far", FAR, "--policy", "static")
    assert "manages its memory already; `nearfar tier set`" in refused(*words, str(holding.pid))


@needs_tier
def test_a_program_that_was_started_on_two_tiers_is_refused(
    refused: Callable[..., str], start: Callable[..., Program], tmp_path: Path
) -> None:
    far = ("--far", str(tmp_path / "far"))
    near = (sys.executable, "-m", "nearfar", "tier", "run", "--quiet", "--near", "16MiB")
    launcher = start(*near, *far, "--", sys.executable, "-c", HOLDS, "private")
    tree = find(launcher.pid)
    process = tree.processes[-1]
    words = ("tier", "attach", "--flat", "--near", "25%", "--far", FAR, "--policy", "static")
    assert "manages its memory already" in refused(*words, str(process))
    assert "was started on two tiers" in refused("tier", "detach", str(process))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--near", "0%"), "--near: found '0%', expected more than 0% and at most 100%"),
        (("--near", "101%"), "--near: found '101%', expected more than 0% and at most 100%"),
        (("--far", "file"), "--far: found file, expected node:N: from outside"),
        (("--far", "node:999"), "--far node:999: found no such NUMA node with memory"),
        (("--policy", "fifo"), "--policy: found 'fifo', expected one of static, raminate"),
        (("--detector", "probe"), "--detector: found 'probe', expected one of damon, dirty"),
        (("--detector", "drity"), "did you mean dirty?"),
    ],
)
def test_bad_options_are_refused_in_one_line(
    refused: Callable[..., str], holding: Program, words: tuple[str, ...], said: str
) -> None:
    base = ("tier", "attach", "--flat", "--near", "25%", "--far", FAR, "--policy", "static")
    assert said in refused(*base, *words, str(holding.pid))


def test_processes_that_cannot_be_managed_are_refused_in_one_line(
    refused: Callable[..., str], holding: Program
) -> None:
    words = ("tier", "attach", "--flat", "--near", "25%", "--far", FAR, "--policy", "static")
    with subprocess.Popen(["true"]) as ended:
        ended.wait()
    assert "found no process of this number" in refused(*words, str(ended.pid))
    if Path("/proc/2/comm").exists() and Path("/proc/2/comm").read_text() == "kthreadd\n":
        assert "has no memory of its own" in refused(*words, "2")
    without_flat = [word for word in words if word != "--flat"]
    assert "expected --flat" in refused(*without_flat, str(holding.pid))
    assert "expected more than 0%" in refused(*words[:4], "0%", *words[5:], str(holding.pid))


@needs_root
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="no setpriv")
def test_a_process_of_another_user_is_refused_in_one_line(holding: Program) -> None:
    readers = [f"--{kind}-caps=+dac_read_search" for kind in ("inh", "ambient")]
    ran = subprocess.run(
        ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *readers,
         sys.executable, "-m", "nearfar", "tier", "attach", "--flat", "--near", "25%", "--far",
         FAR, "--policy", "static", str(holding.pid)],
        capture_output=True, text=True, check=False, timeout=LIMIT,
    )  # fmt: skip
    assert (ran.stdout, ran.returncode, ran.stderr.count("\n")) == ("", 2, 1)
    assert f"{holding.pid}: belongs to user {os.geteuid()}" in ran.stderr
