"""`fit`: measurements of one device in, a model of it out."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import numpy as np

from nearfar.errors import InputError
from nearfar.fitting.given import Given, Source, read
from nearfar.fitting.holding import split
from nearfar.fitting.misfit import Misfit, Vector
from nearfar.fitting.parameters import candidates
from nearfar.fitting.record import SUFFIX, Record
from nearfar.fitting.simulations import Progress, Simulations
from nearfar.fitting.solve import FLOOR, Estimate, Solver, unfitted
from nearfar.fitting.structure import Fixed, derived, structure
from nearfar.fitting.write import model_text
from nearfar.model import Model, load
from nearfar.model.key import Plain
from nearfar.model.schema import KEYS, canonical
from nearfar.results import (
    ComparedPoint,
    FitResult,
    FittedParameter,
    FittedSeries,
    KeptParameter,
)
from nearfar.results.fit import STRUCTURE, TIMES
from nearfar.simulate.validation.accuracy import accuracy, score
from nearfar.simulate.validation.series import HardwarePoint, Series

BUDGET = 20_000  # simulations of one pattern on one machine

_FEWEST = 3  # points that can fix anything
_NAMED = 3  # series that a parameter's source names


@dataclass(frozen=True)
class Options:
    """How to fit. `only` are datasets of the tables given, `keep` keys that stay the base's,
    `hold_out` names of series or a share such as "25%". `record` is where what was simulated is
    kept, so that a fit that was interrupted goes on there."""

    base: str = "nvdimm"
    only: Sequence[str] = ()
    keep: Sequence[str] = ()
    hold_out: Sequence[str] = ()
    budget: int = BUDGET
    processes: int | None = None
    record: Path | None = None


_DEFAULT = Options()


@dataclass(frozen=True)
class Fit:
    """What came out: the document, and the text of the model file."""

    result: FitResult
    text: str


def fit(
    *sources: Source,
    options: Options = _DEFAULT,
    output: str | None = None,
    progress: Progress | None = None,
) -> Fit:
    """A model of the device that the sources are measurements of.

    A source is a file that `probe` or `measure` saved, such a result in memory, a CSV table or a
    folder of them. `output` is where the text will be written, as its base is named from there.

    Raises InputError for sources that fit nothing, and KeyboardInterrupt on Ctrl-C; what was
    simulated until then is in the record.
    """
    base = load(options.base)
    given = read(sources, base, options.only)
    kept = _kept_keys(options.keep)
    found = {k: v for k, v in structure(given.findings, base).items() if k not in kept}
    follows = {k: v for k, v in derived(found, base).items() if k not in kept and k not in found}
    shaped = _shaped(base, found, follows)
    record = Record(options.record)
    simulations = Simulations(
        shaped, options.budget, record, processes=options.processes, progress=progress
    )
    trained, held = split(given.series, options.hold_out)
    settled = {key for key, one in found.items() if one.interval is not None or not _has_unit(key)}
    solver, estimates = _times(simulations, trained, shaped, {*settled, *kept})
    if not found and not any(one.determined for one in estimates):
        raise InputError(_nothing(given, options.base))
    times = _of_times(estimates, trained)
    # What a finding bounds from one side only is where the search for it began.
    searched = {one.key for one in times}
    exact = {key: one for key, one in found.items() if key not in searched}
    parameters = [*_of_structure(exact), *times]
    rest = [KeptParameter(k, _text(k, v), "follows from the structure") for k, v in follows.items()]
    text = model_text(options.base, given.sources, parameters, rest, output)
    fitted = shaped.override({one.key: one.value for one in parameters if one.stage == TIMES})
    series, each = _accuracies(simulations, parameters, trained, held)
    result = FitResult(
        base=options.base,
        sources=given.sources,
        model_hash=fitted.hash(),
        parameters=tuple(parameters),
        kept=tuple(
            KeptParameter(
                one.parameter.key, _text(one.parameter.key, one.parameter.start), one.reason
            )
            for one in estimates
            if not one.determined and one.parameter.key not in found
        ),
        series=tuple(series),
        training=fmean(each[False]) if each[False] else None,
        hold_out=fmean(each[True]) if each[True] else None,
        simulations=simulations.made,
        budget_spent=solver.budget_spent,
    )
    record.discard()
    return Fit(result, text)


def record_beside(output: str) -> Path:
    """Where a fit that writes `output` keeps what it has simulated."""
    return Path(output + SUFFIX)


def _kept_keys(keys: Sequence[str]) -> set[str]:
    from nearfar.model.file import unknown_key

    for key in keys:
        if canonical(key) not in KEYS:
            raise InputError(f"keep: {unknown_key(key)}")
    return {canonical(key) for key in keys}


def _shaped(base: Model, found: Mapping[str, Fixed], follows: Mapping[str, Plain]) -> Model:
    """The base with the structure that was found. Raises InputError if no machine has it."""
    values = {**{key: one.value for key, one in found.items()}, **follows}
    try:
        return base.override({key: _given(key, value) for key, value in values.items()})
    except InputError as error:
        raise InputError(f"the findings fit no machine like {base.name}: {error}") from None


def _times(
    simulations: Simulations, trained: Sequence[Series], shaped: Model, fixed: Collection[str]
) -> tuple[Solver, list[Estimate]]:
    """Where there are too few points to fit to, every parameter stays the base's."""
    points = [point for one in trained for point in one.points]
    noise = _noise(points)
    parameters = {one.key: one for one in candidates(shaped, fixed)}
    alike = max(1.0, len(points) / max(1, len(trained)))
    solver = Solver(Misfit(simulations, points, noise, parameters, alike))
    if 0 < len(points) < _FEWEST:
        why = f"{len(points)} points are too few, expected {_FEWEST} or more to fit to"
        return solver, [unfitted(one, why) for one in parameters.values()]
    return solver, solver.solve()


def _noise(points: Sequence[HardwarePoint]) -> Vector:
    """Of ln(measured): how far repeated measurements of a point differ, and the floor beneath.

    Repeated measurements of one point count as one.
    """
    repeated: dict[object, list[float]] = {}
    for point in points:
        repeated.setdefault(point.key, []).append(point.real)
    found = []
    for point in points:
        values = repeated[point.key]
        middle = fmean(values)
        off = fmean((value / middle - 1) ** 2 for value in values) if middle else 0.0
        found.append(((FLOOR**2 + off) * len(values)) ** 0.5)
    return np.array(found)


def _of_structure(found: Mapping[str, Fixed]) -> list[FittedParameter]:
    made = []
    for key, one in found.items():
        bounds = one.interval
        interval = None
        if bounds is not None:
            interval = (_text(key, bounds[0]), _text(key, bounds[1]))
        made.append(FittedParameter(key, _text(key, one.value), STRUCTURE, one.findings, interval))
    return made


def _of_times(estimates: Sequence[Estimate], trained: Sequence[Series]) -> list[FittedParameter]:
    owners = [one.name for one in trained for _ in one.points]
    made = []
    for one in estimates:
        if not one.determined:
            continue
        key, value = one.parameter.key, one.parameter.value
        seen = tuple(dict.fromkeys(owners[at] for at in one.seen_by))[:_NAMED]
        interval = (_text(key, value(one.bounds[0])), _text(key, value(one.bounds[1])))
        made.append(FittedParameter(key, _text(key, value(one.log)), TIMES, seen, interval))
    return made


def _accuracies(
    simulations: Simulations,
    parameters: Sequence[FittedParameter],
    trained: Sequence[Series],
    held: Sequence[Series],
) -> tuple[list[FittedSeries], dict[bool, list[float]]]:
    """How the fitted model predicts what was fitted and what was held out, beside the base."""
    fitted = {
        one.key: int(KEYS[one.key].read_text(one.value)) for one in parameters if one.stage == TIMES
    }
    everything = [*trained, *held]
    simulations.budget += 2 * sum(len(point.jobs) for one in everything for point in one.points)
    series: list[FittedSeries] = []
    each: dict[bool, list[float]] = {False: [], True: []}
    for one in everything:
        before, after = simulations.run([({}, one.points), (fitted, one.points)])
        is_held = one in held
        series.append(_series(one, before, after, is_held))
        each[is_held] += [
            accuracy(p.real, v, p.unit) for p, v in zip(one.points, after, strict=True)
        ]
    return series, each


def _series(
    one: Series, before: Sequence[float], after: Sequence[float], held_out: bool
) -> FittedSeries:
    unit = one.points[0].unit
    reals = [point.real for point in one.points]
    scored = score(list(zip(reals, after, strict=True)), unit)
    return FittedSeries(
        name=one.name,
        n=scored.n,
        before=score(list(zip(reals, before, strict=True)), unit).mean,
        mean=scored.mean,
        worst=scored.worst,
        worst_point=one.points[scored.worst_index].label,
        mean_abs_log=scored.mean_abs_log,
        held_out=held_out,
        title=one.title,
        dataset=one.dataset,
        x_name=one.x_name,
        x_unit=one.x_unit,
        points=tuple(
            ComparedPoint(
                label=point.label,
                unit=point.unit,
                real=point.real,
                simulated=value,
                accuracy=accuracy(point.real, value, point.unit),
                x=point.x if one.x_name else None,
            )
            for point, value in zip(one.points, after, strict=True)
        ),
    )


def _nothing(given: Given, base: str) -> str:
    points = sum(len(one.points) for one in given.series)
    if 0 < points < _FEWEST:
        return (
            f"{', '.join(given.sources)}: found {points} points and no structure, expected "
            f"{_FEWEST} points or more to fit to"
        )
    return (
        f"{', '.join(given.sources)}: found nothing that fixes a parameter of {base}; "
        "`nearfar probe` finds structure and times, and another --base may fit better"
    )


def _given(key: str, value: Plain) -> object:
    """A value as `Model.override` takes it."""
    text = KEYS[key].format(value)
    return (
        text if isinstance(value, int) and not isinstance(value, bool) and _has_unit(key) else value
    )


def _has_unit(key: str) -> bool:
    return bool(KEYS[key].unit)


def _text(key: str, value: Plain) -> str:
    """A value as a model file has it."""
    whole = value if isinstance(value, (str, bool)) or not _whole(key) else round(value)
    return KEYS[key].format(whole)


def _whole(key: str) -> bool:
    return isinstance(KEYS[key].low, int) or bool(KEYS[key].unit)
