"""The experiments on a real machine: a batch at a time, each chosen from what is known so far.

A batch is measured in random order, repetition after repetition, so that whatever drifts falls
on all of its experiments alike. Nothing but observations decides about the next batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nearfar.inference.caches.orders import extent
from nearfar.inference.noise import Curve, curve
from nearfar.results.findings import Observation

SMALL, HUGE = "4KiB", "2MiB"


@dataclass(frozen=True)
class Experiment:
    """One chain of dependent loads, on pages of one size."""

    prober: str
    kind: str  # of `caches_orders`
    params: Mapping[str, Any]
    pages: str = SMALL
    chunk_ns: float = 50_000.0
    enough: int | None = None  # repetitions, where few say as much as many; None: all there are
    orders: int = 1  # repetitions that are wanted even where nothing is noisy, each for its order
    changes: bool = False  # each line is changed after it was loaded

    @property
    def order(self) -> dict[str, Any]:
        return {"kind": self.kind, "params": dict(self.params)}

    @property
    def extent(self) -> int:
        """Bytes of memory that the chain needs."""
        return extent(self.order)

    def wanted(self, repetitions: int) -> int:
        """How often to walk it, where most things are walked so many times."""
        return max(self.orders, min(repetitions, self.enough or repetitions))


# What to do next, given what has been seen; the flag is for a quick probe.
Stage = Callable[[Sequence[Observation], bool], list[Experiment]]


def chains(
    observations: Iterable[Observation],
    prober: str,
    kind: str,
    pages: str = SMALL,
    changes: bool = False,
) -> list[Observation]:
    """The observations of one kind of chain, those that have repetitions."""
    return [
        one
        for one in observations
        if one.prober == prober
        and one.samples
        and one.pattern.get("kind") == "chain"
        and one.pattern["order"]["kind"] == kind
        and one.pattern["pages"] == pages
        and one.pattern.get("changes", False) == changes
    ]


def over(observations: Iterable[Observation], parameter: str) -> Curve:
    """The curve of chains over one parameter of their order."""
    return curve(list(observations), lambda one: float(one.pattern["order"]["params"][parameter]))


def geometric(low: int, high: int, steps: int, multiple: int = 1) -> list[int]:
    """From `low` to `high`, `steps` to an octave, rounded to `multiple`; each once."""
    found = []
    for i in range(10_000):
        value = round(low * 2 ** (i / steps) / multiple) * multiple
        if value > high:
            break
        found.append(value)
    return sorted({max(value, multiple) for value in found})


def evenly(low: int, high: int, count: int, multiple: int = 1) -> list[int]:
    """At most about `count` multiples of `multiple` from `low` to `high`, both included."""
    step = max(multiple, -(-(high - low) // count) // multiple * multiple)
    return sorted({*range(low // multiple * multiple, high, step), high})
