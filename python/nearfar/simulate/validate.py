"""A model against published hardware measurements: runs, pairs, scores."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nearfar.measure.core import Core
from nearfar.measure.run import Progress
from nearfar.measure.target import describe, environment, resolve
from nearfar.model import Model
from nearfar.results import Environment, Target
from nearfar.simulate import tables
from nearfar.simulate.accuracy import Score, accuracy, ceiling, score
from nearfar.simulate.datasets import choose
from nearfar.simulate.datasets import overwrite as overwrite_dataset
from nearfar.simulate.pool import Task, run_tasks
from nearfar.simulate.series import HardwarePoint, Job, Series

SCHEMA = "nearfar/validation/1"
DEFAULT_AGAINST = ("demo",)
QUICK_POINTS = 10  # of each curve


@dataclass(frozen=True)
class Comparison:
    """A series with what the model gives for each of its points, in the same order."""

    series: Series
    simulated: Sequence[float]

    @property
    def pairs(self) -> list[tuple[float, float]]:
        """(real, simulated) for each point."""
        return [
            (point.real, value)
            for point, value in zip(self.series.points, self.simulated, strict=True)
        ]

    @property
    def score(self) -> Score:
        """Mean and worst accuracy over the points."""
        return score(self.pairs)

    @property
    def ceiling(self) -> float:
        """What predicting the median of repeated measurements would score."""
        points = self.series.points
        return ceiling([point.key for point in points], [point.real for point in points])

    def to_dict(self) -> dict[str, Any]:
        """The series as JSON has it."""
        scored = self.score
        return {
            "name": self.series.name,
            "title": self.series.title,
            "dataset": self.series.dataset,
            "source": self.series.source,
            "n": scored.n,
            "mean": scored.mean,
            "worst": scored.worst,
            "worst_point": self.series.points[scored.worst_index].label,
            "ceiling": self.ceiling,
            "mean_abs_log": scored.mean_abs_log,
            "x": {"name": self.series.x_name, "unit": self.series.x_unit},
            "points": [
                _point_dict(point, value)
                for point, value in zip(self.series.points, self.simulated, strict=True)
            ],
        }


@dataclass(frozen=True)
class Validation:
    """Every series of a validation, and the model it was made with."""

    model: Model
    target: Target
    environment: Environment
    against: Sequence[str]
    quick: bool
    comparisons: Sequence[Comparison]
    interrupted: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts and lists, as `json.dumps` takes them."""
        out: dict[str, Any] = {
            "schema": SCHEMA,
            "target": dataclasses.asdict(self.target),
            "environment": dataclasses.asdict(self.environment),
            "against": list(self.against),
            "quick": self.quick,
            "series": [comparison.to_dict() for comparison in self.comparisons],
        }
        if self.interrupted:
            out["interrupted"] = True
        return out


class ValidationInterrupted(KeyboardInterrupt):
    """Ctrl-C: `validation` holds the points that were finished."""

    def __init__(self, validation: Validation) -> None:
        super().__init__("interrupted")
        self.validation = validation


def validate(
    target: str | Model,
    against: str | Path | Sequence[str] = DEFAULT_AGAINST,
    *,
    quick: bool = False,
    progress: Progress | None = None,
    processes: int | None = None,
    core: Core | None = None,
) -> Validation:
    """Compare a model with published measurements.

    `against` names datasets or groups of them ("demo", "all"), or is a folder of tables of
    the same layout. `quick` takes a subset of each curve. Raises InputError, and
    ValidationInterrupted on Ctrl-C.
    """
    model = resolve(target)
    names, series = select(against, str(model["machine"]))
    if quick:
        series = [thin(one) for one in series]
    values: dict[tuple[Job, str], float] = {}

    def validation(interrupted: bool) -> Validation:
        return Validation(
            model=model,
            target=describe(model),
            environment=environment(model, seed=1),
            against=names,
            quick=quick,
            comparisons=[c for c in (_compare(one, values) for one in series) if c.simulated],
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
        raise ValidationInterrupted(validation(interrupted=True)) from None
    return validation(interrupted=False)


def select(against: str | Path | Sequence[str], machine: str) -> tuple[list[str], list[Series]]:
    """The series that `against` names, with the names as they go into the result."""
    if isinstance(against, Path) or (isinstance(against, str) and Path(against).is_dir()):
        found = tables.external(Path(against))
        datasets = choose(["all"], machine)
        names = [str(against)]
    else:
        found = tables.shipped()
        names = against.split(",") if isinstance(against, str) else list(against)
        datasets = choose(names, machine)
    return names, [series for dataset in datasets for series in dataset.build(found)]


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
            wanted.setdefault(point.job, {})[point.quantity] = None
    return [Task(job, tuple(names)) for job, names in wanted.items()]


def _compare(series: Series, values: dict[tuple[Job, str], float]) -> Comparison:
    """The points that have run."""
    points = tuple(point for point in series.points if point.key in values)
    return Comparison(
        dataclasses.replace(series, points=points), tuple(values[point.key] for point in points)
    )


def _point_dict(point: HardwarePoint, simulated: float) -> dict[str, Any]:
    out: dict[str, Any] = {
        "label": point.label,
        "unit": point.unit,
        "real": point.real,
        "simulated": simulated,
        "accuracy": accuracy(point.real, simulated),
    }
    if point.x is not None:
        out["x"] = point.x
    return out
