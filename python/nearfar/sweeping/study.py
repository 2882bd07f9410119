"""A study: which machines, what varies, what is run at each point, which figures are kept."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from nearfar.errors import InputError, suggestion
from nearfar.model.file import unknown_key
from nearfar.model.schema import KEYS, canonical
from nearfar.sweeping.designs import Design, Row, rows
from nearfar.sweeping.ranges import Range

SEED = "seed"
_PLACE = re.compile(r"\{([A-Za-z_][\w.-]*)\}")
_FIRST_SEED = 1
_SECONDS = {"s": 1, "min": 60, "h": 3600}


@dataclass(frozen=True)
class Goal:
    """The figure to make as small as possible, within so many points or so much time."""

    figure: str
    points: int | None = 100
    seconds: float | None = None

    def __str__(self) -> str:
        return f"{self.figure} within {self.points or f'{self.seconds:g}s'}"


def parse_goal(figure: str, within: str) -> Goal:
    """`within` is a number of points, or a time such as 90s, 20min or 2h. Raises InputError."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(s|min|h)?", within.replace(" ", ""))
    if match is None or float(match[1]) == 0 or ("." in match[1] and match[2] is None):
        raise InputError(
            f"within: found '{within}', expected a number of points, or a time such as 90s, 20min "
            "or 2h"
        )
    if match[2] is None:
        return Goal(figure, int(match[1]))
    return Goal(figure, None, float(match[1]) * _SECONDS[match[2]])


@dataclass(frozen=True)
class Cell:
    """One point of a study before it is checked: a target, a work, and what is set."""

    target: str
    work: str  # without places
    settings: Mapping[str, str]  # of the model
    row: Row  # everything that the study varies, the seed too


@dataclass(frozen=True)
class Study:
    """What to explore. `ranges` has keys of the model, and names that `works` have in braces."""

    name: str
    targets: tuple[str, ...]
    works: tuple[str, ...]
    ranges: Mapping[str, Range] = field(default_factory=dict)
    figures: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    design: Design | None = None
    design_seed: int = _FIRST_SEED
    goal: Goal | None = None
    description: str = ""

    def __post_init__(self) -> None:
        if not self.targets:
            raise InputError(f"{self.name}: found no target, expected one or more")
        if not self.works:
            raise InputError(f"{self.name}: found no work, expected what to run at each point")
        for key in self.ranges:
            if key not in self.places() and canonical(key) not in KEYS:
                raise InputError(f"{self.name}: {self._unknown(key)}")
        if self.seeds and SEED in self.ranges:
            raise InputError(f"{self.name}: found {SEED} as a key and as seeds, expected one")
        known = {*self.ranges, *([SEED] if self.seeds else [])}
        missing = [name for name in self.places() if name not in known]
        if missing:
            raise InputError(
                f"{self.name}: found {{{missing[0]}}} in a work, and no values for it; "
                f"give --set {missing[0]}=..."
            )

    def places(self) -> list[str]:
        """The names in braces of all works."""
        return list(dict.fromkeys(name for work in self.works for name in _PLACE.findall(work)))

    def cells(self) -> Iterator[Cell]:
        """Every point of the grid or of the design, in order. Raises InputError."""
        for row in rows(self.ranges, self.design, self.design_seed):
            yield from self.cells_of(row)

    def cells_of(self, row: Row) -> Iterator[Cell]:
        """The points of one row: of each target, work and seed."""
        settings = {key: value for key, value in row.items() if key not in self.places()}
        for target in self.targets:
            for work in self.works:
                for seed in self.seeds or (None,):
                    whole = row if seed is None else {**row, SEED: str(seed)}
                    yield Cell(target, _filled(work, whole, seed), settings, whole)

    def definition(self) -> dict[str, Any]:
        """Everything that decides its points, as JSON takes it."""
        return {
            "targets": list(self.targets),
            "works": list(self.works),
            "ranges": {key: one.text for key, one in self.ranges.items()},
            "seeds": list(self.seeds),
            "design": None if self.design is None else str(self.design),
            "design_seed": self.design_seed,
            "goal": None if self.goal is None else [self.goal.figure, str(self.goal)],
        }

    def digest(self) -> str:
        """Equal for studies of equal definition."""
        text = json.dumps(self.definition(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def _unknown(self, key: str) -> str:
        """A key that is none of the model's and none of the works': both may be misspelt."""
        near = suggestion(key, self.places())
        return unknown_key(key) if not near else f"found unknown key '{key}'{near}"


def _filled(work: str, row: Row, seed: int | None) -> str:
    """The work with its places filled, and the seed at its end where it has no place for it."""
    text = _PLACE.sub(lambda match: row[match[1]], work)
    if seed is None or f"{{{SEED}}}" in work:
        return text
    head, separator, program = text.partition(" -- ")
    return f"{head} --seed {seed}{separator}{program}"
