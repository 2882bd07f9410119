"""What crashes can leave of a program, and which of that breaks its invariant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from nearfar.results.decode import encode
from nearfar.results.schema import Environment, Target


@dataclass(frozen=True)
class Violation:
    """States that break the invariant for one reason, and the one of them that lost least.

    In that state `lost` are not in memory, though they had happened or later stores of their
    thread are; `persisted` are
    those that follow the first lost one and yet are. `passed` are the labels the world had seen.
    Each store is "FILE:LINE: text".
    """

    reason: str
    states: int
    passed: Sequence[str]
    lost: Sequence[str]
    persisted: Sequence[str]


@dataclass(frozen=True)
class Explored:
    """One way to look at the states: all that x86 allows, or those of a simulated run.

    `states` counts those looked at; no two are equal in memory and in labels passed.
    `combinations` is in how many ways stores can have persisted or not, where that is known.
    `stuck` is an operation that is never passed, when no way leads to the program's end.
    """

    states: int
    violating: int
    exhaustive: bool = False
    combinations: float | None = None
    stuck: str | None = None
    violations: Sequence[Violation] = ()


@dataclass(frozen=True)
class CrashResult:
    """Crashes of a program between two points.

    `architecture` are the states that x86 allows, `machine` those that an instant of one of
    `runs` simulated runs would have left.
    """

    SCHEMA: ClassVar[str] = "nearfar/crash/1"

    target: Target
    environment: Environment
    program: Mapping[str, Any]
    domain: str  # "adr" or "eadr"
    architecture: Explored
    machine: Explored
    runs: int

    @property
    def holds(self) -> bool:
        """Whether no state that was looked at breaks the invariant."""
        return self.architecture.violating == self.machine.violating == 0

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts and lists, as `json.dumps` takes them."""
        return {"schema": self.SCHEMA, **encode(self)}
