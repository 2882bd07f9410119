"""Probes a device by single accesses, each asked for by a study that knows the answers so far."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nearfar.errors import check_one_of
from nearfar.inference import STUDIES, infer, study
from nearfar.model import Model
from nearfar.probing.device import Device, ModelDevice
from nearfar.probing.probers import Asked
from nearfar.probing.recorder import Recorder
from nearfar.probing.resume import answered
from nearfar.results import Finding, Observation, ProbeResult

# Told of every experiment that was made.
Progress = Callable[[Observation], None]


def play(asked: Asked) -> tuple[list[Observation], bool]:
    """Single accesses on a model: what has been seen is answered, the rest is played."""
    assert isinstance(asked.target, Model)
    counts: dict[str, int] = {}

    def told(one: Observation) -> None:
        counts[one.prober] = counts.get(one.prober, 0) + 1
        asked.progress(_sequence_share(counts, one.prober, asked.probers))

    recorder = Recorder(ModelDevice(asked.target), asked.quick, told)
    recorder.observations.extend(asked.before)
    recorder.conduct(answered(study(asked.probers), asked.before))
    return recorder.observations, recorder.interrupted


# About how much of the time each prober takes, in how many experiments.
_SHARES = {"policy": (2, 1), "buffers": (16, 28), "queues": (2, 15), "migration": (80, 7)}


def _sequence_share(counts: dict[str, int], now: str, probers: Sequence[str]) -> float:
    """How many experiments a probe takes is known at its end only: this is what is usual."""
    total = sum(share for name, (share, _) in _SHARES.items() if name in probers) or 1
    done = 0.0
    for name, count in counts.items():
        share, usual = _SHARES.get(name, (1, 10))
        done += share * (min(count / usual, 0.95) if name == now else 1.0)
    return min(done / total, 0.99)


def findings(observations: Sequence[Observation]) -> list[Finding]:
    """What follows from the observations of all studies."""
    return infer(observations)


def probe_device(
    device: Device,
    probers: Sequence[str] | None = None,
    quick: bool = False,
    progress: Progress | None = None,
) -> ProbeResult:
    """Probe anything that plays steps; the result names no target. Raises InputError for a prober
    that is not known."""
    for name in probers or ():
        check_one_of("prober", name, STUDIES)
    chosen = [name for name in STUDIES if probers is None or name in probers]
    recorder = Recorder(device, quick, progress)
    found = recorder.conduct(study(chosen))
    if recorder.interrupted:  # of probers that had not begun there is nothing to say
        found = infer(recorder.observations)
    return ProbeResult(
        pattern={"kind": "probe", "probers": chosen, "quick": quick},
        observations=tuple(recorder.observations),
        findings=tuple(found),
        interrupted=recorder.interrupted,
    )
