"""What became of the memory of a program that ran over the kernel's swap."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from nearfar.results.tier_run import TierRunResult
from nearfar.tier.control import PAGE
from nearfar.tier.outcome import mib, size

_SIZES = ("near", "near_peak", "swapped", "swapped_peak")


@dataclass(frozen=True)
class SwapOutcome:
    """A run: the exit status as a shell gives it, the limit, and what was seen and done.

    `hard_limit`: a control group enforced the limit; `kills`: of its processes for lack of memory;
    `left`: processes of the tree that still ran when the program had ended.
    """

    status: int
    near_limit_bytes: int
    policy: str
    hard_limit: bool
    kills: int
    left: int
    counts: Mapping[str, int]
    unrecorded: ClassVar[str] = ""  # there is no record of faults

    @property
    def lacked_memory(self) -> bool:
        """SIGKILL ended the program, and the kernel has killed in its group for lack of memory."""
        return self.status == 128 + signal.SIGKILL and self.kills > 0

    def result(self) -> TierRunResult:
        """The result as JSON has it: sizes in bytes, times in ns, all else in pages or times."""
        counts = {name: n for name, n in self.counts.items() if name not in _SIZES}
        return TierRunResult(
            status=self.status,
            policy=self.policy,
            near_limit_bytes=self.near_limit_bytes,
            near_peak_bytes=self.counts["near_peak"] * PAGE,
            far_peak_bytes=self.counts["swapped_peak"] * PAGE,
            managed_share=1.0,
            backend="swap",
            hard_limit=self.hard_limit,
            out_of_memory_kills=self.kills,
            processes_left=self.left,
            counts=counts,
        )

    def text(self) -> str:
        """A few lines for its user."""
        c = self.counts
        share = (c["watching_ns"] + c["evicting_ns"]) / max(1, c["elapsed_ns"])
        lines = [
            f"near {size(c['near_peak'])} of {mib(self.near_limit_bytes)} at most, "
            f"swap {size(c['swapped_peak'])}; policy {self.policy}",
            f"{c['faults']} faults that waited for a page, {c['page_ins_seen']} pages seen to "
            f"return, {c['first_touches_seen']} new",
            f"{c['evictions']} of {c['evictions_asked']} evictions done, {c['kernel_evictions']} "
            "pages swapped out by the kernel itself",
            f"monitor: {c['watching_ns'] / 1e9:.3f} s of CPU to watch, "
            f"{c['evicting_ns'] / 1e9:.3f} s to swap out, {100 * share:.0f} % of one CPU",
        ]
        if not self.hard_limit:
            lines.append(
                "no control group could be made: between two looks the peak may have been higher"
            )
        if self.kills:
            lines.append(
                f"the kernel killed {self.kills} of the processes for lack of memory: --near is "
                "too small for what cannot be swapped, or the swap is full"
            )
        if self.left:
            lines.append(f"{self.left} processes still run, without a limit from now on")
        return "".join(f"nearfar tier: {line}\n" for line in lines)
