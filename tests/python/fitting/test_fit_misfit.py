"""How far a model is from what was measured: a distance that single points do not decide."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from nearfar.fitting.misfit import Misfit, Vector
from nearfar.fitting.parameters import Parameter
from nearfar.fitting.simulations import Simulations
from nearfar.fitting.solve import Solver
from nearfar.measuring import Chase
from nearfar.model import load
from nearfar.simulate.validation.series import HardwarePoint, Job

EXPONENTS = np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 2.0]])  # a row a point: of a's and b's value
KEYS = ("nvdimm.media.read_latency", "nvdimm.table.latency")


class PowerLaws(Simulations):
    """Points whose figures are products of powers of two parameters."""

    def run(
        self, asked: Sequence[tuple[Mapping[str, int], Sequence[HardwarePoint]]]
    ) -> list[list[float]]:
        values = []
        for settings, points in asked:
            logs = np.array([math.log(settings.get(key, 1000) / 1000) for key in KEYS])
            self.made += len(points)
            values.append([math.exp(EXPONENTS[int(point.label)] @ logs) for point in points])
        return values


class LongerOfTwo(Simulations):
    """Points that are as long as the longer of two times."""

    def run(
        self, asked: Sequence[tuple[Mapping[str, int], Sequence[HardwarePoint]]]
    ) -> list[list[float]]:
        self.made += sum(len(points) for _, points in asked)
        longer = [max(own.get(key, 1000) for key in KEYS) / 1000 for own, _ in asked]
        return [[one] * len(points) for one, (_, points) in zip(longer, asked, strict=True)]


def longer_of_two(real: float) -> Misfit:
    points = [
        HardwarePoint(str(i), real, "ns", Job(Chase(region="64B"), cost=i), "ns_per_line")
        for i in range(4)
    ]
    parameters = {key: Parameter(key, 1000.0, 1.0, "misses") for key in KEYS}
    return Misfit(LongerOfTwo(load("nvdimm"), 10_000), points, np.full(4, 0.02), parameters)


@pytest.fixture
def misfit() -> Misfit:
    points = [
        HardwarePoint(str(i), 1.0, "ns", Job(Chase(region="64B"), cost=i), "ns_per_line")
        for i in range(len(EXPONENTS))
    ]
    parameters = {key: Parameter(key, 1000.0, 1.0, "misses") for key in KEYS}
    return Misfit(PowerLaws(load("nvdimm"), 1000), points, np.full(3, 0.1), parameters)


def logs(a: float, b: float) -> dict[str, float]:
    return dict(zip(KEYS, (a, b), strict=True))


def slopes(misfit: Misfit) -> Vector:
    return np.stack([misfit.slopes[key] for key in KEYS], axis=1)


def test_a_look_finds_which_points_see_a_parameter_and_how_steeply(misfit: Misfit) -> None:
    misfit.look(logs(0, 0), 0.5)
    assert [set(misfit.seen(key)) for key in KEYS] == [{0, 1}, {1, 2}]
    assert slopes(misfit) == pytest.approx(EXPONENTS, abs=0.01)


def test_a_step_corrects_the_slopes_of_the_points_that_see_it_alone(misfit: Misfit) -> None:
    misfit.look(logs(0, 0), 0.5)
    misfit.slopes[KEYS[0]] = np.array([3.0, 3.0, 0.0])
    misfit.learn(logs(0.2, 0.0), EXPONENTS @ np.array([0.2, 0.0]))
    assert slopes(misfit)[:, 0] == pytest.approx(EXPONENTS[:, 0], abs=1e-9)
    assert slopes(misfit)[:, 1] == pytest.approx(EXPONENTS[:, 1], abs=0.01)


@pytest.mark.parametrize("off", [-2.0, -0.05, 0.0, 0.05, 2.0])
def test_the_weight_of_a_point_is_the_slope_of_its_residual(misfit: Misfit, off: float) -> None:
    at, step = np.full(3, off), 1e-6
    difference = (misfit.residuals(at + step) - misfit.residuals(at - step)) / (2 * step)
    assert misfit.weights(at) == pytest.approx(difference, rel=1e-3)


def test_a_point_that_is_far_off_counts_by_its_distance_not_its_square(misfit: Misfit) -> None:
    squares = [float(misfit.residuals(np.full(3, off))[0] ** 2) for off in (0.01, 0.02, 10, 20)]
    assert squares[1] / squares[0] == pytest.approx(4, rel=0.01)
    assert squares[3] / squares[2] == pytest.approx(2, rel=0.02)


def test_what_was_seen_from_elsewhere_stays_seen_where_another_limit_hides_it() -> None:
    misfit = longer_of_two(1.0)
    misfit.look(logs(0, 0), 0.5)
    misfit.look(logs(0, -1), 0.5)
    assert set(misfit.seen(KEYS[1])) == {0, 1, 2, 3}
    assert misfit.simulated([logs(-2, -1)])[0] == pytest.approx(-1, abs=0.001)


def test_what_only_shows_together_leaves_the_bases_value_where_observations_speak_against_it() -> (
    None
):
    """Neither time shows while the other is as long, but both are a fifth of the base's."""
    estimates = Solver(longer_of_two(0.2)).solve()
    assert [one.determined for one in estimates] == [True, True]
    assert max(one.log for one in estimates) == pytest.approx(math.log(0.2), abs=0.05)
