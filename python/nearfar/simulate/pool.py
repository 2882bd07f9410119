"""Runs many independent model runs on all processors; one machine is one process."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import fmean
from typing import NamedTuple

from nearfar.measure.core import Core
from nearfar.measure.run import measure
from nearfar.model import Model, load
from nearfar.simulate import quantities
from nearfar.simulate.series import Job
from nearfar.simulate.walk import Walk, play


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
    # Workers leave Ctrl-C to this process, which keeps what has finished.
    with multiprocessing.Pool(processes, _start_worker, (model,)) as pool:
        yield from pool.imap_unordered(_run_in_worker, work)


def _run(model: Model, place: int, task: Task, core: Core | None) -> Finished:
    base = load(task.job.machine) if task.job.machine else model
    machine = base.override(*(f"{key}={value}" for key, value in task.job.overrides))
    found = [_once(machine, task, seed, core) for seed in task.job.seeds]
    means = {name: fmean(values[name] for values in found) for name in task.quantities}
    return Finished(place, means)


def _once(machine: Model, task: Task, seed: int, core: Core | None) -> dict[str, float]:
    pattern = replace(task.job.pattern, seed=seed)
    if isinstance(pattern, Walk):
        return {quantities.WALK: fmean(play(machine, pattern, core))}
    result = measure(machine, pattern, core=core)
    return {name: quantities.read(result, name) for name in task.quantities}


_worker_model: Model | None = None


def _start_worker(model: Model) -> None:
    global _worker_model  # one a process: the model is sent once, not with every task
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _worker_model = model


def _run_in_worker(item: tuple[int, Task]) -> Finished:
    assert _worker_model is not None
    return _run(_worker_model, *item, None)
