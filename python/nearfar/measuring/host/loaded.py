"""The points of bandwidth-latency curves on a real machine.

How fast memory is without a pause says which pauses make the other rates, so the first of a
curve's points to be measured measures that, once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nearfar.errors import InputError
from nearfar.measuring import machine
from nearfar.measuring.core import filled
from nearfar.measuring.host.points import Repetition, loaded_point, loaded_repetition
from nearfar.measuring.host.setting import Cpus, Setting
from nearfar.measuring.loaded import Loaded

if TYPE_CHECKING:
    from nearfar.measuring.host.core import HostCore, HostMemory

_READER_LINES = 20_000
_TRIALS = 3  # of the rate without a pause; their median counts


def curves(pattern: Loaded, core: HostCore) -> list[Setting]:
    """One setting for each share of reads and rate: unpaced, paced from fast to slow, idle."""
    usable = len(machine.processors())
    if usable < 2:
        raise InputError(
            "loaded: found one processor, expected two: one reads, the others load the memory"
        )
    threads = pattern.threads or usable - 1
    found = []
    for percent in pattern.reads:
        curve = _Curve(pattern, core, percent, threads)
        found += [curve.setting(rank) for rank in range(pattern.points)]
    return found


@dataclass
class _Curve:
    """One share of reads; `pauses_ns` of its rates by rank once they are known."""

    pattern: Loaded
    core: HostCore
    percent: int
    threads: int  # generators
    pauses_ns: tuple[float | None, ...] = ()

    def setting(self, rank: int) -> Setting:
        def play(memory: HostMemory, cpus: Cpus) -> Repetition:
            if not self.pauses_ns:
                found = [self._play(memory, cpus, 0.0) for _ in range(_TRIALS)]
                self.pauses_ns = (0.0, *self._paced(found), None)
            return self._play(memory, cpus, self.pauses_ns[rank])

        threads = 1 + self.threads
        return Setting(
            what=f"area: {self.pattern.area} B for each of {threads} threads",
            footprint=self.pattern.footprint(self.threads),
            threads=threads,
            play=play,
            finish=lambda repetitions: loaded_point(self.pattern, self.percent, repetitions),
        )

    def _paced(self, unpaced: Sequence[Repetition]) -> list[float]:
        peak = loaded_point(self.pattern, self.percent, unpaced).total_gb_per_s or 0.0
        return self.pattern.pauses_ns(peak, self.percent, self.threads)

    def _play(self, memory: HostMemory, cpus: Cpus, pause_ns: float | None) -> Repetition:
        stores, accesses = self.pattern.mix(self.percent)
        request = filled(
            self.core.LoadedRequest,
            self.pattern,
            stores=stores,
            accesses=accesses,
            pause_ns=pause_ns or 0.0,
            reads=self.pattern.lines or _READER_LINES,
            cpus=list(cpus[:1] if pause_ns is None else cpus),
        )
        return loaded_repetition(memory.loaded(request), pause_ns)
