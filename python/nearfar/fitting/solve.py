"""Stage two of a fit: the times and rates that make the model give what was measured.

What is minimised is the sum of squared ln(simulated / measured), each over the noise, plus that of
ln(value / base's value) over the spread that the base's value has: where observations see a sum
of times alone, the sum is fitted and its parts stay as near to the base as it allows. The noise is
at least a floor: what the model leaves out does not average away.

The search is `scipy.optimize.least_squares` (trust region reflective) with finite differences
wide enough to cross the steps of a curve.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.errors import NearfarError
from nearfar.fitting.parameters import Parameter
from nearfar.fitting.simulations import BudgetSpentError, Simulations
from nearfar.simulate.validation.accuracy import SHARE
from nearfar.simulate.validation.series import HardwarePoint

FLOOR = 0.02  # of ln(simulated / measured): what a model of this kind leaves out
SEEN = 0.003  # a change of ln(simulated) for one of ln(value) that is no sensitivity
DETERMINED = 0.5  # of the spread before: what is left of it where observations fix a value
QUANTILE = 1.645  # of a normal distribution: 90 % lie within so many standard deviations

_STEP = 0.06  # of ln(value), for differences
_BLOCK_STEPS, _JOINT_STEPS = 2, 4
_SETTLED = 1e-3

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """A parameter after the fit: ln(value / start), with its 90 % bounds, and the points that see
    it. One that is not `determined` has the base's value."""

    parameter: Parameter
    log: float
    bounds: tuple[float, float]
    determined: bool
    seen_by: tuple[int, ...]  # indices of points, most sensitive first
    reason: str = ""


@dataclass
class Solver:
    """Fits parameters to points. `noise` has the standard deviation of each ln(measured)."""

    simulations: Simulations
    points: Sequence[HardwarePoint]
    noise: Sequence[float]
    budget_spent: bool = False
    _logs: dict[str, float] = field(default_factory=dict)
    _by_key: dict[str, Parameter] = field(default_factory=dict)
    _seen_by: dict[str, list[int]] = field(default_factory=dict)

    def solve(self, parameters: Sequence[Parameter]) -> list[Estimate]:
        """Blocks first, then all that the observations see; estimates in the order given."""
        self._by_key = {one.key: one for one in parameters}
        self._logs = {one.key: 0.0 for one in parameters}
        if not parameters or not self.points:
            return []
        try:
            slopes = self._slopes(parameters)
        except BudgetSpentError:
            self.budget_spent = True
            return [Estimate(one, 0.0, (0.0, 0.0), False, (), _UNSPENT) for one in parameters]
        self._seen_by = {
            one.key: np.flatnonzero(slopes[:, i]).tolist() for i, one in enumerate(parameters)
        }
        seen = [one for i, one in enumerate(parameters) if _sees(slopes[:, i])]
        for block in dict.fromkeys(one.block for one in seen):
            self._search([one for one in seen if one.block == block], _BLOCK_STEPS)
        self._search(seen, _JOINT_STEPS)
        return self._estimates(parameters, slopes)

    def _estimates(self, parameters: Sequence[Parameter], before: Matrix) -> list[Estimate]:
        self._seen_by = {}  # what was hidden behind another limit may show now
        try:
            slopes = self._slopes(parameters)
        except BudgetSpentError:
            self.budget_spent = True
            slopes = before
        deviation = self._deviations(parameters, slopes)
        chosen = self._determined(parameters, slopes)
        dropped = [one for one in parameters if one not in chosen]
        for one in dropped:
            self._logs[one.key] = 0.0
        if any(_sees(slopes[:, parameters.index(one)]) for one in dropped):
            self._search(chosen, _JOINT_STEPS)
        found = []
        for i, one in enumerate(parameters):
            log, width = self._logs[one.key], QUANTILE * deviation[i]
            column = np.abs(slopes[:, i])
            order = [int(at) for at in np.argsort(-column, kind="stable") if column[at] > SEEN]
            why = "" if one in chosen else (_ALONE if _sees(slopes[:, i]) else _UNSEEN)
            bounds = (log - width, log + width)
            found.append(Estimate(one, log, bounds, one in chosen, tuple(order), why))
        return found

    def _determined(self, parameters: Sequence[Parameter], slopes: Matrix) -> list[Parameter]:
        """Those whose spread the observations halve, once the least known are taken as given."""
        left = [i for i in range(len(parameters)) if _sees(slopes[:, i])]
        while left:
            chosen = [parameters[i] for i in left]
            deviation = self._deviations(chosen, slopes[:, left])
            share = [deviation[at] / one.spread for at, one in enumerate(chosen)]
            worst = max(range(len(left)), key=lambda at: share[at])
            if share[worst] <= DETERMINED:
                break
            del left[worst]
        return [parameters[i] for i in left]

    def _deviations(self, parameters: Sequence[Parameter], slopes: Matrix) -> Vector:
        """The standard deviation of each ln(value) that noise and the base's spread leave."""
        weighted = slopes / np.asarray(self.noise)[:, None]
        before = np.diag([one.spread**-2 for one in parameters])
        # A model that is further off than the noise leaves out more than the floor says.
        off = (self._here() - self._measured()) / np.asarray(self.noise)
        excess = max(1.0, float(np.mean(off**2)))
        covariance = np.linalg.inv(weighted.T @ weighted / excess + before)
        deviations: Vector = np.sqrt(np.diag(covariance))
        return deviations

    def _search(self, parameters: Sequence[Parameter], steps: int) -> None:
        """Move `parameters` to where the error is least; the best place if the budget ends it."""
        if not parameters or self.budget_spent:
            return
        best = (math.inf, [self._logs[one.key] for one in parameters])
        spread = np.array([one.spread for one in parameters])
        noise = np.asarray(self.noise)

        def residuals(x: Vector) -> Vector:
            nonlocal best
            off = self._here(parameters, x) - self._measured()
            found: Vector = np.concatenate([off / noise, x / spread])
            best = min(best, (float(found @ found), x.tolist()))
            return found

        def jacobian(x: Vector) -> Matrix:
            slopes = self._slopes(parameters, x) / noise[:, None]
            return np.vstack([slopes, np.diag(1 / spread)])

        low, high = zip(*(one.bounds() for one in parameters), strict=True)
        start = np.clip(np.array(best[1]), np.array(low) + _SETTLED, np.array(high) - _SETTLED)
        try:
            _least_squares()(
                residuals,
                start,
                jac=jacobian,
                bounds=(low, high),
                max_nfev=steps,
                xtol=_SETTLED,
                ftol=_SETTLED,
            )
        except BudgetSpentError:
            self.budget_spent = True
        for one, log in zip(parameters, best[1], strict=True):
            self._logs[one.key] = log

    def _slopes(self, parameters: Sequence[Parameter], at: Vector | None = None) -> Matrix:
        """d ln(simulated) / d ln(value), by differences: a row a point, a column a parameter.

        A point that did not change with a parameter at first is not simulated for it again.
        """
        x = np.array([self._logs[one.key] for one in parameters]) if at is None else at
        everything = list(range(len(self.points)))
        rows = [self._seen_by.get(one.key, everything) for one in parameters]
        moved = [self._variant(parameters, x + _STEP * row) for row in np.eye(len(parameters))]
        asked = [(self._variant(parameters, x), everything), *zip(moved, rows, strict=True)]
        here, *there = self._values(asked)
        slopes = np.zeros((len(self.points), len(parameters)))
        for column, (found, indices) in enumerate(zip(there, rows, strict=True)):
            slopes[indices, column] = (found - here[indices]) / _STEP
        return slopes

    def _variant(
        self, parameters: Sequence[Parameter] = (), logs: Sequence[float] | Vector = ()
    ) -> dict[str, int]:
        now = {**self._logs, **{one.key: float(x) for one, x in zip(parameters, logs, strict=True)}}
        return {key: self._by_key[key].value(log) for key, log in now.items() if log != 0.0}

    def _here(self, parameters: Sequence[Parameter] = (), logs: Vector | None = None) -> Vector:
        """ln(simulated) of every point."""
        variant = self._variant(parameters, () if logs is None else logs)
        here: Vector = self._values([(variant, range(len(self.points)))])[0]
        return here

    def _values(self, asked: Sequence[tuple[dict[str, int], Sequence[int]]]) -> list[Vector]:
        chosen = [(variant, [self.points[i] for i in at]) for variant, at in asked]
        found = self.simulations.run(chosen)
        return [
            np.array([_log(point, value) for point, value in zip(points, values, strict=True)])
            for (_, points), values in zip(chosen, found, strict=True)
        ]

    def _measured(self) -> Vector:
        return np.array([_log(point, point.real) for point in self.points])


def _log(point: HardwarePoint, value: float) -> float:
    """What is compared: the logarithm, a thousandth at least; of a share the share."""
    return value if point.unit == SHARE else math.log(max(value, point.real / 1000))


def _sees(column: Vector) -> bool:
    return bool(np.max(np.abs(column)) > SEEN)


def _least_squares() -> Any:
    try:
        from scipy.optimize import least_squares
    except ImportError:
        raise NearfarError(
            "fit: scipy is not installed; type: pip install 'nearfar[fit]'"
        ) from None
    return least_squares


_UNSEEN = "no observation changes with it"
_ALONE = "the observations see it only together with others"
_UNSPENT = "the budget of simulations ended before it was looked at"
