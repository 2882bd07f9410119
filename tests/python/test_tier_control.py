"""Programs on two tiers are looked at, given other limits, and paused while they run."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nearfar.tier.machine import obstacle

_OBSTACLE = obstacle()
needs_tier = pytest.mark.skipif(_OBSTACLE is not None, reason=str(_OBSTACLE))
MIB = 1 << 20
HELD = 24 * MIB

# Prints where its memory is, then its sum for each line that it reads.
HOLDS = f"""
import ctypes, hashlib, mmap, os, random, sys
held = mmap.mmap(-1, {HELD}, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for at in range(0, {HELD}, 1 << 20):
    held[at:at + (1 << 20)] = random.Random(at).randbytes(1 << 20)
ends, kept = os.pipe()
for child in range(int(sys.argv[1])):
    if os.fork() == 0:
        os.close(kept)
        for at in range(0, {HELD}, 4096):
            held[at] = child
        os.write(1, b"child\\n")
        os.read(ends, 1)  # until the parent ends
        os._exit(0)
print(os.getpid(), ctypes.addressof(ctypes.c_char.from_buffer(held)), flush=True)
while sys.stdin.readline():
    print(hashlib.sha1(held).hexdigest(), flush=True)
"""


class Holding:
    """A program that runs on two tiers and holds 24 MiB."""

    def __init__(self, launcher: subprocess.Popen[str], children: int) -> None:
        self.launcher = launcher
        self.pid = launcher.pid
        lines = [self._line().split() for _ in range(children + 1)]
        (words,) = (words for words in lines if words != ["child"])
        self.process, self.at = int(words[0]), int(words[1])

    def _line(self) -> str:
        assert self.launcher.stdout is not None
        return self.launcher.stdout.readline()

    def sum(self) -> str:
        """The sum of all that it holds, for which it touches all of it."""
        assert self.launcher.stdin is not None
        self.launcher.stdin.write("\n")
        self.launcher.stdin.flush()
        return self._line().strip()

    def end(self) -> int:
        assert self.launcher.stdin is not None
        self.launcher.stdin.close()
        return self.launcher.wait(timeout=60)


Start = Callable[..., Holding]
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where sockets are, of this test alone."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path / "nearfar"


@pytest.fixture
def start(folder: Path, tmp_path: Path) -> Iterator[Start]:
    """Start the program with so many MiB of near memory."""
    launched: list[Holding] = []
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(folder.parent)}

    def begin(near: int, *options: str, children: int = 0) -> Holding:
        words = [sys.executable, "-m", "nearfar", "tier", "run", "--near", f"{near}MiB", "--far",
                 str(tmp_path / f"far{len(launched)}"), *options,
                 "--", sys.executable, "-c", HOLDS, str(children)]  # fmt: skip
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, env=environment)  # fmt: skip
        launched.append(Holding(process, children))
        return launched[-1]

    yield begin
    for holding in launched:
        assert holding.launcher.stdin is not None
        holding.launcher.stdin.close()
        holding.launcher.__exit__(None, None, None)


@pytest.fixture
def tier(nearfar: Run) -> Callable[..., dict[str, Any]]:
    """A verb of `nearfar tier` that succeeds: its JSON."""

    def run(*words: str | int) -> dict[str, Any]:
        status, out, err = nearfar("tier", *map(str, words), "--json", "-")
        assert (status, err) == (0, "")
        result: dict[str, Any] = json.loads(out)
        return result

    return run


Tier = Callable[..., dict[str, Any]]


def the_sum() -> str:
    """Of what the program holds."""
    whole = hashlib.sha1()
    for at in range(0, HELD, MIB):
        whole.update(random.Random(at).randbytes(MIB))
    return whole.hexdigest()


@needs_tier
def test_stats_tell_what_a_program_has_by_any_of_its_processes(start: Start, tier: Tier) -> None:
    holding = start(8)
    stats = tier("stats", holding.pid)
    assert stats["near_bytes"] <= stats["near_limit_bytes"] == 8 * MIB
    assert stats["managed_bytes"] > HELD
    assert stats["far_bytes"] > HELD - 8 * MIB
    assert stats["evictions"] > 1000
    assert stats["managed_share"] >= 0.7
    assert stats["stall_ns"] > 0
    assert [part["process"] for part in stats["processes"]] == [holding.process]
    assert tier("stats", holding.process) == stats
    assert stats in tier("stats")["trees"]


@needs_tier
def test_the_limit_shrinks_and_grows_while_the_program_runs(start: Start, tier: Tier) -> None:
    holding = start(16)
    assert tier("set", "--near", "4MiB", holding.pid)["near_bytes"] <= 4 * MIB
    assert holding.sum() == the_sum()
    stats = tier("stats", holding.pid)
    assert stats["near_bytes"] <= stats["near_limit_bytes"] == 4 * MIB
    tier("set", "--near", "64MiB", holding.process)
    assert holding.sum() == the_sum()
    grown = tier("stats", holding.pid)
    assert grown["near_bytes"] > HELD
    assert grown["over_budget"] == stats["over_budget"] == 0
    assert holding.sum() == the_sum()
    assert tier("stats", holding.pid)["evictions"] == grown["evictions"]
    assert holding.end() == 0


@needs_tier
def test_a_limit_and_a_pause_are_for_all_processes_of_a_tree(start: Start, tier: Tier) -> None:
    holding = start(16, children=2)
    shrunk = tier("set", "--near", "4MiB", holding.pid)
    assert shrunk["near_bytes"] <= 4 * MIB
    assert len(shrunk["processes"]) == 3
    assert holding.sum() == the_sum()
    tier("set", "--near", "256MiB", holding.pid)
    paused = tier("pause", "--resident", holding.pid)
    assert paused["near_bytes"] > 3 * HELD
    tier("resume", holding.pid)
    assert tier("set", "--near", "4MiB", holding.pid)["near_bytes"] <= 4 * MIB
    assert holding.sum() == the_sum()


@needs_tier
def test_a_paused_program_is_resident_for_whoever_looks_from_outside(
    start: Start, tier: Tier, nearfar: Run
) -> None:
    holding = start(8)
    status, out, err = nearfar("tier", "pause", "--resident", str(holding.pid))
    assert (status, out) == (1, "")
    assert "lacking" in err
    tier(*err.split("`nearfar tier ")[1].split("`")[0].split())
    paused = tier("pause", "--resident", holding.pid)
    assert paused["resident"]
    with Path(f"/proc/{holding.process}/mem").open("rb", buffering=0) as memory:
        memory.seek(holding.at)
        seen = b"".join(memory.read(MIB) for _ in range(HELD // MIB))
    assert hashlib.sha1(seen).hexdigest() == the_sum()
    assert holding.sum() == the_sum()
    after = tier("stats", holding.pid)
    assert after["evictions"] == paused["evictions"]
    assert after["copies_in"] == paused["copies_in"]
    assert not tier("resume", holding.pid)["resident"]
    assert tier("set", "--near", "4MiB", holding.pid)["near_bytes"] <= 4 * MIB
    assert holding.sum() == the_sum()


@needs_tier
def test_a_paused_program_keeps_its_limit_and_is_paused_once(
    start: Start, tier: Tier, refused: Callable[..., str]
) -> None:
    holding = start(64)
    pid = str(holding.pid)
    assert "nothing to resume" in refused("tier", "resume", pid)
    tier("pause", "--resident", pid)
    assert "already" in refused("tier", "pause", "--resident", pid)
    assert "`nearfar tier resume" in refused("tier", "set", "--near", "4MiB", pid)
    tier("resume", pid)
    tier("set", "--near", "4MiB", pid)


@needs_tier
def test_a_stopped_program_cannot_give_way_and_keeps_its_limit(
    start: Start, tier: Tier, nearfar: Run
) -> None:
    holding = start(64)
    os.kill(holding.process, signal.SIGSTOP)
    status, _, err = nearfar("tier", "set", "--near", "4MiB", str(holding.pid))
    os.kill(holding.process, signal.SIGCONT)
    assert status == 1
    assert "the limit stays 64.0 MiB" in err
    assert tier("stats", holding.pid)["near_limit_bytes"] == 64 * MIB


def loaded(core: Path, at: int, length: int) -> bytes:
    """What a core file has at an address, by its segments."""
    with core.open("rb") as file:
        head = struct.unpack("<16sHHIQQQIHHHHHH", file.read(64))
        assert (head[0][:4], head[1], head[2]) == (b"\x7fELF", 4, 62)
        found = b""
        for i in range(head[10]):
            file.seek(head[5] + i * head[9])
            kind, _, offset, begin, _, size, _, _ = struct.unpack("<IIQQQQQQ", file.read(56))
            if kind == 1 and begin <= at + len(found) < begin + size:
                file.seek(offset + at + len(found) - begin)
                found += file.read(min(length - len(found), begin + size - at - len(found)))
        return found


@needs_tier
def test_a_core_file_has_far_memory_and_the_program_goes_on(
    start: Start, tier: Tier, nearfar: Run, tmp_path: Path, refused: Callable[..., str]
) -> None:
    holding = start(8)
    core = tmp_path / "core"
    status, out, err = nearfar("tier", "core", str(holding.pid), "-o", str(core))
    assert (status, err) == (0, "")
    assert out.startswith(f"{core}: ")
    assert core.stat().st_mode & 0o777 == 0o600
    assert core.stat().st_blocks * 512 < 4 * HELD  # what was never used is a hole
    assert hashlib.sha1(loaded(core, holding.at, HELD)).hexdigest() == the_sum()
    stats = tier("stats", holding.pid)
    assert stats["near_bytes"] <= stats["near_limit_bytes"] == 8 * MIB
    assert stats["over_budget"] == 0
    assert "is there already" in refused("tier", "core", str(holding.pid), "-o", str(core))
    assert holding.sum() == the_sum()
    assert holding.end() == 0


@needs_tier
@pytest.mark.skipif(shutil.which("gdb") is None, reason="no gdb")
def test_gdb_reads_a_core_file_with_its_threads(start: Start, nearfar: Run, tmp_path: Path) -> None:
    holding = start(8)
    core = tmp_path / "core"
    assert nearfar("tier", "core", str(holding.process), "-o", str(core))[0] == 0
    last = holding.at + HELD - 8
    words = ["gdb", "-nx", "-batch", "-ex", "info threads", "-ex", f"x/1gx {last}"]
    gdb = subprocess.run(
        [*words, os.path.realpath(sys.executable), str(core)], capture_output=True, text=True,
        check=True, timeout=100,
    )  # fmt: skip
    assert f"(LWP {holding.process})" in gdb.stdout, gdb.stdout + gdb.stderr
    expected = random.Random(HELD - MIB).randbytes(MIB)[-8:][::-1].hex()
    assert f"0x{expected}" in gdb.stdout, gdb.stdout + gdb.stderr


@needs_tier
def test_a_core_file_is_of_one_process_that_runs(
    start: Start, nearfar: Run, tmp_path: Path, refused: Callable[..., str]
) -> None:
    holding = start(16, children=1)
    core = tmp_path / "core"
    assert "found 2 processes, expected one of" in refused(
        "tier", "core", str(holding.pid), "-o", str(core)
    )
    os.kill(holding.process, signal.SIGSTOP)
    status, _, err = nearfar("tier", "core", str(holding.process), "-o", str(core))
    os.kill(holding.process, signal.SIGCONT)
    assert (status, core.exists()) == (1, False)
    assert f"`kill -CONT {holding.process}` comes first" in err
    assert nearfar("tier", "core", str(holding.process), "-o", str(core))[0] == 0
    assert hashlib.sha1(loaded(core, holding.at, HELD)).hexdigest() == the_sum()


@needs_tier
def test_only_the_owner_can_reach_the_socket_and_it_goes_with_the_launcher(
    start: Start, folder: Path
) -> None:
    holding = start(8)
    path = folder / f"{holding.pid}.sock"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert path.stat().st_mode & 0o777 == 0o600
    assert holding.end() == 0
    assert not path.exists()


@needs_tier
def test_a_killed_launcher_leaves_the_program_running_and_its_socket_is_cleaned_up(
    start: Start, folder: Path, tier: Tier
) -> None:
    holding = start(8)
    path = folder / f"{holding.pid}.sock"
    holding.launcher.kill()
    holding.launcher.wait()
    assert path.exists()
    assert all(tree["process"] != holding.pid for tree in tier("stats")["trees"])
    assert not path.exists()
    assert holding.sum() == the_sum()


@needs_tier
def test_a_folder_that_others_can_enter_is_refused(
    folder: Path, nearfar: Run, tmp_path: Path
) -> None:
    folder.mkdir(mode=0o755)
    words = ("tier", "run", "--near", "4MiB", "--far", str(tmp_path / "far"), "--", "true")
    status, out, err = nearfar(*words)
    assert (status, out) == (1, "")
    assert "is open to others (mode 755), expected 700" in err
    assert err.count("\n") == 1


@needs_tier
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"stats\n", "found no JSON"),
        (b"[]\n", "expected a request"),
        (b'{"do": "stast"}\n', "did you mean stats?"),
        (b'{"do": "set"}\n', "expected at least 1 MiB"),
    ],
)
def test_the_socket_explains_what_it_does_not_understand(
    start: Start, folder: Path, line: bytes, expected: str
) -> None:
    holding = start(32)
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(folder / f"{holding.pid}.sock"))
        connection.sendall(line)
        reply = json.loads(connection.makefile("rb").readline())
    assert expected in reply["error"]
    assert reply["status"] == 2


@needs_tier
def test_top_is_a_table_of_what_happened_since(start: Start, nearfar: Run) -> None:
    holding = start(8)
    status, out, _ = nearfar("tier", "top", "--once", "--interval", "50ms", str(holding.pid))
    assert status == 0
    header, row = out.splitlines()
    values = dict(zip(header.split(), row.split(), strict=True))
    assert values["PID"] == str(holding.pid)
    assert values["LIMIT"] == "8.0"
    assert float(values["FAR"]) > 10
    assert values["PROGRAM"].startswith("python")


@needs_tier
def test_top_ends_with_the_program(start: Start) -> None:
    holding = start(8)
    words = [sys.executable, "-m", "nearfar", "tier", "top", "--interval", "50ms"]
    with subprocess.Popen([*words, str(holding.pid)], stdout=subprocess.PIPE, text=True) as top:
        assert top.stdout is not None
        assert "STALL" in top.stdout.readline()
        holding.end()
        assert "\x1b" not in top.stdout.read()
        assert top.wait(timeout=60) == 0


@needs_tier
def test_emulated_far_memory_charges_each_page_that_moves(start: Start, tier: Tier) -> None:
    holding = start(8, "--emulate", "latency=1us,bandwidth=4.096GB/s")
    holding.sum()
    stats = tier("stats", holding.pid)
    moved = stats["copies_in"] + stats["copies_out"]
    compared = stats["clean_drops"] + stats["copies_out"]
    assert moved > 1000
    assert 2000 * moved <= stats["emulated_ns"] <= 2000 * (moved + compared)
    assert stats["delayed_ns"] >= stats["emulated_ns"]


@needs_tier
def test_far_memory_that_is_not_emulated_charges_nothing(start: Start, tier: Tier) -> None:
    stats = tier("stats", start(8).pid)
    assert stats["emulated_ns"] == stats["delayed_ns"] == 0


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("latncy=1us", "did you mean latency?"),
        ("latency=1", "without a unit"),
        ("latency=1us,latency=2us", "twice"),
        ("bandwidth=0GB/s", "more than 0"),
        ("bandwidth=2GT/s", "expected a bandwidth in"),
        ("latency=2s", "at most 1 s"),
    ],
)
def test_far_memory_that_cannot_be_emulated_is_refused(
    refused: Callable[..., str], tmp_path: Path, given: str, expected: str
) -> None:
    far = str(tmp_path / "far")
    words = ("tier", "run", "--near", "4MiB", "--far", far, "--emulate", given, "--", "true")
    assert expected in refused(*words)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("verb", [["stats"], ["set", "--near", "4MiB"], ["pause", "--resident"],
                                  ["resume"], ["top"]])  # fmt: skip
def test_a_process_that_is_not_on_two_tiers_is_refused(
    refused: Callable[..., str], verb: list[str]
) -> None:
    assert "two tiers" in refused("tier", *verb, str(os.getppid()))
    assert "number of a process" in refused("tier", *verb, "sort")
    assert "too many" in refused("tier", *verb, "1", "2")


@needs_tier
def test_the_nearest_process_is_named(start: Start, refused: Callable[..., str]) -> None:
    holding = start(32)
    near = str(holding.pid)[:-1] + ("1" if str(holding.pid)[-1] != "1" else "2")
    if int(near) == holding.process or Path(f"/proc/{near}").exists():
        pytest.skip("that process runs")
    assert f"{holding.pid} (python" in refused("tier", "stats", near)
    assert "did you mean" in refused("tier", "stats", near)


def test_too_small_a_limit_and_too_short_an_interval_are_refused(
    refused: Callable[..., str],
) -> None:
    assert "at least 1 MiB" in refused("tier", "set", "--near", "64KiB", "1")
    assert "without a unit" in refused("tier", "set", "--near", "64", "1")
    assert "--near" in refused("tier", "set", "1")
    assert "at least 50 ms" in refused("tier", "top", "--interval", "1ms")
    assert "a time" in refused("tier", "top", "--interval", "5MiB")
    assert "--resident" in refused("tier", "pause", "1")
