"""Probes a target: which probers, in which order, and the result they make together."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nearfar.errors import Interrupted, check_one_of
from nearfar.inference import PROBERS, infer, study
from nearfar.measuring.target import describe, environment, resolve
from nearfar.model import Model
from nearfar.probing.device import Device, ModelDevice
from nearfar.probing.recorder import Recorder
from nearfar.results import Observation, ProbeResult

__all__ = ["PROBERS", "Progress", "check_probers", "probe", "probe_device"]

# Told of every experiment that was made.
Progress = Callable[[Observation], None]


def probe(
    target: str | Model,
    probers: Sequence[str] | None = None,
    quick: bool = False,
    progress: Progress | None = None,
) -> ProbeResult:
    """Probe "model:optane-100,channels=6", or a model, with the named probers or all.

    Raises InputError for an unknown prober or target, Interrupted on Ctrl-C.
    """
    check_probers(probers)
    model = resolve(target)
    result = probe_device(ModelDevice(model), probers, quick, progress)
    named = ProbeResult(
        target=describe(model),
        environment=environment(model, seed=1),
        pattern=result.pattern,
        observations=result.observations,
        findings=result.findings,
        interrupted=result.interrupted,
    )
    if named.interrupted:
        raise Interrupted(named)
    return named


def probe_device(
    device: Device,
    probers: Sequence[str] | None = None,
    quick: bool = False,
    progress: Progress | None = None,
) -> ProbeResult:
    """Probe anything that plays steps; the result names no target."""
    check_probers(probers)
    chosen = [name for name in PROBERS if probers is None or name in probers]
    recorder = Recorder(device, quick, progress)
    findings = recorder.conduct(study(chosen))
    if recorder.interrupted:  # of probers that had not begun there is nothing to say
        findings = infer(recorder.observations)
    return ProbeResult(
        pattern={"kind": "probe", "probers": chosen, "quick": quick},
        observations=tuple(recorder.observations),
        findings=tuple(findings),
        interrupted=recorder.interrupted,
    )


def check_probers(probers: Sequence[str] | None) -> None:
    """Raise InputError for a name that is no prober's."""
    for name in probers or ():
        check_one_of("prober", name, PROBERS)
