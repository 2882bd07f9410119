"""What runs the tasks of a sweep: processes of this machine, or workers of a scheduler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from nearfar.errors import InputError, suggestion
from nearfar.sweeping.points import Outcome, Task


class Executor(Protocol):
    """Runs tasks somewhere. Used by one thread.

    Each task that was submitted is answered once by `next_outcome`, in any order; that of a worker
    that ended is run again by another. What a task does to its worker more than twice fails it.
    """

    def wanted(self) -> int:
        """How many tasks keep every worker busy."""

    def submit(self, task: Task) -> None:
        """Give a task. Raises NearfarError when no worker is left to run it."""

    def next_outcome(self) -> Outcome:
        """Wait for one. Raises NearfarError when no worker is left, or one is of another
        version."""

    def close(self) -> None:
        """End or forget what still runs."""


MOST_DEATHS = 3  # of workers by one task


def _local(rest: str, jobs: int | None) -> Executor:
    from nearfar.sweeping.local import LocalProcesses

    if rest:
        raise InputError(f"--on: found 'local:{rest}', expected local; --jobs N sets how many")
    return LocalProcesses(jobs)


def _dask(rest: str, jobs: int | None) -> Executor:
    from nearfar.sweeping.on_dask import DaskWorkers

    if jobs is not None:
        raise InputError("--jobs: found with --on dask, whose scheduler knows its workers")
    return DaskWorkers(rest)


def _slurm(rest: str, jobs: int | None) -> Executor:
    from nearfar.sweeping.on_slurm import SlurmWorkers

    return SlurmWorkers(rest, jobs)


_KINDS: dict[str, Callable[[str, int | None], Executor]] = {
    "local": _local,
    "dask": _dask,
    "slurm": _slurm,
}


def make_executor(on: str, jobs: int | None = None) -> Executor:
    """`local`, `dask:ADDRESS` or `slurm:partition=NAME`. Raises InputError, also if its scheduler
    does not answer."""
    kind, _, rest = on.partition(":")
    if kind not in _KINDS:
        hint = suggestion(kind, _KINDS)
        raise InputError(
            f"--on: found '{on}', expected local, dask:ADDRESS or slurm:partition=NAME{hint}"
        )
    return _KINDS[kind](rest, jobs)
