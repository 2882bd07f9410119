"""Which keys matter: SALib's analysis of a study that was swept by a design."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from nearfar.errors import InputError
from nearfar.results import Sensitivity, SweepPoint
from nearfar.sweeping.designs import MORRIS, Design, salib, shares, unit_problem

_RESAMPLES = 100  # of the intervals; as SALib's default
_VALUES = {
    MORRIS: ("mu_star", "sigma", "mu_star_conf"),
    "sobol": ("S1", "ST", "S1_conf", "ST_conf"),
}


def sensitivity(
    design: Design,
    seed: int,
    keys: Sequence[str],
    points: Sequence[SweepPoint],
    figure: str,
    of: str,
) -> list[Sensitivity]:
    """How each key moves `figure`, over the points of one target, work and seed, `of` which they
    are, in the order of the design.

    Raises InputError where a point lacks the figure: an analysis of a part of a design is none.
    """
    for one in points:
        if figure not in one.figures:
            raise InputError(
                f"sensitivity of {figure}: point {one.id[:12]} is {one.state}"
                + (f" ({one.error})" if one.error else "")
                + ", expected all points of the design; finish the sweep first"
            )
    import numpy as np

    unit = shares(len(keys), design, seed)
    found = np.array([one.figures[figure] for one in points], dtype=float)
    problem = unit_problem(keys)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a figure that no key moves: 0 / 0
        analyser = salib(f"analyze.{design.kind}", str(design))
        if design.kind == MORRIS:
            analysed = analyser.analyze(problem, unit, found, num_resamples=_RESAMPLES, seed=seed)
        else:
            analysed = analyser.analyze(
                problem, found, calc_second_order=False, num_resamples=_RESAMPLES, seed=seed
            )
    return [
        Sensitivity(
            figure,
            key,
            design.kind,
            {name: _plain(analysed[name][at]) for name in _VALUES[design.kind]},
            of,
        )
        for at, key in enumerate(keys)
    ]


def _plain(value: float) -> float | None:
    """None for what is not a number: the figure does not vary."""
    return float(value) if value == value else None
