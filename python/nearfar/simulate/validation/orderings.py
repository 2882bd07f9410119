"""Which of two figures is the larger, on the hardware and in the model: pure functions.

A study that gives ratios says first of all what is dearer than what. So of every two figures of
a series whose measurements differ by a tenth or more the model has to give the same one as the
larger. Ratios are compared with 1, too: whether the run took longer than what it is set against.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nearfar.simulate.validation.shape import NEAR

ONE = "1 (no difference)"


@dataclass(frozen=True)
class Figure:
    """A figure by its name: measured, and simulated."""

    name: str
    real: float
    simulated: float


@dataclass(frozen=True)
class Pair:
    """Two figures; on the hardware `lower` is clearly the lower one."""

    lower: Figure
    higher: Figure

    @property
    def right(self) -> bool:
        """Whether the model says the same."""
        return self.lower.simulated < self.higher.simulated


def pairs(figures: Sequence[Figure], *, ratios: bool) -> list[Pair]:
    """Every two figures whose measurements have an order, each pair once.

    With `ratios` 1 is a figure like the others.
    """
    figures = [Figure(ONE, 1.0, 1.0), *figures] if ratios else figures
    found = []
    for i, one in enumerate(figures):
        for other in figures[:i]:
            if abs(one.real - other.real) > NEAR * max(one.real, other.real):
                found.append(Pair(*sorted((other, one), key=lambda figure: figure.real)))
    return found
