"""What a program on two tiers did with its memory."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from nearfar.errors import InputError
from nearfar.results.decode import decode, encode


@dataclass(frozen=True)
class TierSamples:
    """A run over time: what was near and far at each moment, and what was counted until then.

    All lists are as long as `time_s`, which is from the beginning of the run.
    """

    time_s: Sequence[float]
    near_bytes: Sequence[int]
    far_bytes: Sequence[int]
    faults: Sequence[int]
    copies_in: Sequence[int]
    copies_out: Sequence[int]
    stall_ns: Sequence[int]


@dataclass(frozen=True, kw_only=True)
class TierRunResult:
    """A run: `status` is the exit status as a shell gives it, None in the report of a program that
    ran without the launcher; sizes are the highest there were.

    `counts` are pages and events by the names that the core gives them, times in ns; JSON has
    them beside the other fields. A run over the kernel's swap (`backend` "swap") has other counts
    than one of the pager (None). Where both tiers are nodes that are addressed directly, `detector`
    and the fields beside it say how pages were exchanged; `near_share` is a part of 1, None where
    near memory had a size.
    """

    SCHEMA: ClassVar[str] = "nearfar/tier/1"

    status: int | None
    policy: str
    near_limit_bytes: int
    near_peak_bytes: int
    far_peak_bytes: int
    managed_share: float
    backend: str | None = None
    far_stored_peak_bytes: int | None = None
    compression: str | None = None
    eviction: str | None = None
    managed_peak_bytes: int | None = None
    unmanaged_peak_bytes: int | None = None
    hard_limit: bool | None = None
    out_of_memory_kills: int | None = None
    processes_left: int | None = None
    near_share: float | None = None
    near_node: int | None = None
    far_node: int | None = None
    detector: str | None = None
    interval_s: float | None = None
    pairs: int | None = None
    program: Sequence[str] | None = None
    over_time: TierSamples | None = None
    counts: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], origin: str = "document") -> TierRunResult:
        """The reverse of `to_dict`. Raises InputError naming `origin` and the wrong key."""
        known = {one.name for one in dataclasses.fields(cls)} - {"counts"}
        own = {key: value for key, value in data.items() if key in known}
        counts = {key: value for key, value in data.items() if key not in (*known, "schema")}
        for name, value in counts.items():
            if isinstance(value, bool) or not isinstance(value, int):
                raise InputError(f"{origin}: found unknown key {name}, which is no count")
        return decode(cls, {**own, "counts": counts}, origin)

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts and lists, as `json.dumps` takes them."""
        fields = encode(self)
        over_time = fields.pop("over_time", None)
        counts = fields.pop("counts", {})
        last = {} if over_time is None else {"over_time": over_time}
        return {"schema": self.SCHEMA, **fields, **counts, **last}
