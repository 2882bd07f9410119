"""Model runs on several processes: what they find arrives, and how they end is told."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Generator
from typing import cast

import pytest

from nearfar.errors import InputError, NearfarError
from nearfar.measuring.walk import Walk
from nearfar.model import Model, load
from nearfar.simulate import pool
from nearfar.simulate.pool import Finished, Task
from nearfar.simulate.validation.series import Job

ALL = 20
MODEL = load("optane-100")


def some_runs(
    monkeypatch: pytest.MonkeyPatch, processes: int, breaks: dict[int, object]
) -> Generator[Finished]:
    """Tasks that find nothing, where those at the places in `breaks` do something else."""

    def run(_model: Model, place: int, _task: Task, _core: None) -> Finished:
        found = breaks.get(place)
        if isinstance(found, Exception):
            raise found
        if isinstance(found, signal.Signals):
            os.kill(os.getpid(), found)
        return Finished(place, {})

    monkeypatch.setattr(pool, "_run", run)
    tasks = [Task(Job(cast("Walk", None), cost=place), ()) for place in range(ALL)]
    return cast("Generator[Finished]", pool.run_tasks(MODEL, tasks, processes=processes))


def ran(monkeypatch: pytest.MonkeyPatch, processes: int, breaks: dict[int, object]) -> list[int]:
    """The places of the tasks that finished."""
    return [one.place for one in some_runs(monkeypatch, processes, breaks)]


@pytest.mark.parametrize("processes", [2, 7, ALL])
def test_every_task_is_run_once_and_no_process_is_left(
    monkeypatch: pytest.MonkeyPatch, processes: int
) -> None:
    assert sorted(ran(monkeypatch, processes, {})) == list(range(ALL))
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize("place", [0, 10, ALL - 1])
def test_a_killed_process_is_reported(monkeypatch: pytest.MonkeyPatch, place: int) -> None:
    with pytest.raises(NearfarError, match=r"was ended by SIGKILL; if memory .* fewer --jobs$"):
        ran(monkeypatch, 2, {place: signal.SIGKILL})
    assert multiprocessing.active_children() == []


def test_an_error_of_a_task_is_raised_in_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"^what is wrong$"):
        ran(monkeypatch, 3, {5: InputError("what is wrong")})
    assert multiprocessing.active_children() == []


def test_a_defect_is_reported_with_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    class AwkwardError(Exception):
        """It cannot be sent as it is."""

    with pytest.raises(RuntimeError, match=r"(?s)in run\n.*AwkwardError"):
        ran(monkeypatch, 3, {5: AwkwardError()})
    assert multiprocessing.active_children() == []


def test_a_process_that_is_killed_while_it_has_no_task_is_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs = some_runs(monkeypatch, 2, {})
    next(runs)
    for process in multiprocessing.active_children():
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
    with pytest.raises(NearfarError, match=r"was ended by SIGKILL"):
        list(runs)


def test_runs_without_a_waiting_caller_are_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = some_runs(monkeypatch, 3, {})
    next(runs)
    assert len(multiprocessing.active_children()) == 3
    runs.close()
    assert multiprocessing.active_children() == []


def test_ctrl_c_belongs_to_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    all_tasks = dict.fromkeys(range(ALL), signal.SIGINT)
    assert sorted(ran(monkeypatch, 2, cast("dict[int, object]", all_tasks))) == list(range(ALL))
