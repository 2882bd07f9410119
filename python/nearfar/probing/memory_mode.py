"""Conflict tests for a near memory: by physical addresses on a model, by virtual ones here."""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.inference import memory_mode, near, write_back
from nearfar.inference.noise import median_interval
from nearfar.inference.study import Findings
from nearfar.measuring.host.target import Host
from nearfar.model import Model
from nearfar.probing.device import Device, ModelDevice
from nearfar.probing.host_walk import HostWalker
from nearfar.probing.probers import SEED, Asked
from nearfar.probing.recorder import Recorder
from nearfar.probing.walk import Progress, Session, Walked, Walker, shares
from nearfar.results import Finding, Observation

PROBER = memory_mode.PROBER

_QUICK, _FULL = (4, 8.0), (9, 40.0)  # repetitions on a real machine, and seconds
_USUAL = 45  # experiments that finding a near memory takes, about
_CHANGING = (15, 3.0)
_DROPPED = 64  # lines
_USUAL_BATCHES = 3


def play(asked: Asked) -> tuple[list[Observation], bool]:
    """Conflict tests, batch after batch."""
    told = shares(asked.progress, _USUAL_BATCHES)
    return observe(asked.target, quick=asked.quick, seed=SEED, progress=told)


def findings(observations: Sequence[Observation]) -> list[Finding]:
    """Of a near memory in front of the far one, or why none was seen."""
    return memory_mode.findings(observations)


def observe(
    target: Model | Host | Walker,
    *,
    quick: bool = False,
    seed: int = 1,
    progress: Progress | None = None,
) -> tuple[list[Observation], bool]:
    """The observations, and whether Ctrl-C ended them early."""
    if isinstance(target, Model):
        return _observe_model(ModelDevice(target), quick, progress)
    walker = HostWalker(target) if isinstance(target, Host) else target
    session = Session(walker, seed, progress=progress)
    session.conduct(memory_mode.STAGES, quick, *(_QUICK if quick else _FULL))
    session.conduct(memory_mode.CHANGING, quick, *_CHANGING)
    if isinstance(walker, HostWalker) and not session.interrupted:
        session.interrupted = _drop(walker, session.observations)
    return session.observations, session.interrupted


def _drop(walker: HostWalker, observations: list[Observation]) -> bool:
    """Adds what throwing out clean and changed lines takes; whether Ctrl-C ended it."""
    times: dict[bool, list[Walked]] = {False: [], True: []}
    try:
        for _ in range(_CHANGING[0]):
            for changes, walks in times.items():
                walks.append(walker.drop(_DROPPED, changes))
    except KeyboardInterrupt:
        return True
    for changes, walks in times.items():
        samples = tuple(round(walk.ns, 4) for walk in walks)
        middle, low, high = median_interval(samples)
        observations.append(
            Observation(
                id=f"{PROBER}.{write_back.DROP}.{'changed' if changes else 'clean'}",
                prober=PROBER,
                pattern={"kind": write_back.DROP, "changes": changes, "lines": _DROPPED},
                accesses=sum(walk.loads for walk in walks),
                samples=samples,
                ns_per_access=middle,
                interval=(low, high),
            )
        )
    return False


def _observe_model(
    device: Device, quick: bool, progress: Progress | None
) -> tuple[list[Observation], bool]:
    """Looks for a near memory by physical addresses."""

    def told(_: Observation) -> None:
        if progress is not None:
            progress(min(len(recorder.observations), _USUAL), _USUAL)

    recorder = Recorder(device, quick, told)
    recorder.conduct(near.study(Findings()))
    return recorder.observations, recorder.interrupted
