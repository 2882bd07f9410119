"""Plays patterns of `nearfar.measure` for a prober and writes their points down as observations.

The same patterns run on a model and on this machine. What is inferred from them reads the
observations alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from nearfar.errors import Interrupted
from nearfar.measuring import Contention, Pattern, Stream, machine, measure
from nearfar.measuring.effort import Effort
from nearfar.measuring.host.target import Host
from nearfar.measuring.kernel.target import Kernel
from nearfar.measuring.target import capacity, resolve
from nearfar.model import Model
from nearfar.probing.probers import Asked
from nearfar.results import MeasureResult, Observation, Point

# Told of every finished pattern: patterns done, patterns in all.
Progress = Callable[[int, int], None]
Target = Model | Host

_DECIMALS = 4  # of a ns that are kept
_NAMES = (
    *("op", "threads", "region_bytes", "block_bytes", "access_bytes", "stride_bytes"),
    *("delay_ns", "value"),
)
# Repetitions on a real machine: so many of each point, however long they take, because an
# interval of one is none. The plans are sized for it.
_QUICK, _FULL = 3, 7
_WIDTH = 0.02  # settled before that: repetitions that agree so well


@dataclass(frozen=True)
class Bounds:
    """What a prober may ask of a target."""

    host: bool
    threads: int  # that can run at once
    memory: int  # bytes
    quick: bool
    contends: bool = True  # whether threads can read beside others that load the memory

    def threads_up_to(self, most: int) -> tuple[int, ...]:
        """1, 2, 4... up to `most`, and as many as there are."""
        limit = min(most, self.threads)
        return tuple(sorted({1 << k for k in range(8) if 1 << k <= limit} | {limit}))

    def area(self, wanted: int, threads: int = 1) -> int:
        """A thread's bytes, so that all together take at most half of the memory."""
        area = wanted
        while area * threads > self.memory // 2 and area > 1 << 20:
            area //= 2
        return area


Plan = Callable[[Bounds], list[Pattern]]


def resolved(target: str | Target) -> Target:
    """The model or the host behind a target. Raises InputError."""
    from nearfar.measuring.host.target import is_host, parse_host

    if isinstance(target, str) and is_host(target):
        return parse_host(target)
    return target if isinstance(target, Host) else resolve(target)


def bounds(target: Target, quick: bool) -> Bounds:
    """What patterns fit `target`."""
    if isinstance(target, Kernel):
        memory = target.module().obtainable()
        return Bounds(True, len(machine.processors()), memory, quick, contends=False)
    if isinstance(target, Host):
        return Bounds(True, len(machine.processors()), machine.free_memory(target.node), quick)
    return Bounds(False, 16, capacity(target), quick)


def observe(
    target: Target,
    prober: str,
    plan: Plan,
    *,
    quick: bool = False,
    progress: Progress | None = None,
    about: Mapping[str, Any] | None = None,
) -> tuple[list[Observation], bool]:
    """The observations of a prober's patterns, and whether Ctrl-C ended them early.

    `about` is noted in each of them, and its values are part of their names.
    """
    patterns = plan(bounds(target, quick))
    named = ".".join([prober, *(f"{key}{value}" for key, value in (about or {}).items())])
    effort = Effort(_QUICK, _QUICK if quick else _FULL, _WIDTH, math.inf)
    observations: list[Observation] = []
    for done, pattern in enumerate(patterns, start=1):
        try:
            result, interrupted = measure(target, pattern, effort=effort), False
        except Interrupted as stopped:
            result, interrupted = stopped.result, True
        for point in result.points:
            seen = _observation(prober, pattern, result, point)
            known = {**seen.pattern, **(about or {})}
            observations.append(replace(seen, id=f"{named}.{len(observations) + 1}", pattern=known))
        if interrupted:
            return observations, True
        if progress is not None:
            progress(done, len(patterns))
    return observations, False


def playing(prober: str, plan: Plan) -> Callable[[Asked], tuple[list[Observation], bool]]:
    """How a prober is played that is a plan of patterns."""

    def play(asked: Asked) -> tuple[list[Observation], bool]:
        def told(done: int, total: int) -> None:
            asked.progress(done / total)

        return observe(asked.target, prober, plan, quick=asked.quick, progress=told)

    return play


def _observation(prober: str, pattern: Pattern, result: MeasureResult, point: Point) -> Observation:
    described: dict[str, Any] = {"kind": "point", "measured": pattern.kind}
    described |= {name: value for name in _NAMES if (value := getattr(point, name)) is not None}
    for name in ("regions", "outstanding", "fence_every_bytes", "other", "held"):
        if name in result.pattern:
            described[name] = result.pattern[name]
    if isinstance(pattern, Stream):
        described["reads_percent"] = pattern.reads_percent(point.op)
    if isinstance(pattern, Contention) and point.other_gb_per_s is not None:
        described["other_threads"] = pattern.others()
        described["other_gb_per_s"] = round(point.other_gb_per_s, _DECIMALS)
    if point.p50_ns is not None:
        described["p50_ns"] = round(point.p50_ns, _DECIMALS)
    ns = round(point.ns_per_line, _DECIMALS)
    interval = point.interval_ns_per_line
    return Observation(
        id=prober,
        prober=prober,
        pattern=described,
        accesses=point.lines,
        ns_per_access=ns,
        # A model says the same every time.
        interval=(ns, ns) if interval is None else [round(one, _DECIMALS) for one in interval],
    )
