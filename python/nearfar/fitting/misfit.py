"""How far a model is from what was measured, point by point, with few runs.

A point that does not change with a parameter is not simulated again when that parameter moves:
once it is known which points see a parameter, a point's run has only the parameters it sees.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from nearfar.fitting.parameters import Parameter
from nearfar.fitting.simulations import BudgetSpentError, Simulations
from nearfar.simulate.validation.accuracy import SHARE
from nearfar.simulate.validation.series import HardwarePoint

SEEN = 0.003  # a change of ln(simulated) for one of ln(value) that is no sensitivity
LINEAR = 3.0  # standard deviations: what is further off counts by its distance, not its square

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Logs = Mapping[str, float]  # key to ln(value / start)


@dataclass
class Misfit:
    """Points and the runs that stand against them. `noise` has the standard deviation of each
    ln(measured). What the model leaves out is off alike in so many points (`alike`): those of one
    series say no more about a value than one does."""

    simulations: Simulations
    points: Sequence[HardwarePoint]
    noise: Vector
    parameters: Mapping[str, Parameter]
    alike: float = 1.0
    slopes: dict[str, Vector] = field(default_factory=dict)  # d ln(simulated) / d ln(value)
    _seen_by: dict[str, set[int]] = field(default_factory=dict)

    @property
    def _rows(self) -> range:
        return range(len(self.points))

    @property
    def runs(self) -> int:
        """Runs of a model that all points take."""
        return len({job for point in self.points for job in point.jobs})

    @property
    def has_looked(self) -> bool:
        """Whether it is known which points see which parameters."""
        return bool(self._seen_by)

    def part(self, indices: Sequence[int]) -> Misfit:
        """Some of the points alone."""
        return Misfit(
            self.simulations,
            [self.points[i] for i in indices],
            self.noise[list(indices)],
            self.parameters,
            self.alike,
        )

    def look(self, at: Logs, width: float) -> None:
        """Find out which points see which parameters, and how steeply, from `at` to `width` on its
        limiting side: a longer time shows even where another one is the limit now. What was seen
        from elsewhere stays seen, so that a place has one misfit whatever was looked at since.

        Raises BudgetSpentError.
        """
        before, self._seen_by = self._seen_by, {}
        moved_to = {key: _looked_at(one, at[key], width) for key, one in self.parameters.items()}
        try:
            here, *moved = self.simulated([at, *({**at, key: to} for key, to in moved_to.items())])
        except BudgetSpentError:
            self._seen_by = before
            raise
        for key, found in zip(self.parameters, moved, strict=True):
            slope = (found - here) / (moved_to[key] - at[key])
            seen = set(np.flatnonzero(np.abs(slope) > SEEN).tolist())
            self._seen_by[key] = seen | before.get(key, set())
            self.slopes[key] = np.where(np.abs(slope) > SEEN, slope, 0.0)

    def learn(self, moved: Logs, change: Vector) -> None:
        """Correct the slopes by what a step that `moved` some parameters changed: row by row, the
        parameters that the point sees alone (Schubert's form of Broyden's update)."""
        keys = [key for key, by in moved.items() if by != 0.0]
        if not keys:
            return
        steps = np.array([[moved[key] * self._sees(key, at) for key in keys] for at in self._rows])
        slopes = np.stack([self.slopes[key] for key in keys], axis=1)
        missed = change - np.sum(slopes * steps, axis=1)
        length = np.maximum(np.sum(steps**2, axis=1), _SMALL)
        slopes += (missed / length)[:, None] * steps
        for place, key in enumerate(keys):
            self.slopes[key] = slopes[:, place]

    def seen(self, key: str) -> Collection[int]:
        """The points that change with a parameter."""
        return self._seen_by[key]

    def simulated(self, asked: Sequence[Logs]) -> list[Vector]:
        """ln(simulated) of every point, for each of several places. Raises BudgetSpentError."""
        runs = []
        for logs in asked:
            settings = {
                key: self.parameters[key].values(log) for key, log in logs.items() if log != 0.0
            }
            for at, point in enumerate(self.points):
                seen = [own for key, own in settings.items() if self._sees(key, at)]
                runs.append(({key: by for own in seen for key, by in own.items()}, (point,)))
        values = iter(self.simulations.run(runs))
        return [np.array([_log(point, next(values)[0]) for point in self.points]) for _ in asked]

    def residuals(self, simulated: Vector) -> Vector:
        """How far off each point is, in standard deviations; large ones grow as their root, so
        that a few points no model can give do not decide over the others."""
        off = (simulated - self._measured()) / self.noise
        grown = np.sqrt(1 + (off / LINEAR) ** 2) - 1
        found: Vector = np.sign(off) * LINEAR * np.sqrt(2 * grown)
        return found

    def weights(self, simulated: Vector) -> Vector:
        """d residual / d ln(simulated)."""
        off = (simulated - self._measured()) / self.noise
        residuals = self.residuals(simulated)
        steep = np.sqrt(1 + (off / LINEAR) ** 2)
        small = np.abs(residuals) < _SMALL
        return np.where(small, 1.0, off / (np.where(small, 1.0, residuals) * steep)) / self.noise

    def _sees(self, key: str, point: int) -> bool:
        return key not in self._seen_by or point in self._seen_by[key]

    def _measured(self) -> Vector:
        return np.array([_log(point, point.real) for point in self.points])


_SMALL = 1e-6


def _looked_at(one: Parameter, log: float, width: float) -> float:
    """Where to look for what a parameter limits. Whether a budget of power limits anything shows
    only near the least that it can be."""
    lowest = one.bounds()[0]
    if one.limiting > 0 or log - lowest < width:
        return log + one.step(log, width)
    return lowest


def _log(point: HardwarePoint, value: float) -> float:
    """What is compared: the logarithm, a thousandth at least; of a share the share."""
    return value if point.unit == SHARE else math.log(max(value, point.real / 1000))
