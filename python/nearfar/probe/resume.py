"""Continues a probe that was interrupted: what was observed is not measured again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nearfar.errors import InputError
from nearfar.infer import study as studies
from nearfar.infer.orders import spread_of
from nearfar.infer.study import MissingError, Request, Study
from nearfar.measure.target import environment, resolve
from nearfar.probe.device import ModelDevice
from nearfar.probe.recorder import Recorder
from nearfar.probe.run import ProbeInterrupted, Progress
from nearfar.results import Finding, Observation, ProbeResult


def resume(before: ProbeResult, progress: Progress | None = None) -> ProbeResult:
    """The whole result, as if nothing had interrupted `before`.

    Raises InputError where the file does not name a model that still is what it was, and
    ProbeInterrupted on Ctrl-C, once more.
    """
    target, known = before.target, before.environment
    if target is None or target.kind != "model" or known is None:
        raise InputError("resume: found no model as the target, and nothing else can be resumed")
    model = resolve(target.spec)
    if environment(model, known.seed).model_hash != known.model_hash:
        raise InputError(f"resume: {target.spec} is no longer the model that was probed")
    quick = bool(before.pattern.get("quick"))
    recorder = Recorder(ModelDevice(model), quick, progress)
    recorder.observations.extend(before.observations)
    chosen = list(before.pattern["probers"])
    findings = recorder.conduct(answered(studies(chosen), before.observations))
    result = replace(
        before,
        observations=tuple(recorder.observations),
        findings=tuple(findings),
        interrupted=recorder.interrupted,
    )
    if result.interrupted:
        raise ProbeInterrupted(result)
    return result


def answered(study: Study[list[Finding]], seen: Sequence[Observation]) -> Study[list[Finding]]:
    """A study that only asks for what is not among the observations `seen`."""
    known = {_key(one): one for one in seen if one.pattern.get("kind") == "sequence"}
    try:
        request = next(study)
        while True:
            answer = known.get(request.key())
            if answer is None:
                try:
                    answer = yield request
                except MissingError:
                    request = study.throw(MissingError())
                    continue
            request = study.send(answer)
    except StopIteration as end:
        found: list[Finding] = end.value
        return found


def _key(one: Observation) -> str:
    """That of the request that the observation answered: how much was done is no part of it."""
    order = one.pattern["order"]
    effort = one.pattern.get("effort", ())
    asked = {name: value for name, value in order["params"].items() if name not in effort}
    return Request(one.prober, order["kind"], asked, {}, spread_of(one.pattern)).key()
