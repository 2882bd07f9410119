"""Plays the experiments that studies ask for, and writes down what was seen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.inference.orders import NTSTORE, Steps, build
from nearfar.inference.study import MissingError, Request, Study
from nearfar.probing.device import Device
from nearfar.results.findings import Histogram, Observation

Times = NDArray[np.float64]

SLOW = 3.0  # times the median: an event of a long series of stores
_DECIMALS = 2  # of a ns that are kept: finer than any clock


class Recorder:
    """One device, and the observations made of it so far."""

    def __init__(
        self, device: Device, quick: bool, progress: Callable[[Observation], None] | None = None
    ) -> None:
        self._device = device
        self._quick = quick
        self._progress = progress
        self.observations: list[Observation] = []
        self.interrupted = False
        self._made: dict[str, Observation] = {}  # by request: asked twice, answered the same

    def conduct(self, study: Study[Any]) -> Any:
        """Answers a study's requests until it ends; its outcome.

        After Ctrl-C it ends early: every further request goes unanswered. While the study itself
        infers, Ctrl-C ends it without an outcome.
        """
        try:
            request = next(study)
            while True:
                seen = self._try(request)
                request = study.throw(MissingError()) if seen is None else study.send(seen)
        except StopIteration as end:
            return end.value
        except KeyboardInterrupt:
            self.interrupted = True
            return None

    def _try(self, request: Request) -> Observation | None:
        key = request.key()
        if key in self._made:
            return self._made[key]
        if self.interrupted:
            return None
        try:
            seen = self._play(request)
        except KeyboardInterrupt:
            self.interrupted = True
            return None
        if seen is not None:
            self._made[key] = seen
        return seen

    def _play(self, request: Request) -> Observation | None:
        effort = {
            name: quick if self._quick else full for name, (quick, full) in request.effort.items()
        }
        params = {**request.params, **effort}
        number = len(self.observations) + 1
        order = {"kind": request.kind, "params": params, "seed": number}
        steps = build(order)
        if self._reaches(request, steps) > self._device.memory_bytes:
            return None
        times = self._device.play(steps, request.spread, number)[steps.timed]
        pattern = {
            "kind": "sequence",
            "order": order,
            "effort": sorted(effort),
            "spread": {
                "granularity": request.spread.granularity,
                "modules": request.spread.modules,
            },
        }
        observation = Observation(
            id=f"{request.prober}.{number}",
            prober=request.prober,
            pattern=pattern,
            accesses=int(np.count_nonzero(steps.operation <= NTSTORE)),
            **_SUMMARIES.get(request.kind, _samples)(times, params),
        )
        self.observations.append(observation)
        if self._progress is not None:
            self._progress(observation)
        return observation

    @staticmethod
    def _reaches(request: Request, steps: Steps) -> int:
        addresses = steps.operand[steps.operation <= NTSTORE]
        return int(request.spread.address(addresses.max()[None])[0]) + 64


def _samples(times: Times, params: dict[str, Any]) -> dict[str, Any]:
    del params
    return {"samples": tuple(np.round(times, _DECIMALS).tolist())}


def _passes(times: Times, params: dict[str, Any]) -> dict[str, Any]:
    """A walk: the cold pass, and those after it has warmed up."""
    passes = times.reshape(params["warm"] + params["steady"], -1)
    steady = passes[params["warm"] :]
    if steady.shape[1] > 1:
        # What is left over from the end of the walk is in the way of its first read alone.
        steady = steady[:, 1:]
    return {
        "first_pass": histogram(passes[0]),
        "histogram": histogram(steady),
        "positions": histogram(steady.min(axis=0)),
    }


def _events(times: Times, params: dict[str, Any]) -> dict[str, Any]:
    """A long series: its distribution, and where the slow ones are."""
    del params
    slow = np.flatnonzero(times > SLOW * np.median(times))
    return {
        "histogram": histogram(times),
        "events": tuple(
            (int(at), float(ns))
            for at, ns in zip(slow, np.round(times[slow], _DECIMALS), strict=True)
        ),
    }


def _circle(times: Times, params: dict[str, Any]) -> dict[str, Any]:
    """The round that warms up, the others, and the least at each place."""
    rounds = times.reshape(params["rounds"] + 1, -1)
    return {
        "first_pass": histogram(rounds[0]),
        "histogram": histogram(rounds[1:]),
        "positions": histogram(rounds[1:].min(axis=0)),
    }


def _whole(times: Times, params: dict[str, Any]) -> dict[str, Any]:
    del params
    return {"histogram": histogram(times)}


def _mean(times: Times, params: dict[str, Any]) -> dict[str, Any]:
    """The mean over the second half: queues that were empty at first do not count."""
    del params
    return {"ns_per_access": round(float(times[len(times) // 2 :].mean()), _DECIMALS)}


_SUMMARIES: dict[str, Callable[[Times, dict[str, Any]], dict[str, Any]]] = {
    "walk": _passes,
    "hammer": _events,
    "circle": _circle,
    "beside": _whole,
    "stores": _mean,
}


def histogram(times: Times) -> Histogram:
    """Distinct values and how often each occurred."""
    values, counts = np.unique(np.round(times, _DECIMALS), return_counts=True)
    return tuple((float(value), int(count)) for value, count in zip(values, counts, strict=True))
