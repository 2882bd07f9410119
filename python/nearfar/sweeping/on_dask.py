"""Workers of a Dask scheduler that the user runs, on this machine or on a cluster.

The sweep's own process writes the store; workers get tasks whole, and send outcomes back.
"""

from __future__ import annotations

import itertools
import queue
import time
from collections import deque
from typing import Any

from nearfar.errors import InputError, NearfarError
from nearfar.sweeping.executor import MOST_DEATHS
from nearfar.sweeping.extras import extra
from nearfar.sweeping.points import Outcome, Task, WrongVersionError, perform

_ANSWERS_S = 10.0
_LOOKS_S = 1.0  # how often is looked whether the scheduler is still there
_QUEUED = 2  # tasks a thread of a worker


class DaskWorkers:
    """The workers that a scheduler has, more or fewer as time goes by."""

    def __init__(self, address: str) -> None:
        self._distributed = extra("distributed", "--on dask:", "nearfar[dask]")
        if "://" not in address:
            raise InputError(
                f"--on: found 'dask:{address}', expected an address such as dask:tcp://HOST:8786"
            )
        self._address = address
        try:
            self._client: Any = self._distributed.Client(
                address, timeout=_ANSWERS_S, set_as_default=False, name="nearfar"
            )
        except (OSError, TimeoutError, ValueError) as error:
            reason = str(error).splitlines()[0] if str(error) else "no answer"
            raise InputError(
                f"--on: no scheduler answers at {address} ({reason}); `dask scheduler` starts one"
            ) from None
        self._ended: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        self._tasks: dict[str, Task] = {}  # that have no outcome yet
        self._running: dict[str, Any] = {}  # futures by hash: dropping one cancels its task
        self._numbers = itertools.count(id(self))  # of keys: each a task of its own to Dask
        self._suspects: deque[Task] = deque()
        self._threads, self._counted = 0, -_LOOKS_S  # and when that was
        self._check_workers()

    def wanted(self) -> int:
        """Two a thread of a worker; one while there is no worker, which may yet come."""
        if time.monotonic() - self._counted >= _LOOKS_S:
            self._threads = self._count_threads()
            self._counted = time.monotonic()
        return max(_QUEUED * self._threads, 1)

    def submit(self, task: Task) -> None:
        """Send it to the scheduler."""
        self._tasks[task.hash] = task
        future = self._client.submit(
            perform, task, key=f"nearfar-{task.hash}-{next(self._numbers)}", pure=False
        )
        self._running[task.hash] = future
        future.add_done_callback(lambda done: self._ended.put((task.hash, done)))

    def next_outcome(self) -> Outcome:
        """Wait for one. A scheduler that goes away ends the sweep, not what is stored.

        Dask blames all tasks of a worker that ended. Those are run again, one at a time and with
        nothing beside them, before any of them counts as failed.
        """
        while True:
            alone = not self._running
            if alone:
                self.submit(self._suspects.popleft())
            name, future = self._next_ended()
            del self._running[name]
            outcome = self._outcome(future)
            if outcome is None and not alone:
                self._suspects.append(self._tasks[name])
                continue
            del self._tasks[name]
            return outcome or Outcome(name, f"{MOST_DEATHS} or more workers that ran it ended")

    def _next_ended(self) -> tuple[str, Any]:
        while True:
            try:
                return self._ended.get(timeout=_LOOKS_S)
            except queue.Empty:
                self._check_scheduler()

    def close(self) -> None:
        """Cancel what still runs, and leave the scheduler as it was."""
        for future in self._running.values():
            future.cancel()
        self._running = {}
        self._client.close(timeout=_ANSWERS_S)

    def _outcome(self, future: Any) -> Outcome | None:
        """None if its workers ended."""
        try:
            return self._result(future)
        except self._distributed.KilledWorker:
            return None
        except WrongVersionError as error:
            raise NearfarError(
                f"{self._address}: a worker {error}; install the same on both"
            ) from None
        except (self._distributed.CancelledError, self._distributed.comm.CommClosedError):
            raise self._gone() from None
        except NearfarError:
            raise
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
            raise NearfarError(f"{self._address}: a worker failed: {said}") from None

    def _result(self, future: Any) -> Outcome:
        """What it gave. A worker that ends with the only copy has it computed again."""
        while True:
            try:
                outcome: Outcome = future.result(timeout=_LOOKS_S)
            except TimeoutError:
                self._check_scheduler()
            else:
                return outcome

    def _check_workers(self) -> None:
        """Raise InputError if a worker lacks nearfar, or has another version of it."""
        from nearfar import __version__

        for worker, found in self._client.run(_version, on_error="return").items():
            if found != __version__:
                said = found if isinstance(found, str) else "none"
                self.close()
                raise InputError(
                    f"{self._address}: worker {worker} has nearfar {said}, expected {__version__}; "
                    "install the same on both"
                )

    def _count_threads(self) -> int:
        if self._client.status != "running":
            return 0
        try:
            return sum(self._client.nthreads().values())
        except (OSError, TimeoutError):
            raise self._gone() from None

    def _check_scheduler(self) -> None:
        if self._client.status != "running":
            raise self._gone()

    def _gone(self) -> NearfarError:
        return NearfarError(
            f"{self._address}: the scheduler went away; finished points are kept, and the same "
            "command goes on"
        )


def _version() -> str:
    from nearfar import __version__

    return __version__
