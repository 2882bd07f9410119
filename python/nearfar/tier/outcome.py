"""What a program on two tiers did with its memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nearfar.tier.control import PAGE

SCHEMA = "nearfar/tier/1"
_MIB = 1 << 20
_SIZES = ("near_peak", "managed_peak", "unmanaged_peak", "slots_peak")


@dataclass(frozen=True)
class Outcome:
    """A run: the exit status as a shell gives it, the limit, and what was counted.

    `lacked_memory`: SIGKILL ended it, and meanwhile the kernel killed for lack of memory.
    """

    status: int
    near_limit_bytes: int
    counts: Mapping[str, int]
    lacked_memory: bool = False

    @property
    def managed_share(self) -> float:
        """Of the most anonymous memory that the program had, the part that was managed."""
        managed, unmanaged = self.counts["managed_peak"], self.counts["unmanaged_peak"]
        return managed / (managed + unmanaged) if managed + unmanaged else 0.0

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON has it: sizes in bytes, everything else in pages or times."""
        return {
            "schema": SCHEMA,
            "status": self.status,
            "near_limit_bytes": self.near_limit_bytes,
            "near_peak_bytes": self.counts["near_peak"] * PAGE,
            "far_peak_bytes": self.counts["slots_peak"] * PAGE,
            "managed_peak_bytes": self.counts["managed_peak"] * PAGE,
            "unmanaged_peak_bytes": self.counts["unmanaged_peak"] * PAGE,
            "managed_share": self.managed_share,
            **{name: n for name, n in self.counts.items() if name not in _SIZES},
        }

    def text(self) -> str:
        """A few lines for whoever ran it."""
        c = self.counts

        def size(pages: int) -> str:
            return f"{pages * PAGE / _MIB:.1f} MiB"

        lines = [
            f"near {size(c['near_peak'])} of {self.near_limit_bytes / _MIB:.1f} MiB at most, "
            f"far {size(c['slots_peak'])}; managed {size(c['managed_peak'])}, "
            f"{100 * self.managed_share:.1f} % of the peak of anonymous memory",
            f"{c['faults']} faults: {c['copies_in']} pages copied in, {c['first_touches']} new, "
            f"{c['second_chances']} taken back before they had left",
            f"{c['evictions']} evictions: {c['copies_out']} pages copied out, "
            f"{c['clean_drops']} dropped clean, {c['zero_drops']} dropped as zeros",
            f"read-ahead {c['read_ahead']} pages, {c['read_ahead_hits']} of them known to be used; "
            f"{c['pinned']} pages found pinned, {c['over_budget']} granted beyond the limit, "
            f"{c['forks']} forks",
        ]
        return "".join(f"nearfar tier: {line}\n" for line in lines)
