"""Loops that show what this processor's core can do, on memory far beyond its caches."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from nearfar.errors import InputError
from nearfar.inference.core import KIND, PROBER, findings, typical
from nearfar.measuring import machine
from nearfar.measuring.chunks import low_quantile
from nearfar.measuring.host.core import HostCore, load_host_core, map_memory
from nearfar.measuring.host.target import Host
from nearfar.model import Model
from nearfar.probing.probers import SEED, Asked
from nearfar.results import Observation

if TYPE_CHECKING:
    from nearfar.measuring.host.core import HostMemory

__all__ = ["PROBER", "findings", "play"]

_AREA = 256 << 20
_LEAST_AREA = 64 << 20
_HUGE = "2MiB"
_QUICK, _FULL = 5, 15  # repetitions
_CHUNKS = 16

_PLAIN = (
    *("add_chain", "adds", "multiply_chain", "multiplies", "loads"),
    *("steady_branches", "random_branches"),
)
_CHAINS = (1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 28, 32, 40, 48)
# Instructions between two misses: a coarse search, then every eighth where the time steps.
_MOST = {"nops": 640, "stores": 256}
_COARSE = {"nops": 64, "stores": 32}
_FINE = 8


def play(asked: Asked) -> tuple[list[Observation], bool]:
    """All loops on this machine, and whether Ctrl-C ended them early."""
    assert not isinstance(asked.target, Model)
    loops = _Loops(load_host_core(), asked.target, _QUICK if asked.quick else _FULL, asked.progress)
    try:
        loops.play()
    except KeyboardInterrupt:
        return loops.observations, True
    return loops.observations, False


class _Loops:
    """The loops played so far, on one memory whose chains are laid once."""

    def __init__(
        self, core: HostCore, host: Host, repetitions: int, progress: Callable[[float], None]
    ) -> None:
        self._core = core
        self._repetitions = repetitions
        self._progress = progress
        self._cpu = machine.processors()[0]
        self._memory = _memory(core, host)
        self._linked = False
        self._times: dict[tuple[str, int], Observation] = {}

    @property
    def observations(self) -> list[Observation]:
        return list(self._times.values())

    def play(self) -> None:
        for name in (*_PLAIN, "lines"):
            self._loop(name, 0)
        self._progress(0.2)
        for at, name in enumerate(_MOST):
            self._search(name)
            self._progress(0.4 + 0.2 * at)
        for count in _CHAINS:
            self._loop("chains", count)
        self._progress(1.0)

    def _search(self, name: str) -> None:
        step = _COARSE[name]
        seen = {count: self._loop(name, count) for count in range(0, _MOST[name] + 1, step)}
        middle = (min(seen.values()) + statistics.median(list(seen.values())[-3:])) / 2
        slow = [count for count, ns in seen.items() if ns > middle]
        if not slow or slow[0] == 0:
            return
        for count in range(slow[0] - step + _FINE, slow[0], _FINE):
            self._loop(name, count)

    def _loop(self, name: str, count: int) -> float:
        """The lower quartile of the repetitions, in ns a round."""
        samples, rounds = [], 0
        for repetition in range(self._repetitions):
            data = self._memory.core_loop(
                self._core.CoreLoopRequest(
                    name=name,
                    count=count,
                    linked=self._linked,
                    chunks=_CHUNKS,
                    seed=SEED + 1000 * count + repetition,
                    cpu=self._cpu,
                )
            )
            self._linked = self._linked or name in (*_MOST, "chains")
            times = [ns / lines for ns, lines in zip(data["ns"], data["lines"], strict=True)]
            samples.append(round(low_quantile(times), 5))
            rounds += sum(data["lines"])
        self._times[name, count] = _observation(len(self._times) + 1, name, count, rounds, samples)
        return typical(samples)


def _observation(
    number: int, name: str, count: int, rounds: int, samples: Sequence[float]
) -> Observation:
    return Observation(
        id=f"{PROBER}.{number}",
        prober=PROBER,
        pattern={"kind": KIND, "name": name, "count": count},
        accesses=rounds,
        samples=tuple(samples),
        ns_per_access=statistics.median(samples),
        interval=(min(samples), max(samples)),
    )


def _memory(core: HostCore, host: Host) -> HostMemory:
    """Far more than the caches, on huge pages where the machine gives them."""
    area = (
        max(_LEAST_AREA, min(_AREA, machine.free_memory(host.node) // 4)) // (2 << 20) * (2 << 20)
    )
    if host.file is None:
        try:
            return core.HostMemory(
                area,
                pages=_HUGE,
                node=-1 if host.node is None else host.node,
                path="",
                destructive=False,
            )
        except InputError:
            pass  # on the pages that the target names
    return map_memory(core, host, area)
