"""How uncertain the logarithm of each measured point is to a fit."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import numpy as np

from nearfar.fitting.misfit import Vector
from nearfar.fitting.solve import FLOOR
from nearfar.measuring.patterns import Stream
from nearfar.simulate.validation.series import HardwarePoint

# What one thread that reads a DIMM in order takes beyond all mechanisms in the model: docs/fit.md,
# "What slows one thread's stream is not known".
UNEXPLAINED = 0.1


def noise(points: Sequence[HardwarePoint]) -> Vector:
    """The standard deviation of each ln(measured): how far repeated measurements of a point differ,
    and the floor of what a model leaves out beneath. Repeated measurements of one point count as
    one."""
    repeated: dict[object, list[float]] = {}
    for point in points:
        repeated.setdefault(point.key, []).append(point.real)
    found = []
    for point in points:
        values = repeated[point.key]
        middle = fmean(values)
        off = fmean((value / middle - 1) ** 2 for value in values) if middle else 0.0
        floor = UNEXPLAINED if is_unexplained(point) else FLOOR
        found.append(((floor**2 + off) * len(values)) ** 0.5)
    return np.array(found)


def is_unexplained(point: HardwarePoint) -> bool:
    """Whether it is of one thread's non-temporal loads in order."""
    run = point.job.pattern
    return (
        isinstance(run, Stream)
        and run.op == ("ntload",)
        and run.threads == (1,)
        and run.stride in (None, run.access)
    )
