"""How wide an interval is where a model cannot give what was measured."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from nearfar.fitting.misfit import Misfit
from nearfar.fitting.parameters import Parameter
from nearfar.fitting.simulations import Simulations
from nearfar.fitting.solve import Solver
from nearfar.measuring import Chase
from nearfar.model import load
from nearfar.simulate.validation.series import HardwarePoint, Job

AGREED, DISPUTED = "nvdimm.media.read_latency", "nvdimm.table.latency"
NOISE = 0.02


class OneKeyEach(Simulations):
    """Points that are as large as the parameter that their label names."""

    def run(
        self, asked: Sequence[tuple[Mapping[str, int], Sequence[HardwarePoint]]]
    ) -> list[list[float]]:
        self.made += sum(len(points) for _, points in asked)
        return [
            [settings.get(point.label, 100_000) / 100_000 for point in points]
            for settings, points in asked
        ]


def width(apart: float) -> dict[str, float]:
    """ln(highest / fitted) of two parameters: thirty points agree on one, of the other there are
    two, so far `apart`."""
    reals = [(AGREED, 1.0)] * 30 + [(DISPUTED, math.exp(by * apart / 2)) for by in (-1, 1)]
    points = [
        HardwarePoint(key, real, "ns", Job(Chase(region="64B"), cost=i), "ns_per_line")
        for i, (key, real) in enumerate(reals)
    ]
    parameters = {key: Parameter(key, 100_000.0, 1.0, "misses") for key in (AGREED, DISPUTED)}
    simulations = OneKeyEach(load("nvdimm"), 10_000)
    misfit = Misfit(simulations, points, np.full(len(points), NOISE), parameters)
    estimates = {one.parameter.key: one for one in Solver(misfit).solve()}
    assert all(one.determined for one in estimates.values())
    return {key: one.bounds[1] - one.log for key, one in estimates.items()}


def test_an_interval_reaches_to_points_that_no_model_can_give() -> None:
    assert width(0.3)[DISPUTED] > 0.15


def test_points_that_no_model_can_give_hardly_widen_what_others_fix() -> None:
    assert width(0.3)[AGREED] < 2 * width(0.0)[AGREED]
