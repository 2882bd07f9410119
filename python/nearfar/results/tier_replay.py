"""What replacement policies did with the pages of a recorded program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from nearfar.results.decode import encode


@dataclass(frozen=True)
class PolicyMisses:
    """One policy. `misses` are first touches and copies in; `faults` second chances too.

    `scan_ns` is what reading the access bits is charged, over all `scans`.
    """

    policy: str
    misses: int
    faults: int
    first_touches: int
    copies_in: int
    copies_out: int
    clean_drops: int
    second_chances: int
    scans: int
    pages_scanned: int
    scan_ns: float


@dataclass(frozen=True)
class NearSize:
    """One size of near memory, and the policies on it.

    `belady_misses` are those of a choice that knows the future, which no policy can beat;
    `static_misses` those of the best pages placed once and for all.
    """

    near_bytes: int
    near_pages: int
    limbo_pages: int
    belady_misses: int
    static_misses: int
    policies: Sequence[PolicyMisses]


@dataclass(frozen=True)
class TierReplayResult:
    """A trace on two tiers. A visit is all accesses to one page before those to another.

    `ahead`: of the visits, those of a record of faults to pages that came in beside one that was
    touched. `without_scans`: the policies were not told what access bits say.
    """

    SCHEMA: ClassVar[str] = "nearfar/tier-replay/1"

    version: str
    file: str
    format: str
    page_bytes: int
    pages: int
    accesses: int
    visits: int
    sizes: Sequence[NearSize]
    without_scans: bool = False
    ahead: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts and lists, as `json.dumps` takes them."""
        return {"schema": self.SCHEMA, **encode(self)}
