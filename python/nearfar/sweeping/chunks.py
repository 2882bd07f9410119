"""Tasks that travel together: points of a few milliseconds by the hundred, long ones alone."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from nearfar.sweeping.executor import MOST_DEATHS
from nearfar.sweeping.points import Outcome, Task
from nearfar.sweeping.spool import Part, Spool

_CHUNK_S = 2.0  # of work in a chunk
_MOST_IN_CHUNK = 200


class Chunks:
    """Tasks in chunks, in a spool, until each has an outcome. Raises OSError of the folder."""

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self._open: dict[str, deque[Task]] = {}  # by chunk: those without an outcome, in order
        self._buffer: list[Task] = []  # not in a chunk yet
        self._deaths: dict[str, int] = {}  # of workers, by the task that ran
        self._seconds, self._points = 0.0, 0  # that workers took, for so many points

    def __len__(self) -> int:
        """Chunks that wait or run."""
        return len(self._open)

    def size(self) -> int:
        """Points of a chunk, by what points took so far."""
        if self._points == 0:
            return 1
        each = max(self._seconds / self._points, _CHUNK_S / _MOST_IN_CHUNK)
        return max(1, int(_CHUNK_S / each))

    def add(self, task: Task) -> None:
        """Keep a task until a chunk is full."""
        self._buffer.append(task)
        if len(self._buffer) >= self.size():
            self.flush()

    def flush(self) -> None:
        """Lay out what was added, full or not."""
        if self._buffer:
            self._offer(self._buffer)
            self._buffer = []

    def collect(self) -> list[Outcome]:
        """New outcomes. Raises WrongVersionError where a worker refuses."""
        return [outcome for part in self._spool.collect() for outcome in self._new(part)]

    def taken_by(self, worker: str) -> list[str]:
        """The chunks that a worker has taken, and of which some tasks have no outcome."""
        return [name for name in self._spool.taken_by(worker) if name in self._open]

    def give_on(self, name: str) -> Task | None:
        """Offer a chunk of a worker that ended again. The first task was running: it goes alone,
        and is returned instead once it has ended too many."""
        first, *others = self._open[name]
        self._end(name)
        if others:
            self._offer(others)
        self._deaths[first.hash] = self._deaths.get(first.hash, 0) + 1
        if self._deaths[first.hash] >= MOST_DEATHS:
            return first
        self._offer([first])
        return None

    def _offer(self, tasks: Sequence[Task]) -> None:
        self._open[self._spool.offer(tasks)] = deque(tasks)

    def _new(self, part: Part) -> list[Outcome]:
        """Those of a part that come for the first time; others are of a chunk given on."""
        self._seconds += part.seconds
        self._points += len(part.outcomes)
        tasks = self._open.get(part.chunk, deque())
        found: list[Outcome] = []
        for outcome in part.outcomes:
            if tasks and tasks[0].hash == outcome.hash:
                tasks.popleft()
                found.append(outcome)
        if not tasks and part.chunk in self._open:
            self._end(part.chunk)
        return found

    def _end(self, name: str) -> None:
        del self._open[name]
        self._spool.forget(name)
