"""Programs on two tiers are looked at, given other limits, and paused while they run."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from holding import HELD, MIB, Start, holdings, the_sum
from nearfar.errors import NearfarError
from nearfar.tier import control, server
from nearfar.tier.machine import obstacle
from nearfar.tier.tree import Tree
from tiered import PROGRAMS, command, compiled

_OBSTACLE = obstacle()
needs_tier = pytest.mark.skipif(_OBSTACLE is not None, reason=str(_OBSTACLE))

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where sockets are, of this test alone."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path / "nearfar"


@pytest.fixture
def start(folder: Path, tmp_path: Path) -> Iterator[Start]:
    """Start the program with so many MiB of near memory."""
    with holdings(folder.parent, tmp_path) as begin:
        yield begin


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
    # What it has printed is read here before it has come to rest.
    while (now := tier("stats", holding.pid)) != stats:
        stats = now
    assert tier("stats", holding.process) == stats
    assert stats in tier("stats")["trees"]


def test_a_process_is_not_taken_for_the_file_to_write(refused: Callable[..., str]) -> None:
    message = refused("tier", "stats", "--json", "4711")
    assert "expected a file; for process 4711: nearfar tier stats --json - 4711" in message
    assert not Path("4711").exists()


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
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("near", [4, 128])
def test_a_child_is_charged_what_its_parent_has_when_it_forks(
    tier: Tier, tmp_path: Path, near: int
) -> None:
    program = compiled(PROGRAMS / "programs" / "forks_and_waits.c", tmp_path / "forks")
    # More than fits, so that there is something on its way out, which the child does not get.
    size = str(near * 5 // 4)
    result = tmp_path / "result.json"
    words = command(f"{near}MiB", tmp_path / "far", program, size, result=result, policy="fifo")
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        parent, child = map(int, run.stdout.readline().split())
        charged = {p["process"]: p["near_bytes"] for p in tier("stats", parent)["processes"]}
        _, _ = run.communicate()
    assert charged[child] <= charged[parent] + MIB / 16
    assert run.returncode == 0


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
def test_a_paused_program_is_resident_for_readers_from_outside(
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


def no_answer(*_: object) -> bool:
    return False


def interrupted(*_: object) -> bool:
    raise KeyboardInterrupt


@pytest.mark.parametrize("second", [no_answer, interrupted])
def test_a_pause_that_fails_between_its_two_orders_leaves_pages_free(
    monkeypatch: pytest.MonkeyPatch, second: Callable[..., bool]
) -> None:
    memory, bell = control.create(8 * MIB, control.Settings()), control.open_bell()
    answers = iter([lambda *_: True, second])
    monkeypatch.setattr("nearfar.tier.tree.wait_until", lambda *look: next(answers)(*look))
    with pytest.raises((NearfarError, KeyboardInterrupt)):
        Tree(memory, bell, 1, "a test").pause()
    assert control.residence(memory) is control.Residence.FREE
    os.close(memory)
    os.close(bell)


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
        (b'{"do": []}\n', "found '[]', expected one of stats"),
        pytest.param(b"[" * 4000 + b"\n", "found no JSON", id="deep"),
        (b'{"do": "set", "near_bytes": 1' + b"0" * 40 + b"}\n", "expected less than 8388608 TiB"),
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
def test_a_request_that_fails_unforeseen_is_answered_all_the_same(tmp_path: Path) -> None:
    empty = os.memfd_create("no tree")
    bell = control.open_bell()
    asking, answering = socket.socketpair()
    with asking:
        asking.sendall(b'{"do": "stats"}\n')
        server._serve(answering, Tree(empty, bell, 1, str(tmp_path)))
        reply = json.loads(asking.makefile("rb").readline())
    os.close(empty)
    os.close(bell)
    assert (reply["status"], reply["error"][:22]) == (1, "internal error: error:")


@needs_tier
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "name", [b"name of \xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4", b"\xff", b"a) S 1 \xe2"]
)
def test_a_program_of_any_name_is_told_of(
    tier: Tier, nearfar: Run, tmp_path: Path, name: bytes
) -> None:
    program = os.fsencode(tmp_path) + b"/" + name
    shutil.copy("/bin/cat", program)
    result = tmp_path / "result.json"
    words = command("8MiB", tmp_path / "far", os.fsdecode(program), result=result)
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as run:
        assert run.stdin is not None
        assert run.stdout is not None
        run.stdin.write(b"\n")
        run.stdin.flush()
        run.stdout.readline()
        stats = tier("stats", run.pid)
        (process,) = stats["processes"]
        assert process["program"] == name[:15].decode(errors="replace")
        assert stats["program"] == name.decode(errors="replace")
        assert tier("stats", process["process"])["process"] == run.pid
        assert nearfar("tier", "core", str(run.pid), "-o", str(tmp_path / "core"))[0] == 0


@needs_tier
def test_a_tree_that_answers_with_an_error_does_not_hide_the_others(
    start: Start, folder: Path, tier: Tier
) -> None:
    holding = start(8)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / f"{os.getpid()}.sock"))
        listening.listen()
        thread = threading.Thread(target=refuse, args=(listening,))
        thread.start()
        assert holding.pid in [tree["process"] for tree in tier("stats")["trees"]]
        thread.join()


def refuse(listening: socket.socket) -> None:
    connection, _ = listening.accept()
    with connection:
        connection.makefile("rb").readline()
        connection.sendall(b'{"error": "no", "status": 2}\n')


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
    compared = stats["clean_drops"] - stats["protected_drops"] + stats["copies_out"]
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
    pid = str(holding.pid)
    likes = (pid[:i] + digit + pid[i + 1 :] for i in range(1, len(pid)) for digit in "0123456789")
    near = next(like for like in likes if not Path(f"/proc/{like}").exists())
    assert f"{holding.pid} (python" in refused("tier", "stats", near)
    assert "did you mean" in refused("tier", "stats", near)


def test_too_small_a_limit_and_too_short_an_interval_are_refused(
    refused: Callable[..., str],
) -> None:
    assert "at least 1 MiB" in refused("tier", "set", "--near", "64KiB", "1")
    assert "without a unit" in refused("tier", "set", "--near", "64", "1")
    assert "--near" in refused("tier", "set", "1")
    assert "less than 8388608 TiB" in refused("tier", "set", "--near", "8388608TiB", "1")
    assert "at least 50 ms" in refused("tier", "top", "--interval", "1ms")
    assert "a time" in refused("tier", "top", "--interval", "5MiB")
    assert "--resident" in refused("tier", "pause", "1")
