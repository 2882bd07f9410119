"""Stage two of a fit: the times and rates that make the model give what was measured.

What is minimised is the sum of squared ln(simulated / measured), each over the noise, plus that of
ln(value / base's value) over the spread that the base's value has: where observations see a sum
of times alone, the sum is fitted and its parts stay as near to the base as it allows. The noise is
at least a floor: what the model leaves out does not average away.

For all parameters together, then block by block, `scipy.optimize.least_squares` (trust region
reflective) follows slopes: differences wide enough to cross the steps of a curve, corrected by
every step that it makes (Broyden's method). A curve with steps has valleys that slopes do not lead
out of, so each parameter of a block is first tried at values around where it stands.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nearfar.errors import NearfarError
from nearfar.fitting.misfit import SEEN, Matrix, Misfit, Vector
from nearfar.fitting.parameters import POWER, Parameter, power_of_rate
from nearfar.fitting.simulations import BudgetSpentError
from nearfar.simulate.walk import Played

FLOOR = 0.02  # of ln(simulated / measured): what a model of this kind leaves out
DETERMINED = 0.5  # of the spread before: what is left of it where observations fix a value
QUANTILE = 1.645  # of a normal distribution: 90 % lie within so many standard deviations

_LOOK = 0.5  # of ln(value): how far a parameter is moved at first to see what changes
_NEAR = 0.15  # the same, from where the search came to
_STEP = 0.06  # of ln(value), for differences; more where a count is small
_COARSE = (-0.9, -0.5, 0.5)  # of ln(value): where a block's parameters are tried
_FINE = (-0.2, 0.2)
_BLOCK_STEPS, _JOINT_STEPS = 4, 10
_RUNS_EACH, _RUNS_TOGETHER = 4, 30  # of all points, about: for each parameter, and for all
_WIDENINGS = 4  # of an end of an interval, each to twice as far
_SETTLED = 1e-3
_CLOSE = 0.1  # mean square of residuals, in variances of the noise: a third of its deviation
_POLISHES = 4
_GAINED = 0.95  # the share of the misfit that is left at most if that was worth it


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


def unfitted(parameter: Parameter, reason: str) -> Estimate:
    """One that has the base's value, without a search."""
    return Estimate(parameter, 0.0, (0.0, 0.0), False, (), reason)


@dataclass
class Solver:
    """Moves parameters to where the misfit is least."""

    misfit: Misfit
    budget_spent: bool = False
    logs: dict[str, float] = field(default_factory=dict)
    rivals: list[dict[str, float]] = field(default_factory=list)  # that explain as much as `logs`

    def solve(self) -> list[Estimate]:
        """Blocks first, then all that the observations see; estimates in the order given."""
        parameters = list(self.misfit.parameters.values())
        self.logs = {one.key: 0.0 for one in parameters}
        if not parameters or not self.misfit.points:
            return []
        whole = self.misfit
        whole.simulations.expect(whole.runs * (_RUNS_EACH * len(parameters) + _RUNS_TOGETHER))
        single = self._single_accesses()
        settled: set[str] = set()
        if 0 < len(single) < len(whole.points):
            self.misfit = whole.part(single)
            settled = self._settle(parameters, settled)
            self.misfit = whole
        self._settle(parameters, settled)
        if self.budget_spent and not whole.has_looked:
            return [unfitted(one, _UNSPENT) for one in parameters]
        self._look_again()
        seen = self._seen(parameters)
        self._try_around(seen, _FINE)
        self._search(seen, _JOINT_STEPS)
        self._compare_power(seen)
        self._polish(seen)
        return self._estimates(parameters)

    def _polish(self, seen: Sequence[Parameter]) -> None:
        """Search again from where the search ended, along slopes of that place, for as long as that
        gains something and there is something to gain."""
        before = math.inf
        for _ in range(_POLISHES):
            if self.budget_spent:
                return
            self.misfit.simulations.budget += self.misfit.runs  # more may be seen here by now
            here = self.misfit.simulated([self.logs])[0]
            cost = self._cost(self.logs, here)
            close = float(np.mean(self.misfit.residuals(here) ** 2)) < _CLOSE
            if close or cost > _GAINED * before:
                return
            before = cost
            self._look_again()
            self._search(seen, _JOINT_STEPS)

    def _compare_power(self, seen: Sequence[Parameter]) -> None:
        """Where a power budget could be what limits in place of a time: search from there as well.
        Go on from the better; the other is a rival if the observations hardly speak against it."""
        for one in seen:
            other = self._by_power(one)
            if other is None or self.budget_spent:
                continue
            first = self.logs
            self.logs = {**first, POWER: other[POWER]}  # where either limits
            self._try([other])
            self._look_again()  # slopes are others there
            self._search(seen, _JOINT_STEPS)
            if self.budget_spent:
                self.logs = first
                return
            second = self.logs
            self._try([first])
            if self.budget_spent:
                self.logs = first
                return
            worse = first if self.logs == second else second
            if not self._is_worse(worse, self.logs):
                self.rivals.append(worse)

    def _single_accesses(self) -> list[int]:
        """Points of which one access after another was timed: quick to simulate, and most of the
        parameters show there."""
        points = self.misfit.points
        return [i for i, one in enumerate(points) if isinstance(one.job.pattern, Played)]

    def _settle(self, parameters: Sequence[Parameter], settled: set[str]) -> set[str]:
        """Fit to the points at hand: in blocks what is not `settled`, then all that they see.
        Returns what they see."""
        if self.budget_spent:
            return set()
        try:
            self.misfit.look(self.logs, _LOOK)
        except BudgetSpentError:
            self.budget_spent = True
            return set()
        seen = self._seen(parameters)
        self._search(seen, _JOINT_STEPS)
        new = [one for one in seen if one.key not in settled]
        for block in dict.fromkeys(one.block for one in new):
            own = [one for one in new if one.block == block]
            self._try_around(own, _COARSE)
            self._search(own, _BLOCK_STEPS)
        self._try([other for one in seen if (other := self._by_power(one)) is not None])
        self._search(seen, _JOINT_STEPS)
        return {one.key for one in seen}

    def _seen(self, parameters: Sequence[Parameter]) -> list[Parameter]:
        return [one for one in parameters if self.misfit.seen(one.key)]

    def _look_again(self) -> None:
        """What was hidden behind another limit may show now."""
        if self.budget_spent:
            return
        try:
            self.misfit.look(self.logs, _NEAR)
        except BudgetSpentError:
            self.budget_spent = True

    def _estimates(self, parameters: Sequence[Parameter]) -> list[Estimate]:
        seen = self._seen(parameters)
        slopes = self._last_slopes(parameters)
        deviation = self._deviations(parameters, slopes, self.misfit.alike, own=True)
        together = dict(self.logs)
        chosen = self._chosen(parameters, slopes)
        bounds = {
            one.key: self._bounds(one, together[one.key], deviation[parameters.index(one)])
            for one in chosen
        }
        alone = _ALONE
        if len(self.misfit.points) < len(seen):
            alone = f"{len(self.misfit.points)} points are too few to tell {len(seen)} apart"
        found = []
        for i, one in enumerate(parameters):
            log = self.logs[one.key]
            column = np.abs(slopes[:, i])
            order = [int(at) for at in np.argsort(-column, kind="stable") if column[at] > SEEN]
            why = "" if one in chosen else (alone if one in seen else _UNSEEN)
            edges = bounds.get(one.key, (log, log))
            found.append(Estimate(one, log, edges, one in chosen, tuple(order), why))
        return found

    def _chosen(self, parameters: Sequence[Parameter], slopes: Matrix) -> list[Parameter]:
        """Those that the observations fix, searched again with the others at the base's. One of
        the others is fixed, too, if the observations clearly speak against the base's value."""
        together = dict(self.logs)
        fixed = {one.key for one in self._determined(parameters, slopes)}
        while True:
            chosen = [one for one in parameters if one.key in fixed]
            others = [one for one in self._seen(parameters) if one.key not in fixed]
            self.logs = {key: log if key in fixed else 0.0 for key, log in together.items()}
            if not others:
                return chosen
            self._search(chosen, _JOINT_STEPS)
            if not self._is_worse(self.logs, together):
                return chosen
            fixed.add(max(others, key=lambda one: abs(together[one.key]) / one.spread).key)

    def _bounds(self, one: Parameter, together: float, deviation: float) -> tuple[float, float]:
        """Where a parameter lies with 90 %, as ln(value / start).

        Around its value `together` with all others that the observations see, those included that
        then went back to the base's: of a sum the parts are less certain than the sum. The
        deviation is that of slopes towards where the parameter limits. Where some other limit
        hides it, there is none: so that end goes out until the observations are predicted clearly
        worse.
        """
        log = self.logs[one.key]
        lowest, highest = one.bounds()
        width = QUANTILE * deviation * one.limiting
        hidden = together - width
        for _ in range(_WIDENINGS):
            if not lowest < hidden < highest or self._is_worse(
                {**self.logs, one.key: log + hidden - together}, self.logs
            ):
                break
            hidden = together + 2 * (hidden - together)
        other = self._by_power(one)
        if other is not None and not self._is_worse(other, self.logs):
            hidden = min(hidden, -QUANTILE * one.spread)  # known from before alone
        ends = [hidden, together + width, log]
        for rival in self.rivals:
            ends += [rival[one.key] - abs(width), rival[one.key] + abs(width)]
        ends = [min(max(end, lowest), highest) for end in ends]
        return min(ends), max(ends)

    def _is_worse(self, moved: dict[str, float], best: dict[str, float]) -> bool:
        """Whether the observations clearly speak for one place and against another."""
        self.misfit.simulations.budget += 2 * self.misfit.runs
        here, there = self.misfit.simulated([best, moved])
        off, further = self.misfit.residuals(here), self.misfit.residuals(there)
        excess = max(1.0, float(np.mean(off**2)))
        return float(further @ further - off @ off) > excess * QUANTILE**2 / 2

    def _determined(self, parameters: Sequence[Parameter], slopes: Matrix) -> list[Parameter]:
        """Those whose spread the observations halve, once the least known are taken as given."""
        left = [i for i in range(len(parameters)) if np.max(np.abs(slopes[:, i])) > SEEN]
        while left:
            chosen = [parameters[i] for i in left]
            deviation = self._deviations(chosen, slopes[:, left])
            share = [deviation[at] / one.spread for at, one in enumerate(chosen)]
            worst = max(range(len(left)), key=lambda at: share[at])
            if share[worst] <= DETERMINED:
                break
            del left[worst]
        return [parameters[i] for i in left]

    def _deviations(
        self,
        parameters: Sequence[Parameter],
        slopes: Matrix,
        alike: float = 1.0,
        own: bool = False,
    ) -> Vector:
        """The standard deviation of each ln(value) that noise and the base's spread leave, where
        so many points are off `alike`, and a point says no more than its `own` distance allows."""
        if not parameters:
            return np.zeros(0)
        here = self.misfit.simulated([self.logs])[0]
        weighted = slopes * self.misfit.weights(here)[:, None]
        before = np.diag([one.spread**-2 for one in parameters])
        # A model that is further off than the noise leaves out more than the floor says.
        off = self.misfit.residuals(here) ** 2
        excess = np.full(len(off), max(1.0, float(np.mean(off))))
        if own:
            excess = np.maximum(excess, off)
        weighted /= np.sqrt(excess * alike)[:, None]
        covariance = np.linalg.inv(weighted.T @ weighted + before)
        deviations: Vector = np.sqrt(np.diag(covariance))
        return deviations

    def _cost(self, logs: dict[str, float], simulated: Vector) -> float:
        off = self.misfit.residuals(simulated)
        own = self.misfit.parameters
        return float(off @ off) + sum((x / own[key].spread) ** 2 for key, x in logs.items())

    def _try_around(self, parameters: Sequence[Parameter], steps: Sequence[float]) -> None:
        """Move each in turn to the best of some values around it."""
        for one in parameters:
            if self.budget_spent:
                return
            low, high = one.bounds()
            moved = [min(max(self.logs[one.key] + step, low), high) for step in steps]
            self._try([{**self.logs, one.key: log} for log in moved])

    def _by_power(self, one: Parameter) -> dict[str, float] | None:
        """The same rate of the media from a power budget, in place of the time that limits it now:
        accesses of one kind alone do not tell the two apart."""
        power = self.misfit.parameters.get(POWER)
        if power is None:
            return None
        model, now = self.misfit.simulations.model, one.value(self.logs[one.key])
        budget = power_of_rate(model, one.key, now)
        if budget is None or budget >= power.value(self.logs[POWER]):
            return None
        log = math.log(budget / power.start)
        if log <= power.bounds()[0]:
            return None
        return {**self.logs, one.key: self.logs[one.key] - _LOOK, POWER: log}

    def _try(self, others: Sequence[dict[str, float]]) -> None:
        """Go to the best of some places, if it is better than here."""
        if self.budget_spent or not others:
            return
        tried = [dict(self.logs), *others]
        try:
            found = self.misfit.simulated(tried)
        except BudgetSpentError:
            self.budget_spent = True
            return
        costs = [self._cost(*pair) for pair in zip(tried, found, strict=True)]
        self.logs = tried[min(range(len(costs)), key=costs.__getitem__)]

    def _search(self, parameters: Sequence[Parameter], steps: int) -> None:
        """Follow the slopes of `parameters`; to the best place so far if the budget ends it."""
        if not parameters or self.budget_spent:
            return
        best = (math.inf, [self.logs[one.key] for one in parameters])
        spread = np.array([one.spread for one in parameters])
        before: dict[str, float] = {}

        def residuals(x: Vector) -> Vector:
            nonlocal best
            off = self.misfit.residuals(self.misfit.simulated([self._moved(parameters, x)])[0])
            found: Vector = np.concatenate([off, x / spread])
            best = min(best, (float(found @ found), x.tolist()))
            return found

        def jacobian(x: Vector) -> Matrix:
            nonlocal before
            now = self._moved(parameters, x)
            here = self.misfit.simulated([now])[0]
            if before:
                there = self.misfit.simulated([before])[0]
                moved = {one.key: now[one.key] - before[one.key] for one in parameters}
                self.misfit.learn(moved, here - there)
            before = now
            slopes = np.stack([self.misfit.slopes[one.key] for one in parameters], axis=1)
            return np.vstack([slopes * self.misfit.weights(here)[:, None], np.diag(1 / spread)])

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
            self.logs[one.key] = log

    def _last_slopes(self, parameters: Sequence[Parameter]) -> Matrix:
        """Slopes where the search ended, which the budget does not refuse."""
        self.misfit.simulations.budget += (len(parameters) + 1) * self.misfit.runs
        found = self._slopes(parameters, np.array([self.logs[one.key] for one in parameters]))
        self.misfit.slopes.update((one.key, found[:, i]) for i, one in enumerate(parameters))
        return found

    def _slopes(self, parameters: Sequence[Parameter], x: Vector) -> Matrix:
        """d ln(simulated) / d ln(value), by differences: a row a point, a column a parameter."""
        steps = [one.step(float(log), _STEP) for one, log in zip(parameters, x, strict=True)]
        asked = [self._moved(parameters, x)]
        asked += [self._moved(parameters, x + row) for row in np.diag(steps)]
        here, *there = self.misfit.simulated(asked)
        if not there:
            return np.zeros((len(here), 0))
        moved = zip(there, steps, strict=True)
        return np.stack([(found - here) / step for found, step in moved], axis=1)

    def _moved(self, parameters: Sequence[Parameter], logs: Vector) -> dict[str, float]:
        return {
            **self.logs,
            **{one.key: float(x) for one, x in zip(parameters, logs, strict=True)},
        }


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
