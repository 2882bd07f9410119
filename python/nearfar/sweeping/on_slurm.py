"""Workers that Slurm runs: tasks of job arrays, which pull chunks of points from a folder.

Tasks are workers and not points, so that the size of an array does not limit a study.
"""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from nearfar.errors import InputError, NearfarError
from nearfar.sweeping.chunks import Chunks
from nearfar.sweeping.executor import MOST_DEATHS
from nearfar.sweeping.points import Outcome, Task, WrongVersionError
from nearfar.sweeping.slurm_jobs import SlurmError, SlurmJobs, parse_options
from nearfar.sweeping.spool import Spool, serve_array_task

_QUEUED = 2  # chunks a worker: the next one is there when one ends
_MOST_WORKERS = 64  # that are asked for unless the user says how many
_POLL_S = 0.1  # between two looks into the folder
_LOOKS_S = 10.0  # between two questions to the controller, which serves a whole cluster
_BEATS_S = 5.0  # between two signs to the workers
_PATIENCE_S = 120.0  # of workers with a sweep, and of the sweep with a controller


class SlurmWorkers:
    """So many tasks of arrays, replaced when they end before the sweep does."""

    def __init__(self, text: str, jobs: int | None = None) -> None:
        if jobs is not None and jobs < 1:
            raise InputError(f"--jobs: found {jobs}, expected at least 1")
        options = parse_options(text)
        self._jobs = SlurmJobs(options)
        self._count = jobs or min(max(self._jobs.idle_processors(), 1), _MOST_WORKERS)
        parent = options.get("folder", ".")
        try:
            self._spool = Spool(Path(parent))
        except OSError as error:
            raise InputError(f"--on slurm:folder: {parent}: {error.strerror}") from None
        self._chunks = Chunks(self._spool)
        self._workers: set[str] = set()
        self._ready: deque[Outcome] = deque()
        self._idle_deaths = 0  # of workers that had no chunk, since the last outcome
        self._looked = self._heard = self._beat = time.monotonic()

    def wanted(self) -> int:
        """Two chunks a worker."""
        return _QUEUED * self._count * self._chunks.size()

    def submit(self, task: Task) -> None:
        """Keep it until a chunk is full, or there is nothing else to do."""
        with _said():
            self._chunks.add(task)

    def next_outcome(self) -> Outcome:
        """Wait for one. What a worker that ended had goes to others."""
        while not self._ready:
            with _said():
                self._chunks.flush()
                self._show_life()
                self._collect()
                self._look_after()
                self._start()
            if not self._ready:
                time.sleep(_POLL_S)
        return self._ready.popleft()

    def close(self) -> None:
        """Cancel the jobs, and remove the folder."""
        self._jobs.cancel()
        self._spool.close()

    def _show_life(self) -> None:
        """Workers of a sweep that gives no sign end."""
        if time.monotonic() - self._beat >= _BEATS_S:
            self._beat = time.monotonic()
            self._spool.beat()

    def _collect(self) -> None:
        found = self._chunks.collect()
        self._ready.extend(found)
        if found:
            self._idle_deaths = 0
            self._heard = time.monotonic()

    def _start(self) -> None:
        """Ask for the workers that lack."""
        lacking = min(self._count, len(self._chunks)) - len(self._workers)
        if lacking > 0:
            from nearfar import __version__

            arguments = (str(self._spool.folder), __version__, _PATIENCE_S)
            self._workers |= self._jobs.submit(
                self._spool.folder, lacking, serve_array_task, arguments
            )

    def _look_after(self) -> None:
        """Ask the controller which workers have ended, now and then."""
        if not self._workers or time.monotonic() - self._looked < _LOOKS_S:
            return
        self._looked = time.monotonic()
        try:
            living = self._jobs.living()
        except SlurmError:
            # Workers go on while a controller is started anew: only a long silence of both counts.
            if time.monotonic() - self._heard >= _PATIENCE_S:
                raise
            return
        self._heard = time.monotonic()
        ended = sorted(self._workers - living)
        self._workers &= living
        if ended:
            self._collect()  # what they gave before their end
        for name in ended:
            self._bury(name)
        if not self._workers and self._idle_deaths >= max(MOST_DEATHS, self._count):
            fate = self._jobs.fate(ended[-1], self._spool.folder)
            raise SlurmError(f"workers end before they compute anything, the last: {fate}")

    def _bury(self, name: str) -> None:
        """Give on what it had."""
        taken = self._chunks.taken_by(name)
        if not taken:
            self._idle_deaths += 1
        for chunk in taken:
            task = self._chunks.give_on(chunk)
            if task is not None:
                fate = self._jobs.fate(name, self._spool.folder)
                error = f"{MOST_DEATHS} workers that ran it ended, the last: {fate}"
                self._ready.append(Outcome(task.hash, error))


@contextlib.contextmanager
def _said() -> Iterator[None]:
    """What ends a sweep, as one line."""
    try:
        yield
    except WrongVersionError as error:
        raise InputError(f"slurm: a worker {error}; install the same on both") from None
    except SlurmError as error:
        raise NearfarError(f"slurm: {error}; {_KEPT}") from None
    except OSError as error:
        raise NearfarError(f"{error.filename}: {error.strerror or error}; {_KEPT}") from None


_KEPT = "finished points are kept, and the same command goes on"
