"""Which points of the space a study takes: the grid, draws, or a sensitivity design.

Draws come from a seeded generator, so that a study has the same points everywhere.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nearfar.errors import InputError, suggestion
from nearfar.sweeping.extras import extra
from nearfar.sweeping.ranges import HYPERCUBE, Range

Row = dict[str, str]  # key to value, as written

MORRIS, SOBOL = "morris", "sobol"
_SMALLEST = {MORRIS: 2, SOBOL: 2}
_LEVELS = 4  # of a Morris design, as SALib's default: steps of 2/3 of a range


@dataclass(frozen=True)
class Design:
    """Points for a sensitivity analysis: `count` trajectories (Morris) or base samples (Sobol)."""

    kind: str
    count: int

    def __str__(self) -> str:
        return f"{self.kind}:{self.count}"


def parse_design(text: str) -> Design:
    """`morris:R` or `sobol:N`. Raises InputError."""
    match = re.fullmatch(r"([a-z]+):(\d+)", text)
    if match is None or match[1] not in _SMALLEST:
        hint = suggestion(text.partition(":")[0], _SMALLEST)
        raise InputError(f"design: found '{text}', expected morris:R or sobol:N{hint}")
    design = Design(match[1], int(match[2]))
    if design.count < _SMALLEST[design.kind]:
        raise InputError(f"design: found '{text}', expected {_SMALLEST[design.kind]} or more")
    if design.kind == SOBOL and design.count & (design.count - 1):
        raise InputError(f"design: found '{text}', expected a power of two after sobol:")
    return design


def rows(ranges: Mapping[str, Range], design: Design | None, seed: int) -> list[Row]:
    """The settings of every point, in the study's order. Raises InputError."""
    if design is not None:
        return _designed(ranges, design, seed)
    for key, one in ranges.items():
        if not one.values and not one.draw:
            raise InputError(
                f"{key}: found '{one.text}', which names no values; add :STEP, :xN, :logN or "
                ":randomN, or choose points with --design or --minimise"
            )
    grid = {key: one.values for key, one in ranges.items() if not one.draw}
    crossed = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
    drawn = list(_drawn({key: one for key, one in ranges.items() if one.draw}, seed))
    # In the order in which the keys were given, whatever kind they are of.
    return [{key: {**a, **b}[key] for key in ranges} for a in crossed for b in drawn]


def shares(keys: int, design: Design, seed: int) -> Any:
    """The design in the unit cube: an array of a row a point, a column a key."""
    sampler = salib(f"sample.{design.kind}", str(design))
    problem = unit_problem([f"k{i}" for i in range(keys)])
    if design.kind == MORRIS:
        return sampler.sample(problem, design.count, num_levels=_LEVELS, seed=seed)
    return sampler.sample(problem, design.count, calc_second_order=False, seed=seed)


def salib(module: str, design: str) -> Any:
    """A module of SALib, which is an extra. Raises InputError."""
    return extra(f"SALib.{module}", f"design {design}", "nearfar[sweep]")


def unit_problem(keys: Sequence[str]) -> dict[str, Any]:
    """The keys as SALib takes them: every one from 0 to 1."""
    return {"num_vars": len(keys), "names": list(keys), "bounds": [[0.0, 1.0]] * len(keys)}


def _designed(ranges: Mapping[str, Range], design: Design, seed: int) -> list[Row]:
    if len(ranges) < 2:
        raise InputError(f"design {design}: found {len(ranges)} keys, expected 2 or more")
    spans = []
    for key, one in ranges.items():
        if not one.is_open or one.span is None:
            raise InputError(
                f"design {design}: found {key}={one.text}, which fixes its values; a design needs "
                "points of its own: give a range such as 50ns..200ns, or leave out --design"
            )
        spans.append(one.span)
    return [
        {key: span.at(float(share)) for key, span, share in zip(ranges, spans, row, strict=True)}
        for row in shares(len(ranges), design, seed)
    ]


def _drawn(ranges: Mapping[str, Range], seed: int) -> Iterator[Row]:
    """Each draw sets all keys that are drawn at once; a single empty one if there are none."""
    if not ranges:
        yield {}
        return
    counts = {one.count for one in ranges.values()}
    if len(counts) > 1:
        said = ", ".join(f"{key}={one.text}" for key, one in ranges.items())
        raise InputError(f"found draws of different counts, expected one count: {said}")
    (count,) = counts
    columns = {key: _column(key, one, count, seed) for key, one in ranges.items()}
    for i in range(count):
        yield {key: column[i] for key, column in columns.items()}


def _column(key: str, one: Range, count: int, seed: int) -> list[str]:
    assert one.span is not None
    generator = random.Random(f"{seed} {key}")
    if one.draw == HYPERCUBE:
        strata = list(range(count))
        generator.shuffle(strata)
        return [one.span.at((stratum + generator.random()) / count) for stratum in strata]
    return [one.span.at(generator.random()) for _ in range(count)]
