"""What a fit is: what measurements fix, what they do not, and how well the model predicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from nearfar.results.decode import encode
from nearfar.results.validation import ComparedPoint

STRUCTURE, TIMES = "structure", "times"  # the stages of a fit

OVER_FIT = 0.03  # a hold-out whose mean accuracy is worse by more than this over-fits
# A fit that predicts what it was fitted to worse than this is of another kind of machine.
POOR = 0.5


@dataclass(frozen=True)
class FittedParameter:
    """A key whose value follows from the observations.

    `value` and `interval` are texts as a model file has them; a value that is a word, or known
    from one side only, has no interval. That of a time is one of 90 %. `observations` are findings
    (stage "structure") or series (stage "times").
    """

    key: str
    value: str
    stage: str
    observations: Sequence[str]
    interval: Sequence[str] | None = None


@dataclass(frozen=True)
class KeptParameter:
    """A key that keeps the base's value, and why."""

    key: str
    value: str
    reason: str


@dataclass(frozen=True)
class FittedSeries:
    """A series of observations: how the base and the fitted model predict it.

    `before` is the accuracy of the base with the structure found, `mean` and `worst` that of
    the fitted model, whose figures are in `points`. One that is `held_out` was not looked at in
    the fit.
    """

    name: str
    n: int
    before: float
    mean: float
    worst: float
    worst_point: str
    mean_abs_log: float
    held_out: bool = False
    title: str = ""
    dataset: str = ""
    x_name: str = ""
    x_unit: str = ""
    points: Sequence[ComparedPoint] = ()


@dataclass(frozen=True)
class FitFold:
    """The same fit without some series, and the mean accuracy over the points of both kinds."""

    held_out: Sequence[str]
    training: float
    hold_out: float


@dataclass(frozen=True)
class FitResult:
    """A model made from measurements. `simulations` counts runs of one pattern on one machine.

    `training` and `hold_out` are mean accuracies over all points that were fitted, and over those
    that were held out: of this fit, or each in the one of `folds` that held it out.
    """

    SCHEMA: ClassVar[str] = "nearfar/fit/1"

    base: str
    sources: Sequence[str]
    model_hash: str
    parameters: Sequence[FittedParameter]
    kept: Sequence[KeptParameter]
    series: Sequence[FittedSeries] = ()
    training: float | None = None
    hold_out: float | None = None
    folds: Sequence[FitFold] = ()
    simulations: int = 0
    budget_spent: bool = False  # the budget ended the search before it settled

    @property
    def over_fits(self) -> bool:
        """Whether what was held out is predicted clearly worse than what was fitted."""
        if self.training is None or self.hold_out is None:
            return False
        return self.hold_out < self.training - OVER_FIT

    @property
    def is_poor(self) -> bool:
        """Whether not even what was fitted is predicted."""
        return self.training is not None and self.training < POOR

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts and lists, as `json.dumps` takes them."""
        return {"schema": self.SCHEMA, **encode(self)}
