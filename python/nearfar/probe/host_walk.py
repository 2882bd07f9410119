"""Walks chains of dependent loads through this machine's memory and records what they took."""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from nearfar.errors import InputError
from nearfar.infer.caches_orders import HUGE, LINE, extent, offsets
from nearfar.infer.caches_plan import Experiment, Stage
from nearfar.infer.noise import median_interval
from nearfar.measure import machine
from nearfar.measure.chunks import low_quantile
from nearfar.measure.host import Host
from nearfar.measure.host_core import HostCore, load_host_core, map_memory
from nearfar.results import Observation

if TYPE_CHECKING:
    from nearfar.measure.host_core import HostMemory, WalkTimings

CHUNKS = 24
# The kernel hands pages that were given back out again at once: with some of them kept, the
# repetitions of a walk lie on others.
_KEPT, _KEPT_BYTES = 7, 8 << 20
_LEAST = 3  # repetitions, however late it is
_DECIMALS = 4  # of a ns that are kept

# Told of every finished walk: walks done, walks in all of the batch.
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Walked:
    """One repetition: ns a load, and what happened meanwhile."""

    ns: float
    loads: int
    switches: int = 0  # involuntary
    stolen_ns: float = 0.0


class Walker(Protocol):
    """Memory that is fresh at every walk. Raises InputError where such pages are not to be had."""

    @property
    def memory_bytes(self) -> int: ...

    def walk(
        self,
        chain: Sequence[int],
        size: int,
        pages: str,
        chunk_ns: float,
        changes: bool = False,
    ) -> Walked: ...


class HostWalker:
    """This machine: anonymous memory, of a NUMA node if the host names one; or its file."""

    def __init__(self, host: Host | None = None, core: HostCore | None = None) -> None:
        self._host = host or Host()
        self._core = core or load_host_core()
        self._cpu = machine.processors()[0]
        self._kept: deque[HostMemory] = deque(maxlen=_KEPT)

    @property
    def memory_bytes(self) -> int:
        return machine.free_memory(self._host.node) // 2

    def walk(
        self,
        chain: Sequence[int],
        size: int,
        pages: str,
        chunk_ns: float,
        changes: bool = False,
    ) -> Walked:
        # Whole huge pages even on small ones, so that both lie alike in virtual memory.
        memory = self._core.HostMemory(
            -(-size // HUGE) * HUGE,
            pages=pages,
            node=-1 if self._host.node is None else self._host.node,
            path=self._host.file or "",
            destructive=self._host.may_destroy(),
        )
        if memory.size() <= _KEPT_BYTES and self._host.file is None:
            self._kept.append(memory)
        return _walked(
            memory.walk(
                chain,
                changes=changes,
                chunks=CHUNKS,
                chunk_ns=chunk_ns,
                warm_passes=2,
                cpu=self._cpu,
            )
        )

    def drop(self, lines: int, changes: bool) -> Walked:
        """So many lines, loaded or also changed before, thrown out of the caches: ns a line."""
        memory = map_memory(self._core, self._host, lines * LINE)
        return _walked(memory.drop(lines=lines, changes=changes, chunks=CHUNKS, cpu=self._cpu))


def _walked(data: WalkTimings) -> Walked:
    times = [ns / loads for ns, loads in zip(data["ns"], data["lines"], strict=True)]
    return Walked(
        low_quantile(times), sum(data["lines"]), int(data["nivcsw"]), float(data["steal_ns"])
    )


@dataclass
class Session:
    """Batches of experiments on one walker, and their observations.

    A deadline bounds the repetitions: each experiment has `repetitions` of them if there is
    time, and at least three.
    """

    walker: Walker
    seed: int = 1
    observations: list[Observation] = field(default_factory=list)
    progress: Progress | None = None
    interrupted: bool = False

    def conduct(
        self, stages: Sequence[Stage], quick: bool, repetitions: int, seconds: float
    ) -> None:
        """Plays the stages one after the other, each in its share of the time."""
        deadline = time.monotonic() + seconds
        for left, stage in zip(range(len(stages), 0, -1), stages, strict=True):
            if self.interrupted:
                return
            share = (deadline - time.monotonic()) / left
            batch = stage(tuple(self.observations), quick)
            self._measure(batch, repetitions, time.monotonic() + share)

    def _measure(self, batch: Sequence[Experiment], repetitions: int, deadline: float) -> None:
        walks: list[list[Walked]] = [[] for _ in batch]
        refusals: dict[int, str] = {}
        order = random.Random(f"{self.seed} {len(self.observations)}")
        try:
            for repetition in range(repetitions):
                if repetition >= _LEAST and time.monotonic() > deadline:
                    break
                turn = [
                    i
                    for i, experiment in enumerate(batch)
                    if i not in refusals and repetition < (experiment.enough or repetitions)
                ]
                if not turn:
                    break
                order.shuffle(turn)
                for done, i in enumerate(turn):
                    try:
                        walks[i].append(self._walk(batch[i], repetition))
                    except InputError as refusal:
                        refusals[i] = str(refusal)
                    if self.progress is not None:
                        self.progress(repetition * len(batch) + done + 1, repetitions * len(batch))
        except KeyboardInterrupt:
            self.interrupted = True
        for i, experiment in enumerate(batch):
            self._record(experiment, walks[i], refusals.get(i))

    def _walk(self, experiment: Experiment, repetition: int) -> Walked:
        size = extent(experiment.order)
        if size > self.walker.memory_bytes:
            raise InputError(f"{size} B are more than half of the free memory")
        chain = offsets(experiment.order, self.seed + repetition).tolist()
        return self.walker.walk(
            chain, size, experiment.pages, experiment.chunk_ns, experiment.changes
        )

    def _record(self, experiment: Experiment, walks: Sequence[Walked], refused: str | None) -> None:
        if not walks and refused is None:
            return
        pattern = {
            "kind": "chain",
            "order": experiment.order,
            "seed": self.seed,
            "pages": experiment.pages,
            **({"changes": True} if experiment.changes else {}),
            **({"refused": refused} if refused is not None else {}),
            "involuntary_switches": sum(walk.switches for walk in walks),
            "stolen_ns": sum(walk.stolen_ns for walk in walks),
        }
        samples = tuple(round(walk.ns, _DECIMALS) for walk in walks)
        middle, low, high = median_interval(samples) if samples else (None, None, None)
        self.observations.append(
            Observation(
                id=f"{experiment.prober}.chain.{len(self.observations) + 1}",
                prober=experiment.prober,
                pattern=pattern,
                accesses=sum(walk.loads for walk in walks),
                samples=samples or None,
                ns_per_access=middle,
                interval=None if low is None or high is None else (low, high),
            )
        )
