"""A model against published hardware measurements: runs, pairs, scores."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

from nearfar.errors import InputError, Interrupted
from nearfar.measuring.core import Core
from nearfar.measuring.run import Progress
from nearfar.measuring.target import describe, environment, resolve
from nearfar.model import Model
from nearfar.results import (
    ComparedPoint,
    ComparedSeries,
    CurveFeature,
    Mark,
    MeasureResult,
    ModelCard,
    Ordering,
    Parameter,
    ProbeResult,
    ValidationResult,
    load,
)
from nearfar.simulate.pool import Task, run_tasks
from nearfar.simulate.validation import saved, tables
from nearfar.simulate.validation.accuracy import accuracy, ceiling, score
from nearfar.simulate.validation.datasets import choose, kind_of, loaded
from nearfar.simulate.validation.datasets import overwrite as overwrite_dataset
from nearfar.simulate.validation.orderings import Figure, pairs
from nearfar.simulate.validation.series import HardwarePoint, Job, Series
from nearfar.simulate.validation.shape import Sample, features

DEFAULT_AGAINST = ("demo",)
ProbedSeries = Callable[[ProbeResult, str], list[Series]]  # of a probe, by the name it is to have
QUICK_POINTS = 10  # of each curve


def validate(
    target: str | Model,
    against: str | Path | Sequence[str] = DEFAULT_AGAINST,
    *,
    quick: bool = False,
    progress: Progress | None = None,
    processes: int | None = None,
    core: Core | None = None,
    probed: ProbedSeries | None = None,
) -> ValidationResult:
    """Compare a model with published measurements, whose source each series names.

    The accuracy of a point is 1 - |simulated - real| / real, and 0 where that is negative.

    `against` names datasets or groups of them ("demo", "all"); a folder among the names has
    the tables to read instead of those that come with nearfar. `quick` takes a subset of
    each curve. A saved probe among the names needs `probed`, which makes series of one:
    `nearfar.fitting.probe_series`. So many `processes` run the model, by default one for each
    processor; the result does not depend on it. Raises InputError, and Interrupted on Ctrl-C.
    """
    if processes is not None and processes < 1:
        raise InputError(f"jobs: found {processes}, expected at least 1")
    model = resolve(target)
    names, series = select(against, kind_of(model), probed)
    if quick:
        series = [thin(one) for one in series]
    values: dict[tuple[Job, str], float] = {}

    def validation(interrupted: bool) -> ValidationResult:
        return ValidationResult(
            target=describe(model),
            environment=environment(model, seed=1),
            against=tuple(names),
            series=tuple(
                compared for one in series if (compared := _compare(one, values, model)) is not None
            ),
            model=model_card(model),
            quick=quick,
            interrupted=interrupted,
        )

    tasks = _tasks(series)
    try:
        for done, (place, found) in enumerate(
            run_tasks(model, tasks, processes=processes, core=core), start=1
        ):
            values.update({(tasks[place].job, name): value for name, value in found.items()})
            if progress is not None:
                progress(done, len(tasks))
    except KeyboardInterrupt:
        raise Interrupted(validation(interrupted=True)) from None
    return validation(interrupted=False)


def select(
    against: str | Path | Sequence[str], machine: str, probed: ProbedSeries | None = None
) -> tuple[list[str], list[Series]]:
    """The series that `against` names, with the names as they go into the result.

    A folder among the names stands for the tables to read; without another name beside it,
    for everything in it. A saved measurement among them is played again on the model.
    """
    if isinstance(against, str):
        names = [name.strip() for name in against.split(",")]
    else:
        names = [str(against)] if isinstance(against, Path) else list(against)
    results = [name for name in names if name.endswith(".json") and Path(name).is_file()]
    measured = [series for name in results for series in _saved(name, probed)]
    names = [name for name in names if name not in results]
    if not names:
        return results, measured
    folders = [name for name in names if Path(name).is_dir()]
    if len(folders) > 1:
        raise InputError(f"against: found two folders, {folders[0]} and {folders[1]}, expected one")
    found = tables.external(Path(folders[0])) if folders else tables.shipped()
    datasets = choose([name for name in names if name not in folders] or ["all"], machine)
    series = [one for dataset in datasets for one in dataset.build(found)]
    if not series:
        apart = [one.name for one in datasets if one.name in (*loaded.NAMES.values(), loaded.OTHER)]
        hint = "; it does not come with nearfar, name the folder that has it, too" if apart else ""
        raise InputError(f"against: {found.origin} has no table for {', '.join(names)}{hint}")
    return [*names, *results], [*series, *measured]


def _saved(file: str, probed: ProbedSeries | None) -> list[Series]:
    """The series of a file that `measure` or `probe` saved. Raises InputError for another one."""
    document = load(file)
    if isinstance(document, ProbeResult) and probed is not None:
        found = probed(document, Path(file).stem)
        if not found:
            raise InputError(f"{file}: found a probe without experiments that a model can repeat")
        return found
    if not isinstance(document, MeasureResult):
        raise InputError(
            f"{file}: found {document.SCHEMA}, expected what `measure` or `probe` saved"
        )
    return saved.series(document, Path(file).stem)


def thin(series: Series) -> Series:
    """A subset for a quick look: first, last and evenly between; fewer stalls."""
    points = series.points
    if len(points) > QUICK_POINTS:
        last = len(points) - 1
        kept = sorted({round(i * last / (QUICK_POINTS - 1)) for i in range(QUICK_POINTS)})
        points = [points[i] for i in kept]
    return dataclasses.replace(
        series, points=tuple(overwrite_dataset.shorten(point) for point in points)
    )


def _tasks(series: Sequence[Series]) -> list[Task]:
    """Each run once, whatever number of curves reads from it."""
    wanted: dict[Job, dict[str, None]] = {}
    for one in series:
        for point in one.points:
            for job in point.jobs:
                wanted.setdefault(job, {})[point.quantity] = None
    return [Task(job, tuple(names)) for job, names in wanted.items()]


def _compare(
    series: Series, values: dict[tuple[Job, str], float], model: Model
) -> ComparedSeries | None:
    """The series with its points that have run; None when none has."""
    found = [(point, point.simulated(values)) for point in series.points]
    pairs = [(point, value) for point, value in found if value is not None]
    if not pairs:
        return None
    points = [point for point, _ in pairs]
    simulated = [value for _, value in pairs]
    reals = [point.real for point in points]
    unit = points[0].unit
    scored = score(list(zip(reals, simulated, strict=True)), unit)
    return ComparedSeries(
        name=series.name,
        title=series.title,
        dataset=series.dataset,
        source=series.source,
        n=scored.n,
        mean=scored.mean,
        worst=scored.worst,
        worst_point=points[scored.worst_index].label,
        ceiling=ceiling([point.key for point in points], reals, unit),
        mean_abs_log=scored.mean_abs_log,
        points=tuple(
            ComparedPoint(
                label=point.label,
                unit=point.unit,
                real=point.real,
                simulated=value,
                accuracy=accuracy(point.real, value, unit),
                x=point.x if series.x_name else None,
            )
            for point, value in zip(points, simulated, strict=True)
        ),
        shape=_shape(points, simulated),
        x_name=series.x_name,
        x_unit=series.x_unit,
        marks=_capacities(points[0].job, model) if series.x_name == "region" else (),
        orderings=_orderings(points, simulated) if series.ordered else (),
    )


def _orderings(points: Sequence[HardwarePoint], simulated: Sequence[float]) -> list[Ordering]:
    """Every two of the points that the hardware has in a clear order."""
    figures = [
        Figure(point.label, point.real, value)
        for point, value in zip(points, simulated, strict=True)
    ]
    ratios = all(point.relative_to is not None for point in points)
    return [
        Ordering(
            lower=pair.lower.name,
            higher=pair.higher.name,
            real=(pair.lower.real, pair.higher.real),
            simulated=(pair.lower.simulated, pair.higher.simulated),
            right=pair.right,
        )
        for pair in pairs(figures, ratios=ratios)
    ]


def _shape(points: Sequence[HardwarePoint], simulated: Sequence[float]) -> list[CurveFeature]:
    """The features of the curves among the points, from the measurement and from the model."""
    samples = [
        (point.curve, Sample(point.x, point.real, value))
        for point, value in zip(points, simulated, strict=True)
        if point.curve and point.x is not None
    ]
    return [
        CurveFeature(one.curve, one.name, one.real, one.simulated, one.right)
        for one in features(samples)
    ]


def _capacities(job: Job, model: Model) -> tuple[Mark, ...]:
    """Where a region outgrows the DIMMs' buffers, as the model has them."""
    machine = model.override(*(f"{key}={value}" for key, value in job.overrides))
    channels = int(machine["channels"])
    return tuple(
        Mark(channels * int(machine[f"{key}.entries"]) * int(machine[f"{key}.entry"]), name)
        for key, name in (("nvdimm.rmw", "RMW buffer"), ("nvdimm.ait", "AIT buffer"))
    )


def model_card(model: Model) -> ModelCard:
    """Every value of the model with its source, as a page shows it."""
    return ModelCard(
        name=model.name,
        description=model.description,
        parameters=tuple(
            Parameter(
                key,
                entry.key.format(entry.value),
                entry.source or "chosen by the model",
                entry.key.meaning,
            )
            for key, entry in model.values.items()
        ),
    )
