"""Walks chains of dependent loads through a memory, a batch of experiments at a time.

A `Walker` chooses the memory: this machine's (`host_walk`), a simulated machine's
caches, or a simulated device without any (`model_walk`).
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from nearfar.errors import InputError
from nearfar.inference.caches.orders import Offsets, offsets
from nearfar.inference.caches.plan import Experiment, Stage
from nearfar.inference.noise import median_interval
from nearfar.results import Observation

_LEAST = 3  # repetitions, however late it is
_DECIMALS = 4  # of a ns that are kept

# Told of every finished walk: walks done, walks in all of the batch.
Progress = Callable[[int, int], None]


def shares(progress: Callable[[float], None], usual: int) -> Progress:
    """Told of one batch after the other, of which there are `usual`ly so many, tells shares."""
    begun, last = 0, 0

    def told(done: int, total: int) -> None:
        nonlocal begun, last
        begun += done <= last  # a new batch begins to count anew
        last = done
        progress((begun + done / total) / usual)

    return told


@dataclass(frozen=True)
class Walked:
    """One repetition: ns a load, and what happened meanwhile."""

    ns: float
    loads: int
    switches: int = 0  # involuntary
    stolen_ns: float = 0.0


class Walker(Protocol):
    """Memory that is fresh at every walk."""

    @property
    def memory_bytes(self) -> int: ...

    def walk(self, chain: Offsets, asked: Experiment) -> Walked:
        """Goes along `chain`, one repetition of `asked`, round and round until it is warm, and
        times it. Raises InputError where such pages or such accesses do not exist."""
        ...


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
        """Plays the stages one after the other, each in its share of the time. Ctrl-C ends it,
        also where a stage infers from the observations what to ask next."""
        deadline = time.monotonic() + seconds
        try:
            for left, stage in zip(range(len(stages), 0, -1), stages, strict=True):
                if self.interrupted:
                    return
                share = (deadline - time.monotonic()) / left
                batch = stage(tuple(self.observations), quick)
                self._measure(batch, repetitions, time.monotonic() + share)
        except KeyboardInterrupt:
            self.interrupted = True

    def _measure(self, batch: Sequence[Experiment], repetitions: int, deadline: float) -> None:
        walks: list[list[Walked]] = [[] for _ in batch]
        refusals: dict[int, str] = {}
        order = random.Random(f"{self.seed} {len(self.observations)}")
        try:
            most = max((experiment.wanted(repetitions) for experiment in batch), default=0)
            for repetition in range(most):
                if repetition >= _LEAST and time.monotonic() > deadline:
                    break
                turn = [
                    i
                    for i, experiment in enumerate(batch)
                    if i not in refusals and repetition < experiment.wanted(repetitions)
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
                        self.progress(repetition * len(batch) + done + 1, most * len(batch))
        except KeyboardInterrupt:
            self.interrupted = True
        for i, experiment in enumerate(batch):
            self._record(experiment, walks[i], refusals.get(i))

    def _walk(self, experiment: Experiment, repetition: int) -> Walked:
        if experiment.extent > self.walker.memory_bytes:
            raise InputError(f"{experiment.extent} B are more than half of the free memory")
        return self.walker.walk(offsets(experiment.order, self.seed + repetition), experiment)

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
