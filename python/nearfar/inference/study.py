"""A study is a dialogue: it asks for experiments, one after the other, and ends with findings.

It is a generator that yields a `Request` and is sent the `Observation` that answers it. A
prober answers by playing the experiment on a device; `replay` answers from the observations
of a saved result. Both hear the same questions, because a study knows nothing but the
answers, so what was found while probing is found again from the file alone.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from nearfar.inference.orders import Spread, spread_of
from nearfar.results.findings import Finding, Histogram, Observation, not_identifiable

Floats = NDArray[np.float64]
T = TypeVar("T")


class MissingError(Exception):
    """The experiment was not made: interrupted before, or beyond the device's memory."""


@dataclass(frozen=True)
class Request:
    """An experiment that a study asks for.

    `params` say what it is. `effort` says how much of it is wanted, a number each for a
    quick and a full probe; any amount is an answer.
    """

    prober: str
    kind: str
    params: Mapping[str, Any]
    effort: Mapping[str, tuple[int, int]]
    spread: Spread = field(default_factory=Spread)

    def key(self) -> str:
        return _key(self.kind, self.params, self.spread)


Study = Generator[Request, Observation, T]


def replay(study: Study[T], observations: Sequence[Observation]) -> T:
    """The outcome of a study whose experiments have been made."""
    record = {key: seen for seen in observations if (key := _key_of(seen)) is not None}
    try:
        request = next(study)
        while True:
            seen = record.get(request.key())
            request = study.throw(MissingError()) if seen is None else study.send(seen)
    except StopIteration as end:
        outcome: T = end.value
        return outcome


def _key(kind: str, params: Mapping[str, Any], spread: Spread) -> str:
    return json.dumps([kind, dict(params), spread.granularity, spread.modules], sort_keys=True)


def _key_of(observation: Observation) -> str | None:
    pattern = observation.pattern
    if pattern.get("kind") != "sequence":
        return None
    order, effort = pattern["order"], pattern["effort"]
    asked = {name: value for name, value in order["params"].items() if name not in effort}
    return _key(order["kind"], asked, spread_of(pattern))


class Findings:
    """What a study has found so far, each name once, and the experiments it rests on."""

    def __init__(self) -> None:
        self._found: dict[str, Finding] = {}

    def add(self, *findings: Finding) -> None:
        for finding in findings:
            self._found.setdefault(finding.name, finding)

    def lack(self, names: Sequence[str], reason: str, evidence: Sequence[str] = ()) -> None:
        """Say of every one of `names` not found yet that it cannot be."""
        self.add(*(not_identifiable(name, reason, evidence) for name in names))

    def __contains__(self, name: str) -> bool:
        return name in self._found

    def value(self, name: str) -> int | float | str | None:
        """What was found; None where nothing was."""
        return self._found[name].value if name in self._found else None

    def all(self) -> list[Finding]:
        return list(self._found.values())


def quantile(histogram: Histogram, share: float) -> float:
    """The value that `share` of a histogram's accesses do not exceed."""
    values = np.array([entry[0] for entry in histogram])
    counts = np.cumsum([entry[1] for entry in histogram])
    return float(values[np.searchsorted(counts, share * counts[-1], side="left")])


def slower(histogram: Histogram, threshold: float) -> int:
    """How many of a histogram's accesses took longer than `threshold`."""
    return int(sum(count for value, count in histogram if value > threshold))


def size(histogram: Histogram) -> int:
    return int(sum(count for _, count in histogram))
