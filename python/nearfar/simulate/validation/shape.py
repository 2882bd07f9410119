"""Whether a simulated curve bends where the measured one does: pure functions.

A mean over points can be good while the curve says something else: that more writers help,
say, where on hardware they hurt. So of every curve some features are read off the measurement
and off the model, and either they agree or they do not:

peak     where the model has its maximum, the hardware is within a tenth of its own
knee     both first come within a tenth of their maximum at neighbouring places
collapse behind the peak both lose a fifth of it or more, or neither does
order    of two places whose measurements differ by a tenth or more, both say the same which
         is higher; right if nine pairs in ten are
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

NEAR = 0.1  # measurements of the same thing differ by less than that
COLLAPSE = 0.8  # of the peak
ORDERED = 0.9  # of the pairs
LEAST_PLACES = 3


@dataclass(frozen=True)
class Feature:
    """One feature of a curve: what the hardware shows, what the model shows."""

    curve: str
    name: str
    real: str
    simulated: str
    right: bool


@dataclass(frozen=True)
class Sample:
    """A place on a curve: its position, the measured and the simulated value there."""

    x: float
    real: float
    simulated: float


def features(samples: Iterable[tuple[str, Sample]]) -> list[Feature]:
    """The features of every curve among the samples; a curve has three places or more."""
    curves: dict[str, dict[float, list[Sample]]] = {}
    for curve, sample in samples:
        curves.setdefault(curve, {}).setdefault(sample.x, []).append(sample)
    found = []
    for curve, places in curves.items():
        if len(places) >= LEAST_PLACES:
            found += _features(curve, [_median(places[x]) for x in sorted(places)])
    return found


def _median(repeated: Sequence[Sample]) -> Sample:
    """One of the repeated measurements at a place; the simulated value is the same in all."""
    real = statistics.median(one.real for one in repeated)
    return Sample(repeated[0].x, real, repeated[0].simulated)


def _features(curve: str, places: Sequence[Sample]) -> list[Feature]:
    real = [place.real for place in places]
    simulated = [place.simulated for place in places]
    at = max(range(len(places)), key=simulated.__getitem__)
    top = max(range(len(places)), key=real.__getitem__)
    knees = _knee(real), _knee(simulated)
    left = real[-1] / max(real), simulated[-1] / max(max(simulated), 1e-12)
    agree, pairs = _ordered(real, simulated)

    def place(index: int) -> str:
        return f"{places[index].x:g}"

    made = [
        Feature(curve, "peak", place(top), place(at), real[at] >= (1 - NEAR) * max(real)),
        Feature(curve, "knee", place(knees[0]), place(knees[1]), abs(knees[0] - knees[1]) <= 1),
        Feature(
            curve,
            "collapse",
            f"to {left[0]:.2f}",
            f"to {left[1]:.2f}",
            (left[0] < COLLAPSE) == (left[1] < COLLAPSE) or abs(left[0] - left[1]) < NEAR,
        ),
    ]
    if pairs:
        right = agree >= ORDERED * pairs
        made.append(Feature(curve, "order", f"{pairs} pairs", f"{agree} alike", right))
    return made


def _knee(values: Sequence[float]) -> int:
    """The first place that comes within a tenth of the maximum."""
    return next(i for i, value in enumerate(values) if value >= (1 - NEAR) * max(values))


def _ordered(real: Sequence[float], simulated: Sequence[float]) -> tuple[int, int]:
    """Pairs that the model orders like the hardware, and pairs that clearly have an order."""
    pairs = [
        (i, j)
        for i in range(len(real))
        for j in range(i)
        if abs(real[i] - real[j]) > NEAR * max(real[i], real[j])
    ]
    alike = sum((real[i] > real[j]) == (simulated[i] > simulated[j]) for i, j in pairs)
    return alike, len(pairs)
