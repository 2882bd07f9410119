"""How the process that keeps a tree's memory open finds those that may want it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from nearfar.tier import control, holder


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A process with the environment of this process's tree, of which no process is a member."""
    monkeypatch.setattr(control, "members", lambda _: [])
    own = {holder.VARIABLE: f"{os.getpid()}:3"}
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, env=own) as one:
        yield one.pid
        one.communicate(b"\n")


def test_a_process_started_by_an_ended_one_is_found(
    started: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    lists = [[os.getpid(), ended.pid], [os.getpid(), started], [os.getpid()], []]
    monkeypatch.setattr(holder, "_all_processes", lambda: lists.pop(0))
    assert list(holder._named(0)) == [started]
    assert lists == [[]]


def test_processes_are_listed_a_few_times_at_most(
    started: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = 0

    def another() -> list[int]:
        nonlocal times
        times += 1
        return [started, (1 << 22) + times]  # no process has such a number

    monkeypatch.setattr(holder, "_all_processes", another)
    assert set(holder._named(0)) == {started}
    assert times == holder._MOST_LISTS


def test_a_process_without_an_environment_yet_is_waited_for(
    started: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As if what it has were not there at first.
    looks = [True, True, False]
    monkeypatch.setattr(holder, "_is_becoming_another", lambda _: looks.pop(0))
    monkeypatch.setattr(holder.Path, "read_bytes", lambda _: b"" if len(looks) > 1 else b"A=1\0")
    assert holder._environment(started) == [b"A=1"]
    assert looks == [False]


def test_a_process_that_will_have_no_environment_is_not_waited_for() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, env={}) as one:
        assert holder._environment(one.pid) == []
        one.send_signal(signal.SIGKILL)
        os.waitid(os.P_PID, one.pid, os.WEXITED | os.WNOWAIT)
        assert holder._environment(one.pid) == []  # nor one that was not waited for
    assert holder._environment(one.pid) == []
