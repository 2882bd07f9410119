"""The mean of a few independent values, with the interval that Student's t gives."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Two-sided 99 % points of t by degrees of freedom; between two, the larger one is safe.
_POINTS = (
    (1, 63.66), (2, 9.925), (3, 5.841), (4, 4.604), (5, 4.032), (6, 3.707), (7, 3.499),
    (8, 3.355), (9, 3.250), (10, 3.169), (12, 3.055), (15, 2.947), (20, 2.845), (30, 2.750),
    (40, 2.704), (60, 2.660), (120, 2.617),
)  # fmt: skip


def mean_interval(values: NDArray[np.float64]) -> tuple[float, float]:
    """The interval that holds the true mean in 99 of 100 samples. Needs two values."""
    degrees = len(values) - 1
    point = next(t for least, t in reversed(_POINTS) if least <= degrees)
    half = point * float(np.std(values, ddof=1)) / len(values) ** 0.5
    mean = float(np.mean(values))
    return mean - half, mean + half
