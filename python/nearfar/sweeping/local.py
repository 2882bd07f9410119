"""Processes of this machine, each with a pipe of its own, so that one that is killed is noticed."""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import signal
import traceback
from collections import deque
from dataclasses import fields
from multiprocessing.connection import Connection, wait

from nearfar.errors import InputError, NearfarError
from nearfar.model import Model
from nearfar.sweeping.executor import MOST_DEATHS
from nearfar.sweeping.points import Outcome, Task, WrongVersionError, perform
from nearfar.workers import take_signals

_QUEUED = 2  # tasks a worker: the next one is there when one ends
_END_WITH_PARENT = 1  # PR_SET_PDEATHSIG
_BESIDE_MODEL = [one.name for one in fields(Task) if one.name != "model"]
_fork = multiprocessing.get_context("fork")


class _Worker:
    """A process, its pipe, what it has been given, and the models that it knows."""

    def __init__(self, others: list[Connection]) -> None:
        self.pipe, its = _fork.Pipe()
        self.tasks: deque[Task] = deque()
        self._models: dict[int, Model] = {}  # kept, so that an id stays that of its model
        arguments = (its, [*others, self.pipe], os.getpid())
        self.process = _fork.Process(target=_serve, args=arguments, daemon=True)
        # Until it ignores Ctrl-C, which is for this process alone.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self.process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        its.close()

    def give(self, task: Task) -> None:
        """Send a task, and its model once: it is most of a task."""
        self.tasks.append(task)
        model = None if id(task.model) in self._models else task.model
        self._models[id(task.model)] = task.model
        rest = {name: getattr(task, name) for name in _BESIDE_MODEL}
        with contextlib.suppress(OSError):  # it has ended, which reading will tell
            self.pipe.send((id(task.model), model, rest))


class LocalProcesses:
    """So many processes, by default one for each processor that this one may use."""

    def __init__(self, jobs: int | None = None) -> None:
        if jobs is not None and jobs < 1:
            raise InputError(f"--jobs: found {jobs}, expected at least 1")
        self._count = jobs or len(os.sched_getaffinity(0))
        self._workers: list[_Worker] = []
        self._deaths: dict[str, int] = {}
        self._given_up: list[Outcome] = []

    def wanted(self) -> int:
        """Two each."""
        return _QUEUED * self._count

    def submit(self, task: Task) -> None:
        """Give it to the worker that has least to do, or to a new one."""
        idlest = min(self._workers, key=lambda one: len(one.tasks), default=None)
        if len(self._workers) < self._count and (idlest is None or idlest.tasks):
            idlest = _Worker([one.pipe for one in self._workers])
            self._workers.append(idlest)
        assert idlest is not None
        idlest.give(task)

    def next_outcome(self) -> Outcome:
        """Wait for one of the workers; what a worker that ended had goes to others."""
        while True:
            if self._given_up:
                return self._given_up.pop()
            pipes = {one.pipe: one for one in self._workers}
            ready = wait(list(pipes))[0]
            assert isinstance(ready, Connection)
            worker = pipes[ready]
            try:
                answer: Outcome | WrongVersionError | str = ready.recv()
            except (EOFError, OSError):
                self._bury(worker)
                continue
            if isinstance(answer, WrongVersionError):
                raise NearfarError(f"a worker {answer}")
            if isinstance(answer, str):
                raise RuntimeError(answer)
            worker.tasks.popleft()
            return answer

    def close(self) -> None:
        """End all of them, whatever they do."""
        for one in self._workers:
            one.process.kill()
        for one in self._workers:
            one.process.join()
            one.pipe.close()
        self._workers = []

    def _bury(self, worker: _Worker) -> None:
        """Give on what it had; the first of it was running, and may be what ended it."""
        self._workers.remove(worker)
        worker.pipe.close()
        worker.process.join()
        tasks = list(worker.tasks)
        if tasks:
            first = tasks[0]
            self._deaths[first.hash] = self._deaths.get(first.hash, 0) + 1
            if self._deaths[first.hash] >= MOST_DEATHS:
                how = _ending(worker.process.exitcode or 0)
                error = f"{MOST_DEATHS} processes that ran it {how}"
                self._given_up.append(Outcome(first.hash, error))
                tasks = tasks[1:]
        for task in tasks:
            self.submit(task)


def _ending(status: int) -> str:
    if status >= 0:
        return f"ended: {status}"
    hint = "; if memory is short, give fewer --jobs" if status == -signal.SIGKILL else ""
    return f"were ended by {signal.Signals(-status).name}{hint}"


def _serve(pipe: Connection, others: list[Connection], parent: int) -> None:
    """A worker's life: tasks in, outcomes out, until the pipe or the sweep ends."""
    take_signals()
    for other in others:
        other.close()
    # A sweep that is killed takes its workers with it, in the middle of a long point too.
    ctypes.CDLL(None).prctl(_END_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != parent:
        return
    _silence()
    models: dict[int, Model] = {}
    with contextlib.suppress(EOFError, OSError):
        while True:
            name, model, rest = pipe.recv()
            if model is not None:
                models[name] = model
            pipe.send(_answer(Task(model=models[name], **rest)))


def _answer(task: Task) -> Outcome | WrongVersionError | str:
    try:
        return perform(task)
    except WrongVersionError as error:
        return error
    except Exception:
        return traceback.format_exc()


def _silence() -> None:
    """Programs of points read nothing, and what they print is dropped."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    os.close(nothing)
