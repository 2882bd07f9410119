"""A sweep that is killed at any moment loses no point that its store has, and repeats none."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import swept

POINTS = 40
COMMAND = (
    *(sys.executable, "-m", "nearfar", "sweep", "model:optane-100", "--jobs", "2"),
    *("--set", f"nvdimm.media.read_latency=100ns..{99 + POINTS}ns:1ns"),
    *("--for", "measure chase --region 1MiB --op ntload --lines 16384"),
)
Sweep = subprocess.Popen[str]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "k.db"


def start(store: Path) -> Sweep:
    return subprocess.Popen(
        [*COMMAND, "--store", str(store)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def until(store: Path, points: int, running: Sweep) -> None:
    """Wait until so many points are committed."""
    while len(swept.committed(store)) < points:
        assert running.poll() is None, running.communicate()


def workers(running: Sweep) -> Iterator[int]:
    children = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text()
    yield from map(int, children.split())


def finish(running: Sweep) -> tuple[int, int]:
    """How many points it says that it computed and found."""
    out, err = running.communicate(timeout=100)
    assert running.returncode == 0, err
    found = re.search(r"(\d+) computed now, (\d+) found", out)
    assert found is not None, out
    return int(found[1]), int(found[2])


def times(store: Path) -> dict[str, int]:
    """When each committed point's result was written."""
    folder = store.with_suffix(".results")
    return {
        name: (folder / name[:2] / f"{name}.json").stat().st_mtime_ns
        for name in swept.committed(store)
    }


@pytest.mark.parametrize("after", [0, 1, 9, 30])
def test_a_killed_sweep_goes_on_where_it_was(store: Path, after: int) -> None:
    running = start(store)
    until(store, after, running)
    running.send_signal(signal.SIGKILL)
    running.communicate()
    kept = times(store)
    assert len(kept) >= after
    computed, found = finish(start(store))
    assert (computed, found) == (POINTS - len(kept), len(kept))
    assert {name: at for name, at in times(store).items() if name in kept} == kept
    assert len(swept.committed(store)) == POINTS == len(swept.results(store))


def test_a_killed_worker_is_replaced_and_no_point_is_lost(store: Path) -> None:
    running = start(store)
    for points in (2, 12, 22):
        until(store, points, running)
        os.kill(next(workers(running)), signal.SIGKILL)
    assert finish(running) == (POINTS, 0)
    assert len(swept.committed(store)) == POINTS == len(swept.results(store))


def test_the_workers_of_a_killed_sweep_end_with_it(store: Path) -> None:
    running = start(store)
    until(store, 2, running)
    pids = list(workers(running))
    assert len(pids) == 2
    running.kill()
    running.communicate()
    # Its pipes have closed, and each is gone as soon as its parent has collected it.
    while any(alive(pid) for pid in pids):
        pass


def alive(pid: int) -> bool:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] != "Z"


def test_ctrl_c_keeps_what_was_finished_and_says_so(store: Path) -> None:
    running = start(store)
    until(store, 3, running)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=100)
    assert running.returncode == 130
    assert err == "nearfar: interrupted\n"
    assert f"of {POINTS} points" in out
    kept = len(swept.committed(store))
    assert 3 <= kept < POINTS
    assert finish(start(store)) == (POINTS - kept, kept)


def test_two_sweeps_share_a_store_and_compute_each_point_once(store: Path) -> None:
    both = [start(store), start(store)]
    tallies = [finish(one) for one in both]
    assert sum(computed for computed, _ in tallies) == POINTS
    assert all(sum(tally) == POINTS for tally in tallies)


def test_points_that_a_killed_sweep_had_claimed_are_taken_over(store: Path) -> None:
    first = start(store)
    until(store, 5, first)
    second = start(store)
    until(store, 10, first)
    first.kill()
    first.communicate()
    computed, found = finish(second)
    assert computed + found == POINTS
    assert len(swept.committed(store)) == POINTS
