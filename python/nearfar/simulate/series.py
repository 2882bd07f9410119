"""Measurements of the real thing, each with the model run that should give the same number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nearfar.measure.patterns import Pattern


@dataclass(frozen=True)
class Job:
    """One run of the model under validation, with some keys overridden.

    Jobs are hashable, so that the store and the load curve of one pass share a run.
    """

    pattern: Pattern
    overrides: tuple[tuple[str, str], ...] = ()
    cost: int = 0  # lines simulated, about; long jobs are started first


@dataclass(frozen=True)
class HardwarePoint:
    """One measured value, and which quantity of which run stands against it.

    `x` places the point on its series' axis; None where the series is a list of figures.
    `quantity` names what to read from the run; see `nearfar.simulate.quantities`.
    """

    label: str
    real: float
    unit: str
    job: Job
    quantity: str
    x: float | None = None

    @property
    def key(self) -> tuple[Job, str]:
        """Equal for repeated measurements of the same thing."""
        return (self.job, self.quantity)


@dataclass(frozen=True)
class Series:
    """Measurements that belong on one curve, in the order of the axis."""

    name: str
    title: str
    dataset: str
    source: str
    points: Sequence[HardwarePoint]
    x_name: str = ""
    x_unit: str = ""
