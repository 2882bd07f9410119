"""A swept study: its points, what was set at each, and the figures found there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from nearfar.results.decode import encode

DONE, FAILED, MISSING = "done", "failed", "missing"


@dataclass(frozen=True)
class SweepPoint:
    """A point of a study. `settings` are what the study varies, as written; `result` is the whole
    document of its work, None where there is none."""

    id: str  # its address in the store, or the beginning of it
    target: str
    work: str
    settings: Mapping[str, str]
    state: str  # "done", "failed" or "missing": not computed yet
    error: str = ""
    figures: Mapping[str, float] = field(default_factory=dict)
    result: Any = None


@dataclass(frozen=True)
class Sensitivity:
    """How much a key moves a figure, by the study's design.

    Morris: `values` has `mu_star`, the mean absolute change of the figure from one end of the key
    to the other, and `sigma`, how much that depends on the other keys. Sobol: `S1`, the part of the
    figure's variance that the key alone explains, and `ST`, with all that it does together with
    others; each with the half width of its 95 % interval, `..._conf`.
    """

    figure: str
    key: str
    method: str  # "morris" or "sobol"
    values: Mapping[str, Any]
    of: str = ""  # target, work and seed, where a study has several


@dataclass(frozen=True)
class SweepResult:
    """A study as its store has it. `figures` are those to show, in order."""

    SCHEMA: ClassVar[str] = "nearfar/sweep/1"

    study: str
    store: str
    version: str  # of nearfar
    targets: Sequence[str]
    works: Sequence[str]
    keys: Sequence[str]
    figures: Sequence[str]
    points: Sequence[SweepPoint]
    ranges: Mapping[str, str] = field(default_factory=dict)
    description: str = ""
    design: str | None = None
    goal: str | None = None  # the figure that was minimised
    sensitivity: Sequence[Sensitivity] = ()

    def of_state(self, state: str) -> list[SweepPoint]:
        """The points that are done, failed or missing."""
        return [point for point in self.points if point.state == state]

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts and lists, as `json.dumps` takes them."""
        return {"schema": self.SCHEMA, **encode(self)}
