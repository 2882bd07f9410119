"""A simulated memory that a script drives itself, request by request or by arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearfar import _core
from nearfar.errors import InputError
from nearfar.measuring.target import resolve
from nearfar.model import Model

NEVER = 2**64 - 1

# As the core keeps them.
_COMPLETION = np.dtype(
    {
        "names": ["time_ps", "id", "address", "kind", "data"],
        "formats": ["<u8", "<u8", "<u8", "u1", "<u8"],
        "offsets": [0, 8, 16, 24, 32],
        "itemsize": 40,
    }
)
_NO_TIMES = np.empty(0, np.uint64)


class Machine:
    """The memory of `target`, "model:NAME[,KEY=VALUE]..." or a Model, at time 0.

    Times are whole picoseconds and never decrease. Requests are lines of 64 bytes. Every method
    raises InputError for what cannot be: an address beyond the capacity, a time before `now_ps`, a
    port that sends before it is woken. A request that fails is not sent.
    """

    DONE, MEDIA, WAKE = range(3)  # the kinds of completions

    def __init__(self, target: str | Model) -> None:
        self.model = resolve(target)
        self._memory = _core.Memory(self.model.export())
        self._next_id = 0

    def send(
        self,
        address: ArrayLike,
        *,
        write: ArrayLike = False,
        time_ps: ArrayLike | None = None,
        id: ArrayLike | None = None,
        port: int = 0,
    ) -> int:
        """Send one request or, by arrays, several in turn; return how many were accepted.

        What is one number goes for all. `time_ps` None: now. `id` None: numbers from 0 on, one for
        each request that was accepted. When fewer were accepted than given, the next one was
        refused: offer it again after a completion of kind WAKE whose id is `port`.
        """
        addresses = _column("address", address)
        count = len(addresses)
        ids = np.arange(self._next_id, self._next_id + count, dtype=np.uint64)
        sent = self._memory.send(
            ids if id is None else _column("id", id, count),
            addresses,
            _writes(write, count),
            _column("time_ps", self.now_ps if time_ps is None else time_ps, count),
            port,
        )
        self._next_id += sent
        return sent

    def advance(self, until_ps: int | None = None) -> int:
        """Play up to `until_ps`, or up to the next completion or wake; return the new time.

        Without a limit and with nothing to come, no time passes.
        """
        if until_ps is None:
            self._memory.advance_to_completion()
        else:
            self._memory.advance(int(_column("until_ps", until_ps)[0]))
        return self.now_ps

    def completions(self) -> NDArray[Any]:
        """Take the completions and wakes that have come, in time order.

        An array with the fields time_ps, id, address, kind and data.
        """
        return np.frombuffer(self._memory.completions(), _COMPLETION)

    def play(
        self,
        address: ArrayLike,
        *,
        write: ArrayLike = False,
        time_ps: ArrayLike | None = None,
        outstanding: int = 0,
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """Send a whole stream in order and wait for it; one refused holds up those behind it.

        Returns when each request was accepted and when it was done, in ps. `time_ps`: before which
        none enters; None: as soon as it can. `outstanding`: requests in flight at most; 0: what the
        memory takes.
        """
        addresses = _column("address", address)
        count = len(addresses)
        times = _NO_TIMES if time_ps is None else _column("time_ps", time_ps, count)
        limit = int(_column("outstanding", outstanding)[0])
        accepted, done = self._memory.play(addresses, _writes(write, count), times, limit)
        return np.frombuffer(accepted, np.uint64), np.frombuffer(done, np.uint64)

    @property
    def now_ps(self) -> int:
        """The time reached."""
        return self._memory.now()

    @property
    def next_event_ps(self) -> int | None:
        """A lower bound of when something can come; None when nothing will without a request."""
        found = self._memory.next_event()
        return None if found == NEVER else found

    @property
    def capacity_bytes(self) -> int:
        """Addresses are below this."""
        return self._memory.capacity()

    @property
    def unfinished(self) -> int:
        """Requests accepted and not completed."""
        return self._memory.unfinished()

    def save(self) -> bytes:
        """Everything that the memory holds, counts and has under way."""
        return self._memory.save()

    def restore(self, saved: bytes) -> None:
        """Go on, bit for bit, as the machine that was saved; it was of the same model.

        Numbers of requests that `send` gives by itself go on from this machine's. Raises
        InputError, and changes nothing, for what no machine of this model and version saved.
        """
        self._memory.restore(saved)

    def counters(self) -> dict[str, int]:
        """Every statistic of the memory, up to now."""
        return self._memory.counters()


def _column(name: str, value: ArrayLike, count: int | None = None) -> NDArray[np.uint64]:
    """`value` as numbers from 0 on, repeated if it is one and `count` are wanted."""
    given = np.atleast_1d(np.asarray(value))
    if given.size == 0:
        given = given.astype(np.uint64)
    if given.ndim != 1 or given.dtype.kind not in "ui":
        raise InputError(f"{name}: found {given.dtype} in {given.ndim} dimensions, expected "
                         "one whole number or a list of them")  # fmt: skip
    if given.dtype.kind == "i" and given.size and given.min() < 0:
        raise InputError(f"{name}: found {given.min()}, expected at least 0")
    return _repeated(name, np.ascontiguousarray(given, np.uint64), count)


def _writes(value: ArrayLike, count: int) -> NDArray[np.uint8]:
    given = np.atleast_1d(np.asarray(value))
    if given.ndim != 1 or (given.dtype != np.bool_ and given.size):
        raise InputError(f"write: found {given.dtype}, expected True, False or a list of them")
    return _repeated("write", given.astype(np.uint8), count)


def _repeated(name: str, column: NDArray[Any], count: int | None) -> NDArray[Any]:
    if count is None or len(column) == count:
        return column
    if len(column) != 1:
        raise InputError(f"{name}: found {len(column)} values, expected 1 or {count}")
    return np.repeat(column, count)
