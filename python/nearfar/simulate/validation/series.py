"""Measurements of the real thing, each with the model run that should give the same number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from nearfar.errors import InputError
from nearfar.measuring.patterns import Pattern
from nearfar.simulate.validation.accuracy import SHARE
from nearfar.simulate.validation.tables import Row
from nearfar.simulate.walk import Played


@dataclass(frozen=True)
class Job:
    """One run of the model under validation, with some keys overridden.

    With several `seeds` it is run with each, and every quantity is the mean. `machine` names
    a preset to run in place of the model: the DRAM of the same server, say. Jobs are
    hashable, so that the store and the load curve of one pass share a run.
    """

    pattern: Pattern | Played
    overrides: tuple[tuple[str, str], ...] = ()
    seeds: tuple[int, ...] = (1,)
    cost: int = 0  # lines simulated, about; long jobs are started first
    machine: str = ""


@dataclass(frozen=True)
class HardwarePoint:
    """One measured value, and which quantity of which run stands against it.

    `x` places the point on its axis; None where the series is a list of figures. Points of
    one `curve` differ in x alone, so they have a shape. `quantity` names what to read from
    the run; see `validation.quantities`. With `relative_to` the simulated value is the
    ratio to the same quantity of that run; with `between` two runs, it is how far it has come
    from the first one's to the second one's. `scale` multiplies it: the number of machines
    that do the same side by side. `rows` are those of the tables that the value came from.
    """

    label: str
    real: float
    unit: str
    job: Job
    quantity: str
    x: float | None = None
    relative_to: Job | None = None
    between: tuple[Job, Job] | None = None
    scale: float = 1.0
    curve: str = ""
    rows: Sequence[Row] = field(default=(), compare=False, repr=False)

    @property
    def key(self) -> tuple[Job, str]:
        """Equal for repeated measurements of the same thing."""
        return (self.job, self.quantity)

    @property
    def jobs(self) -> tuple[Job, ...]:
        """The runs that the point needs."""
        if self.between is not None:
            return (self.job, *self.between)
        return (self.job,) if self.relative_to is None else (self.job, self.relative_to)

    def simulated(self, values: Mapping[tuple[Job, str], float]) -> float | None:
        """The model's figure, from what the runs gave so far; None before all have run."""
        found = [values.get((job, self.quantity)) for job in self.jobs]
        if any(value is None for value in found):
            return None
        value, *base = (value or 0.0 for value in found)
        if self.between is not None:
            low, high = base
            return max(0.0, (value - low) / (high - low)) if high != low else 0.0
        return self.scale * (value / base[0] if base and base[0] else value)


@dataclass(frozen=True)
class Series:
    """Measurements that belong on one curve, in the order of the axis.

    Raises InputError for a measurement that is not above zero, as no accuracy is relative to it;
    shares may be zero.
    """

    name: str
    title: str
    dataset: str
    source: str
    points: Sequence[HardwarePoint]
    x_name: str = ""
    x_unit: str = ""
    ordered: bool = False  # which of any two points is the larger is judged, too

    def __post_init__(self) -> None:
        for point in self.points:
            if not (point.real > 0 or (point.unit == SHARE and point.real == 0)):
                raise InputError(
                    f"{self.name}: {point.label} was measured as {point.real:g} {point.unit}, "
                    "expected more than 0"
                )
