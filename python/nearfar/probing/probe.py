"""A whole probe of a model or of this machine: every prober in its turn, on whatever it fits.

Probers of one module make a stage. A stage that was finished is never played again, so a result
that was interrupted can be continued.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nearfar.errors import InputError, Interrupted, check_one_of
from nearfar.measuring.environment import host_environment
from nearfar.measuring.host.core import load_host_core, map_memory
from nearfar.measuring.host.target import Host
from nearfar.measuring.kernel.target import Kernel
from nearfar.measuring.target import describe, environment
from nearfar.model import Model
from nearfar.probing.findings import findings_of
from nearfar.probing.points import resolved
from nearfar.probing.probers import HOST, KERNEL, MODEL, RANGE, SEED, Asked, Prober, fitting
from nearfar.results import Environment, Finding, Observation, ProbeResult, Target

Progress = Callable[[int, int], None]  # hundredths of the expected time: done, in all

_LITTLE = 2 << 20  # bytes: one huge page


@dataclass(frozen=True)
class _Stage:
    """The probers of one module that are played, and about how long they take."""

    probers: Sequence[Prober]
    seconds: float

    @property
    def names(self) -> list[str]:
        return [one.name for one in self.probers]


def probe(
    target: str | Model | Host,
    probers: Sequence[str] | None = None,
    *,
    quick: bool = False,
    progress: Progress | None = None,
    before: ProbeResult | None = None,
) -> ProbeResult:
    """Find out what is inside a memory: play the named probers, or all that fit `target`.

    `target` is a model ("model:optane-100,channels=6"), this machine ("host", "host:node=1") or a
    file or device of it. `quick` makes fewer repetitions; `progress` is told hundredths of the
    expected time, done and in all; what the result `before` has is not played again. A finding has
    its value in its `unit`, the `interval` that the observations allow, and the ids of those.

    Raises InputError for a target or a prober that is not known or does not fit, and Interrupted on
    Ctrl-C, with what was observed until then and what follows from it.
    """
    target = resolved(target)
    kind = _kind(target)
    chosen = _chosen(fitting(kind), probers)
    if isinstance(target, Host):
        _try(target)
    named, circumstances = _named(target)
    seen = list(before.observations) if before is not None else []
    interrupted = False
    stages = _stages(chosen, kind)
    whole = sum(stage.seconds for stage in stages) or 1.0
    spent = 0.0
    for at, stage in enumerate(stages):
        later = {name for other in stages[at + 1 :] for name in other.names}
        finished = before is not None and any(one.prober in later for one in before.observations)
        if not finished and not interrupted:
            module = stage.probers[0].module
            own_names = [one.name for one in fitting(kind) if one.module == module]
            own = [one for one in seen if one.prober in own_names]
            seen = [one for one in seen if one.prober not in own_names]
            report = _reporter(progress, spent / whole, stage.seconds / whole)
            asked = Asked(target, stage.names, quick, own, report)
            made, interrupted = _played(stage, asked)
            seen += made
        spent += stage.seconds
    found, stopped = _found(seen)
    interrupted = interrupted or stopped
    result = ProbeResult(
        target=named,
        environment=circumstances if before is None else before.environment,
        pattern={"kind": "probe", "probers": [one.name for one in chosen], "quick": quick},
        observations=tuple(seen),
        findings=tuple(found),
        interrupted=interrupted,
    )
    if interrupted:
        raise Interrupted(result)
    return result


def resume(target: Model | Host, before: ProbeResult, progress: Progress | None) -> ProbeResult:
    """Continue `before`, which `target` was probed for. Raises InputError if it has changed, or
    the machine or the version of nearfar has."""
    if not before.interrupted:
        return before
    named, circumstances = _named(target)
    probers, quick = before.pattern.get("probers"), bool(before.pattern.get("quick"))
    if before.environment is None or before.target != named or probers is None:
        raise InputError("resume: the file does not say what was probed")
    for fact, called in (("version", "nearfar"), ("cpu", "processor")):
        was, now = (getattr(one, fact) for one in (before.environment, circumstances))
        if was != now:
            raise InputError(f"resume: found a probe with {called} {was}, expected {now}")
    if circumstances.model_hash != before.environment.model_hash:
        raise InputError(f"resume: {named.spec} is no longer the model that was probed")
    return probe(target, probers, quick=quick, progress=progress, before=before)


def _played(stage: _Stage, asked: Asked) -> tuple[list[Observation], bool]:
    """What the stage observes, and whether Ctrl-C ended it early: what it had before is kept."""
    try:
        return stage.probers[0].load().play(asked)
    except KeyboardInterrupt:
        return list(asked.before), True


def _found(seen: Sequence[Observation]) -> tuple[list[Finding], bool]:
    """The findings, and whether Ctrl-C came first: then none, and `infer` makes them later."""
    try:
        return findings_of(seen), False
    except KeyboardInterrupt:
        return [], True


def _kind(target: Model | Host) -> str:
    if isinstance(target, Kernel):
        return KERNEL if target.range is None else RANGE
    return HOST if isinstance(target, Host) else MODEL


def _try(host: Host) -> None:
    """Map a little of it: raises InputError before anything is played, if that fails."""
    map_memory(host.module() or load_host_core(), host, _LITTLE)


def _named(target: Model | Host) -> tuple[Target, Environment]:
    if isinstance(target, Host):
        return target.describe(), host_environment(
            target, SEED, target.module() or load_host_core()
        )
    return describe(target), environment(target, SEED)


def _chosen(known: Sequence[Prober], probers: Sequence[str] | None) -> list[Prober]:
    """The probers to play, in their order. Raises InputError."""
    names = [one.name for one in known]
    for name in probers or ():
        check_one_of("prober", name, names)
    wanted = set(names if probers is None else probers)
    for one in known:
        if one.together and one.name in wanted:
            wanted |= {other.name for other in known if other.module == one.module}
    return [one for one in known if one.name in wanted]


def _stages(chosen: Sequence[Prober], kind: str) -> list[_Stage]:
    modules: dict[str, list[Prober]] = {}
    for one in chosen:
        modules.setdefault(one.module, []).append(one)
    return [
        _Stage(probers, sum(one.seconds[kind] for one in probers)) for probers in modules.values()
    ]


def _reporter(progress: Progress | None, start: float, share: float) -> Callable[[float], None]:
    def report(done: float) -> None:
        if progress is not None:
            progress(max(1, round(100 * (start + share * min(done, 1.0)))), 100)

    return report
