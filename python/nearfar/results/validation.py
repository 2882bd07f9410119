"""What a validation is: series of measured points, each with what the model gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from nearfar.results.decode import encode
from nearfar.results.schema import Environment, Target


@dataclass(frozen=True)
class ComparedPoint:
    """A measurement and the model's figure for it. `x` places it on the series' axis."""

    label: str
    unit: str
    real: float
    simulated: float
    accuracy: float
    x: float | None = None


@dataclass(frozen=True)
class Mark:
    """A place on the axis where the model's structure changes, such as a buffer's capacity."""

    x: float
    label: str


@dataclass(frozen=True)
class CurveFeature:
    """Something that a curve shows beside its values: its peak, its knee, a collapse, its order.

    `right` when the model shows the same as the hardware.
    """

    curve: str
    feature: str
    real: str
    simulated: str
    right: bool = False


@dataclass(frozen=True)
class Ordering:
    """Two figures of a series, of which the hardware has `lower` clearly below `higher`.

    `real` and `simulated` have both values, the lower one's first; `right` when the model has
    them in that order, too.
    """

    lower: str
    higher: str
    real: Sequence[float]
    simulated: Sequence[float]
    right: bool = False


@dataclass(frozen=True)
class ComparedSeries:
    """Points that belong on one curve, and how the model fares on them.

    `worst` is the accuracy of the worst point and `worst_point` its label; `ceiling` is the
    mean accuracy of predicting each key's own median measurement; `mean_abs_log` is the mean
    of |ln(simulated / real)|. `x_name` is empty where the series is a list of figures;
    `shape` has the features of the curves that the series consists of, `orderings` its pairs of
    figures where the study is about which is the larger.
    """

    name: str
    title: str
    dataset: str
    source: str
    n: int
    mean: float
    worst: float
    worst_point: str
    ceiling: float
    mean_abs_log: float
    points: Sequence[ComparedPoint]
    shape: Sequence[CurveFeature] = ()
    x_name: str = ""
    x_unit: str = ""
    marks: Sequence[Mark] = ()
    orderings: Sequence[Ordering] = ()


@dataclass(frozen=True)
class Parameter:
    """One value of the model and where it comes from."""

    key: str
    value: str
    source: str
    meaning: str = ""


@dataclass(frozen=True)
class ModelCard:
    """The model that was validated, complete enough to read beside the curves."""

    name: str
    description: str
    parameters: Sequence[Parameter]


@dataclass(frozen=True)
class ValidationResult:
    """A model against published measurements."""

    SCHEMA: ClassVar[str] = "nearfar/validation/1"

    target: Target
    environment: Environment
    against: Sequence[str]
    series: Sequence[ComparedSeries]
    model: ModelCard
    quick: bool = False  # a subset of each curve
    interrupted: bool = False  # Ctrl-C: only the points that were finished are here

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts and lists, as `json.dumps` takes them."""
        return {"schema": self.SCHEMA, **encode(self)}
