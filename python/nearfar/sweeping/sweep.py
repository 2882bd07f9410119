"""Sweeps: every point of a study that the store does not have yet is computed, and kept."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from nearfar.errors import InputError, Interrupted
from nearfar.sweeping.executor import Executor, make_executor
from nearfar.sweeping.points import Expander, ParseWork, Task
from nearfar.sweeping.store import Store
from nearfar.sweeping.study import Study

Progress = Callable[[int, int], None]
LOCAL = "local"
_OTHERS_S = 0.05  # how often is looked whether another sweep has finished a point


@dataclass
class Tally:
    """Points of a sweep: how many there are, were computed by it, were there, and have failed."""

    total: int = 0
    computed: int = 0
    found: int = 0
    failed: int = 0
    first_error: str = ""


@dataclass(frozen=True)
class SweepOptions:
    """How a study is swept: `on` local, dask:ADDRESS or slurm:partition=NAME; `jobs` processes of
    local, workers of slurm. `replace` a study of this name, `retry` points that have failed,
    compute `again` what is there."""

    on: str = LOCAL
    jobs: int | None = None
    replace: bool = False
    retry: bool = False
    again: bool = False


_DEFAULTS = SweepOptions()


def sweep(
    study: Study,
    store: str | Path,
    parse_work: ParseWork,
    options: SweepOptions = _DEFAULTS,
    progress: Progress | None = None,
) -> Tally:
    """Compute the points of a study, and keep each in the store as it ends.

    All points are checked before the first runs. Raises InputError, for a point too; NearfarError
    when nothing can run or be kept any more; Interrupted with the tally on Ctrl-C. What is in the
    store by then stays, and the same call goes on from there.
    """
    expander = Expander(study, parse_work)
    if study.goal is None:
        points, tasks = expander.expand(study.cells())
        if not points:
            raise InputError(f"{study.name}: found no points")
    else:
        points, tasks = [], {}
        from nearfar.sweeping import minimise  # optuna, which is an extra

        minimise.check(study, expander)
    executor = make_executor(options.on, options.jobs)
    tally = Tally()
    try:
        with Store(store, new=True) as opened:
            opened.enter_study(study, points, replace=options.replace)
            run = _Run(opened, executor, options, tally, progress)
            if study.goal is None:
                run.compute(tasks, len(tasks))
            else:
                minimise.minimise(study, expander, opened, run.compute)
    except KeyboardInterrupt:
        raise Interrupted(tally) from None
    finally:
        executor.close()
    return tally


class _Run:
    """Computes tasks of one sweep, and counts."""

    def __init__(
        self,
        store: Store,
        executor: Executor,
        options: SweepOptions,
        tally: Tally,
        progress: Progress | None,
    ) -> None:
        self.tally = tally
        self._store = store
        self._executor = executor
        self._options = options
        self._progress = progress

    def compute(self, tasks: dict[str, Task], total: int) -> None:
        """Have every task computed, by this sweep or by another that shares the store."""
        self.tally.total = total
        self._skip_known(tasks)
        waiting = deque(tasks.values())
        running: dict[str, Task] = {}
        elsewhere: dict[str, Task] = {}
        while waiting or running or elsewhere:
            self._fill(waiting, running, elsewhere)
            if running:
                outcome = self._executor.next_outcome()
                self._store.commit(outcome)
                del running[outcome.hash]
                self.tally.computed += 1
                self._note(outcome.error)
            elif elsewhere:
                self._look_elsewhere(waiting, elsewhere)

    def _skip_known(self, tasks: dict[str, Task]) -> None:
        known = self._store.find(tasks)
        if self._options.again:
            drop = set(known)
        elif self._options.retry:
            drop = {name for name, one in known.items() if one.error}
        else:
            drop = set()
        # Rows whose result file is gone, too: their points are computed again.
        self._store.forget(drop | (self._store.rows_of(tasks) - set(known)))
        for name, one in known.items():
            if name not in drop:
                del tasks[name]
                self.tally.found += 1
                self._note(one.error)

    def _fill(
        self, waiting: deque[Task], running: dict[str, Task], elsewhere: dict[str, Task]
    ) -> None:
        """Claim tasks and give them out, until every worker has enough to do."""
        while waiting and len(running) < self._executor.wanted():
            task = waiting.popleft()
            if self._store.claim(task.hash):
                running[task.hash] = task
                self._executor.submit(task)
            else:
                elsewhere[task.hash] = task

    def _look_elsewhere(self, waiting: deque[Task], elsewhere: dict[str, Task]) -> None:
        """Take from the store what others have finished, and from them what they have left."""
        for name, one in self._store.find(elsewhere).items():
            del elsewhere[name]
            self.tally.found += 1
            self._note(one.error)
        abandoned = self._store.abandoned(elsewhere)
        for name in abandoned:
            waiting.append(elsewhere.pop(name))
        if elsewhere and not abandoned:
            time.sleep(_OTHERS_S)

    def _note(self, error: str) -> None:
        if error:
            self.tally.failed += 1
            self.tally.first_error = self.tally.first_error or error
        if self._progress is not None:
            self._progress(self.tally.found + self.tally.computed, self.tally.total)
