"""Runs many independent model runs on all processors; one machine is one process.

Each worker has a pipe of its own, and nothing else is shared, no lock and no thread: so one that is
killed is noticed, and no process waits for it for ever.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import replace
from multiprocessing.connection import Connection, wait
from statistics import fmean
from typing import NamedTuple

from nearfar.errors import NearfarError
from nearfar.measuring.core import Core
from nearfar.measuring.run import measure
from nearfar.model import Model, load
from nearfar.simulate.validation import quantities
from nearfar.simulate.validation.series import Job
from nearfar.simulate.walk import Played
from nearfar.workers import take_signals


class Task(NamedTuple):
    """A job, and what to read from its result: the samples of a run stay in its process."""

    job: Job
    quantities: tuple[str, ...]


class Finished(NamedTuple):
    """A task that has run; `place` is where it stood in the list that was given."""

    place: int
    values: dict[str, float]


def run_tasks(
    model: Model, tasks: Sequence[Task], *, processes: int | None = None, core: Core | None = None
) -> Iterator[Finished]:
    """Run every task on `model`; yields each as it finishes, in no particular order.

    Long jobs start first, so that none is left over at the end. A `core` given by the
    caller runs in this process.
    """
    longest_first = sorted(range(len(tasks)), key=lambda i: -tasks[i].job.cost)
    work = [(i, tasks[i]) for i in longest_first]
    processes = min(processes or os.cpu_count() or 1, len(work))
    if core is not None or processes <= 1:
        for place, task in work:
            yield _run(model, place, task, core)
        return
    with contextlib.closing(_Workers(model)) as workers:
        for item in work[:processes]:
            workers.start()
            workers.begin(item)
        for item in work[processes:]:
            yield workers.next_finished()
            workers.begin(item)
        for _ in range(processes):
            yield workers.next_finished()


class _Workers:
    """Processes that each run one task at a time. They leave Ctrl-C to this one, which keeps what
    has finished."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._processes: dict[Connection, multiprocessing.process.BaseProcess] = {}
        self._idle: list[Connection] = []

    def start(self) -> None:
        """Start one more."""
        # One that lives on must not keep the pipe of another open.
        ours, its = _fork.Pipe()
        others = [*self._processes, ours]
        process = _fork.Process(target=_work, args=(self._model, its, others), daemon=True)
        # Until it ignores Ctrl-C, which is for this process alone.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            process.start()
            self._processes[ours] = process
            self._idle.append(ours)
            its.close()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def close(self) -> None:
        """End all of them, whatever they do."""
        for process in self._processes.values():
            process.kill()
        for connection, process in self._processes.items():
            process.join()
            connection.close()

    def begin(self, item: tuple[int, Task]) -> None:
        """Give a task to a worker that has none."""
        worker = self._idle.pop()
        try:
            worker.send(item)
        except OSError:
            raise self._ended(worker) from None

    def next_finished(self) -> Finished:
        """Wait for one of the tasks."""
        ready = wait([one for one in self._processes if one not in self._idle])[0]
        assert isinstance(ready, Connection)
        try:
            answer: Finished | NearfarError | str = ready.recv()
        except (EOFError, OSError):
            raise self._ended(ready) from None
        if isinstance(answer, NearfarError):
            raise answer
        if isinstance(answer, str):
            raise RuntimeError(answer)
        self._idle.append(ready)
        return answer

    def _ended(self, worker: Connection) -> NearfarError:
        process = self._processes[worker]
        process.join()
        status = process.exitcode or 0
        how = f"was ended by {signal.Signals(-status).name}" if status < 0 else f"ended: {status}"
        hint = "; if memory is short, give fewer --jobs" if status == -signal.SIGKILL else ""
        return NearfarError(f"a process that ran the model {how}{hint}")


_fork = multiprocessing.get_context("fork")


def _work(model: Model, connection: Connection, others: Sequence[Connection]) -> None:
    take_signals()
    for other in others:
        other.close()
    with contextlib.suppress(EOFError, OSError):  # the process that gives tasks is gone
        while True:
            connection.send(_answer(model, *connection.recv()))


def _answer(model: Model, place: int, task: Task) -> Finished | NearfarError | str:
    """What a task finds; or what is wrong with its input; or where this program is."""
    try:
        return _run(model, place, task, None)
    except NearfarError as error:
        return error
    except Exception:
        return traceback.format_exc()


def _run(model: Model, place: int, task: Task, core: Core | None) -> Finished:
    base = load(task.job.machine) if task.job.machine else model
    machine = base.override(*(f"{key}={value}" for key, value in task.job.overrides))
    found = [_once(machine, task, seed, core) for seed in task.job.seeds]
    means = {name: fmean(values[name] for values in found) for name in task.quantities}
    return Finished(place, means)


def _once(machine: Model, task: Task, seed: int, core: Core | None) -> dict[str, float]:
    if isinstance(task.job.pattern, Played):
        return dict(task.job.pattern.at_seed(seed).quantities(machine, core))
    pattern = replace(task.job.pattern, seed=seed)
    result = measure(machine, pattern, core=core)
    return {name: quantities.read(result, name) for name in task.quantities}
