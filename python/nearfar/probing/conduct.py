"""A whole probe of a model or of this machine: every prober in its turn, on whatever it fits.

Probers that rest on each other make a stage. A stage that was finished is never played again,
so a result that was interrupted can be continued.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nearfar.errors import InputError, Interrupted, check_one_of
from nearfar.inference import aist as aist_inference
from nearfar.inference import bandwidth as bandwidth_inference
from nearfar.inference import ict as ict_inference
from nearfar.inference import study as studies
from nearfar.inference import tlb
from nearfar.inference.caches import prober as caches
from nearfar.inference.saved import findings_of
from nearfar.measuring.environment import host_environment
from nearfar.measuring.host.core import load_host_core
from nearfar.measuring.host.target import Host
from nearfar.measuring.target import describe, environment
from nearfar.model import Model
from nearfar.probing import aist, bandwidth, ict, memory_mode, points
from nearfar.probing.caches import observe as observe_caches
from nearfar.probing.device import ModelDevice
from nearfar.probing.recorder import Recorder
from nearfar.probing.resume import answered
from nearfar.probing.run import PROBERS
from nearfar.results import Environment, Observation, ProbeResult, Target

Progress = Callable[[int, int], None]  # hundredths of the expected time: done, in all

_SEED = 1
_LITTLE = 2 << 20  # bytes: one huge page


@dataclass(frozen=True)
class _Asked:
    """What a stage needs to know."""

    target: Model | Host
    probers: Sequence[str]
    quick: bool
    before: Sequence[Observation]  # its own, from a result that is continued
    progress: Callable[[float], None]  # the share of it that is done


_Play = Callable[[_Asked], tuple[list[Observation], bool]]  # observations; was it interrupted?


@dataclass(frozen=True)
class _Stage:
    """Probers that are played together, on models, hosts or both, and about how long they take."""

    probers: Sequence[str]
    on: Sequence[type]
    play: _Play
    seconds: float
    together: bool = False  # one without the others says nothing


def conduct(
    target: Model | Host,
    probers: Sequence[str] | None = None,
    *,
    quick: bool = False,
    progress: Progress | None = None,
    before: ProbeResult | None = None,
) -> ProbeResult:
    """Play the named probers, or all that fit `target`; what `before` has is not played again.

    Raises InputError for a prober that is not known or does not fit, and Interrupted on
    Ctrl-C, with what was observed until then and what follows from it.
    """
    stages = [stage for stage in _STAGES if isinstance(target, tuple(stage.on))]
    chosen = _chosen(stages, probers)
    if isinstance(target, Host):
        _try(target)
    seen = list(before.observations) if before is not None else []
    interrupted = False
    whole = sum(stage.seconds for stage in stages if set(stage.probers) & set(chosen)) or 1.0
    spent = 0.0
    played = [stage for stage in stages if set(stage.probers) & set(chosen)]
    for at, stage in enumerate(played):
        later = {name for other in played[at + 1 :] for name in other.probers}
        finished = before is not None and any(one.prober in later for one in before.observations)
        if not finished and not interrupted:
            own = [one for one in seen if one.prober in stage.probers]
            seen = [one for one in seen if one.prober not in stage.probers]
            report = _reporter(progress, spent / whole, stage.seconds / whole)
            wanted = [name for name in stage.probers if name in chosen]
            made, interrupted = stage.play(_Asked(target, wanted, quick, own, report))
            seen += made
        spent += stage.seconds
    named, circumstances = _named(target)
    result = ProbeResult(
        target=named,
        environment=circumstances if before is None else before.environment,
        pattern={"kind": "probe", "probers": list(chosen), "quick": quick},
        observations=tuple(seen),
        findings=tuple(findings_of(seen)),
        interrupted=interrupted,
    )
    if interrupted:
        raise Interrupted(result)
    return result


def resume(target: Model | Host, before: ProbeResult, progress: Progress | None) -> ProbeResult:
    """Continue `before`, which `target` was probed for. Raises InputError if it has changed."""
    if not before.interrupted:
        return before
    named, circumstances = _named(target)
    if before.environment is None or before.target != named:
        raise InputError("resume: the file does not say what was probed")
    if circumstances.model_hash != before.environment.model_hash:
        raise InputError(f"resume: {named.spec} is no longer the model that was probed")
    probers, quick = before.pattern["probers"], bool(before.pattern.get("quick"))
    return conduct(target, probers, quick=quick, progress=progress, before=before)


def _try(host: Host) -> None:
    """Map a little of it: raises InputError before anything is played, if that fails."""
    load_host_core().HostMemory(
        _LITTLE,
        pages=host.pages,
        node=-1 if host.node is None else host.node,
        path=host.file or "",
        destructive=host.may_destroy(),
    )


def _named(target: Model | Host) -> tuple[Target, Environment]:
    if isinstance(target, Host):
        return target.describe(), host_environment(target, _SEED, load_host_core())
    return describe(target), environment(target, _SEED)


def _chosen(stages: Sequence[_Stage], probers: Sequence[str] | None) -> list[str]:
    """The probers to play, in their order. Raises InputError."""
    known = [name for stage in stages for name in stage.probers]
    for name in probers or ():
        check_one_of("prober", name, known)
    wanted = set(known if probers is None else probers)
    for stage in stages:
        if stage.together and wanted & set(stage.probers):
            wanted |= set(stage.probers)
    return [name for name in known if name in wanted]


def _reporter(progress: Progress | None, start: float, share: float) -> Callable[[float], None]:
    def report(done: float) -> None:
        if progress is not None:
            progress(max(1, round(100 * (start + share * min(done, 1.0)))), 100)

    return report


# The stages


def _sequences(asked: _Asked) -> tuple[list[Observation], bool]:
    """Single accesses on a model: what has been seen is answered, the rest is played."""
    assert isinstance(asked.target, Model)
    counts: dict[str, int] = {}

    def told(one: Observation) -> None:
        counts[one.prober] = counts.get(one.prober, 0) + 1
        asked.progress(_sequence_share(counts, one.prober, asked.probers))

    recorder = Recorder(ModelDevice(asked.target), asked.quick, told)
    recorder.observations.extend(asked.before)
    recorder.conduct(answered(studies(asked.probers), asked.before))
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


def _caches(asked: _Asked) -> tuple[list[Observation], bool]:
    told = _batches(asked, 5)
    return observe_caches(asked.target, quick=asked.quick, seed=_SEED, progress=told)


def _memory_mode(asked: _Asked) -> tuple[list[Observation], bool]:
    told = _batches(asked, 3)
    return memory_mode.observe(asked.target, quick=asked.quick, seed=_SEED, progress=told)


def _batches(asked: _Asked, usual: int) -> Callable[[int, int], None]:
    """Told of one batch after the other, of which there are `usual`ly so many."""
    begun, last = 0, 0

    def told(done: int, total: int) -> None:
        nonlocal begun, last
        begun += done <= last  # a new batch begins to count anew
        last = done
        asked.progress((begun + done / total) / usual)

    return told


def _points(prober: str, plan: points.Plan) -> _Play:
    def play(asked: _Asked) -> tuple[list[Observation], bool]:
        def told(done: int, total: int) -> None:
            asked.progress(done / total)

        return points.observe(asked.target, prober, plan, quick=asked.quick, progress=told)

    return play


def _ict(asked: _Asked) -> tuple[list[Observation], bool]:
    made, interrupted = _points(ict_inference.PROBER, ict.plan)(asked)
    if interrupted or not isinstance(asked.target, Host):
        return made, interrupted
    remote, interrupted = ict.across_nodes(asked.target, quick=asked.quick)
    return made + remote, interrupted


_STAGES = (
    _Stage(PROBERS, (Model,), _sequences, 2.5),
    _Stage((tlb.PROBER, caches.PROBER), (Host,), _caches, 15.0, together=True),
    _Stage((tlb.PROBER, caches.PROBER), (Model,), _caches, 3.0, together=True),
    _Stage(
        (bandwidth_inference.PROBER,),
        (Model, Host),
        _points(bandwidth_inference.PROBER, bandwidth.plan),
        5.0,
    ),
    _Stage((aist_inference.PROBER,), (Model, Host), _points(aist_inference.PROBER, aist.plan), 4.0),
    _Stage((ict_inference.PROBER,), (Model, Host), _ict, 6.0),
    _Stage((memory_mode.PROBER,), (Model, Host), _memory_mode, 6.0),
)
