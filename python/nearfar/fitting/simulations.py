"""Runs of models that a fit asks for: in parallel, counted, and each one only once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from nearfar.fitting.record import Record
from nearfar.model import Model
from nearfar.model.schema import KEYS
from nearfar.simulate.pool import Task, run_tasks
from nearfar.simulate.validation.series import HardwarePoint, Job

Progress = Callable[[int, int], None]  # simulations done, and about how many there will be
Settings = Mapping[str, int]  # keys to values in base units


class BudgetSpentError(Exception):
    """So many simulations as the budget allows have been made."""


@dataclass
class Simulations:
    """Runs points on variants of `model`. `budget` counts runs, those of the record included."""

    model: Model
    budget: int
    record: Record = field(default_factory=Record)
    processes: int | None = None
    progress: Progress | None = None
    made: int = 0
    expected: int = 0  # until the end, about
    _asked: set[str] = field(default_factory=set)
    _keys: dict[tuple[Job, frozenset[str]], str] = field(default_factory=dict)

    def expect(self, runs: int) -> None:
        """So many runs are likely: what progress is shown against."""
        self.expected = min(runs, self.budget)

    def run(self, asked: Sequence[tuple[Settings, Sequence[HardwarePoint]]]) -> list[list[float]]:
        """For each variant the simulated values of its points. Raises BudgetSpentError."""
        wanted: dict[Job, set[str]] = {}
        for variant, points in asked:
            for point in points:
                for job in point.jobs:
                    wanted.setdefault(self._on(job, variant), set()).add(point.quantity)
        values = self._values(wanted)
        found = []
        for variant, points in asked:
            moved = [_moved(point, partial(self._on, variant=variant)) for point in points]
            found.append([point.simulated(values) or 0.0 for point in moved])
        return found

    def _on(self, job: Job, variant: Settings) -> Job:
        """The job on a variant; what the measurement itself overrides stays."""
        if job.machine or not variant:
            return job
        own = {key for key, _ in job.overrides}
        texts = ((key, KEYS[key].format(value)) for key, value in variant.items())
        added = tuple((key, text) for key, text in texts if key not in own)
        return replace(job, overrides=(*job.overrides, *added))

    def _values(self, wanted: Mapping[Job, set[str]]) -> dict[tuple[Job, str], float]:
        keys = {job: self._key(job, frozenset(names)) for job, names in wanted.items()}
        fresh = {key for key in keys.values() if key not in self._asked}
        if self.made + len(fresh) > self.budget:
            raise BudgetSpentError
        self._asked |= fresh
        self.made += len(fresh)
        missing = [job for job in wanted if self.record.get(keys[job]) is None]
        tasks = [Task(job, tuple(sorted(wanted[job]))) for job in missing]
        done = self.made - len(missing)
        for place, found in run_tasks(self.model, tasks, processes=self.processes):
            self.record.put(keys[missing[place]], found)
            done += 1
            if self.progress is not None:
                self.progress(done, max(done, self.expected))
        return {
            (job, name): value
            for job, key in keys.items()
            for name, value in (self.record.get(key) or {}).items()
        }

    def _key(self, job: Job, names: frozenset[str]) -> str:
        known = self._keys.get((job, names))
        if known is None:
            text = f"{self.model.hash()} {job!r} {sorted(names)}"
            known = self._keys[job, names] = hashlib.sha256(text.encode()).hexdigest()[:32]
        return known


def _moved(point: HardwarePoint, on: Callable[[Job], Job]) -> HardwarePoint:
    """The point with its runs on a variant."""
    return replace(
        point,
        job=on(point.job),
        relative_to=None if point.relative_to is None else on(point.relative_to),
        between=None if point.between is None else (on(point.between[0]), on(point.between[1])),
    )
