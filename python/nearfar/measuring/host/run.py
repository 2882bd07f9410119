"""Plays a pattern on this machine: repetitions in random order, until the figures are steady."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nearfar.errors import InputError
from nearfar.measuring import machine
from nearfar.measuring.chunks import median_interval
from nearfar.measuring.core import filled
from nearfar.measuring.effort import Effort
from nearfar.measuring.environment import host_environment
from nearfar.measuring.host.core import HostCore, map_memory
from nearfar.measuring.host.plan import check_for_host, settings
from nearfar.measuring.host.points import overwrite_point
from nearfar.measuring.host.setting import Setting
from nearfar.measuring.host.target import Host
from nearfar.measuring.patterns import Overwrite, Pattern
from nearfar.results import MeasureResult, Point

if TYPE_CHECKING:
    from nearfar.measuring.host.core import HostMemory

Progress = Callable[[int, int], None]
_PARTS = 100  # in which progress is told


@dataclass
class HostRun:
    """A pattern on a host: what it needs, checked, and playing it."""

    host: Host
    pattern: Pattern
    core: HostCore
    effort: Effort
    synchronous: bool | None = None  # of a file, once it has been mapped

    def check(self) -> None:
        """Raise InputError if it cannot be played, before anything is measured."""
        check_for_host(self.pattern)
        capacity = self.host.capacity(self.core)
        usable = len(machine.processors())
        for what, reach, threads in self._needs():
            if threads > usable:
                raise InputError(
                    f"threads: {threads} are more than the {usable} processors of this machine"
                )
            if reach > capacity:
                raise InputError(
                    f"{what} reaches {reach} B, beyond the {capacity} B of memory free on "
                    f"{self.host.spec()}"
                )

    def play(self, points: list[Point], samples: list[float], progress: Progress | None) -> None:
        """Measure; points and samples are filled in even if Ctrl-C ends it early."""
        if isinstance(self.pattern, Overwrite):
            self._overwrite(self.pattern, points, samples)
            if progress is not None:
                progress(1, 1)
            return
        plan = settings(self.pattern, self.core)
        try:
            self._repeat(plan, progress)
        finally:
            points.extend(one.finish(one.repetitions) for one in plan if one.repetitions)

    def _needs(self) -> Sequence[tuple[str, int, int]]:
        if isinstance(self.pattern, Overwrite):
            return [("region: an overwrite", self.pattern.region, 1)]
        return [(one.what, one.footprint, one.threads) for one in settings(self.pattern, self.core)]

    def _memory(self, size: int) -> HostMemory:
        memory = map_memory(self.core, self.host, size)
        if self.host.file is not None:
            self.synchronous = memory.synchronous()
        return memory

    def _overwrite(self, pattern: Overwrite, points: list[Point], samples: list[float]) -> None:
        request = filled(self.core.OverwriteRequest, pattern, cpu=machine.processors()[0])
        data = self._memory(pattern.region).overwrite(request)
        points.append(overwrite_point(data, pattern.op, pattern.region))
        samples.extend(data["ns"])

    def _repeat(self, plan: Sequence[Setting], progress: Progress | None) -> None:
        """Rounds over the unsettled settings, each round in an order of its own.

        So that what drifts (frequency, temperature, neighbours) meets all settings alike, and
        every repetition gets pages of its own, because where they lie matters.
        """
        order = random.Random(self.pattern.seed)
        deadline = time.monotonic() + self.effort.seconds
        while True:
            late = time.monotonic() >= deadline
            waiting = [one for one in plan if not self._settled(one)]
            if late:
                waiting = [one for one in waiting if not one.repetitions]
            if not waiting:
                break
            order.shuffle(waiting)
            for setting in waiting:
                if setting.repetitions and time.monotonic() >= deadline:
                    break
                cpus = machine.processors()[: setting.threads]
                setting.repetitions.append(setting.play(self._memory(setting.footprint), cpus))
                if progress is not None:
                    progress(sum(map(self._done, plan)), _PARTS * len(plan))
        if progress is not None:
            progress(_PARTS * len(plan), _PARTS * len(plan))

    def _settled(self, setting: Setting) -> bool:
        count = len(setting.repetitions)
        if count < self.effort.least:
            return False
        low, high = median_interval([one.ns_per_line for one in setting.repetitions])
        return count >= self.effort.most or high - low <= self.effort.width * low

    def _done(self, setting: Setting) -> int:
        """How much of a setting is done, in hundredths; it may settle sooner."""
        if self._settled(setting):
            return _PARTS
        return _PARTS * len(setting.repetitions) // self.effort.most


def host_result(
    run: HostRun, points: Sequence[Point], samples: Sequence[float], interrupted: bool
) -> MeasureResult:
    """What was measured, with the machine it was measured on."""
    return MeasureResult(
        target=run.host.describe(),
        environment=host_environment(run.host, run.pattern.seed, run.core, run.synchronous),
        pattern=run.pattern.to_dict(),
        points=tuple(points),
        samples=tuple(samples) if isinstance(run.pattern, Overwrite) else None,
        interrupted=interrupted,
    )
