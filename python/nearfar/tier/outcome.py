"""What a program on two tiers did with its memory."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nearfar._lists import PEAKS
from nearfar.results.tier_run import TierRunResult, TierSamples
from nearfar.tier.control import PAGE, Flat

_MIB = 1 << 20


@dataclass(frozen=True)
class Outcome:
    """A run: the exit status as a shell gives it, the last limit, the policy, and what was counted.

    `lacked_memory`: SIGKILL ended it, and meanwhile the kernel killed for lack of memory.
    `unrecorded`: why the record of faults is not whole. `runs_on`: the program's process, if it had
    not ended a second after SIGTERM. `lost_events`: DAMON's, where that watched it.
    """

    status: int
    near_limit_bytes: int
    policy: str
    counts: Mapping[str, int]
    lacked_memory: bool = False
    compression: str = "none"
    eviction: str = "move"
    unrecorded: str = ""
    over_time: TierSamples | None = None
    runs_on: int = 0
    flat: Flat | None = None
    lost_events: int = 0

    def result(self) -> TierRunResult:
        """The result as JSON has it: sizes in bytes, everything else in pages or times."""
        found = figures(
            self.near_limit_bytes, self.policy, self.counts, self.compression, self.eviction
        )
        ran = TierRunResult.from_dict({"status": self.status, **found})
        if self.flat is not None:
            share = self.flat.share
            ran = dataclasses.replace(
                ran,
                near_share=None if share is None else float(share),
                near_node=self.flat.near_node,
                far_node=self.flat.far_node,
                detector=self.flat.detector,
                interval_s=self.flat.interval_ns / 1e9,
                pairs=self.flat.pairs,
            )
        return dataclasses.replace(ran, over_time=self.over_time)

    def text(self, command: str = "tier") -> str:
        """A few lines on standard error, from this command."""
        told = lines if self.flat is None else flat_lines
        return "".join(f"nearfar {command}: {line}\n" for line in told(self.result().to_dict()))


def figures(
    near_limit_bytes: int, policy: str, counts: Mapping[str, int], compression: str, eviction: str
) -> dict[str, Any]:
    """What results have in common, by the names of JSON."""
    managed, unmanaged = counts["managed_peak"], counts["unmanaged_peak"]
    return {
        "policy": policy,
        "near_limit_bytes": near_limit_bytes,
        "near_peak_bytes": counts["near_peak"] * PAGE,
        "far_peak_bytes": counts["slots_peak"] * PAGE,
        "far_stored_peak_bytes": counts["stored_peak"],
        "compression": compression,
        "eviction": eviction,
        "managed_peak_bytes": managed * PAGE,
        "unmanaged_peak_bytes": unmanaged * PAGE,
        "managed_share": managed / (managed + unmanaged) if managed + unmanaged else 0.0,
        **{name: n for name, n in counts.items() if name not in PEAKS},
    }


def lines(result: Mapping[str, Any]) -> list[str]:
    """A result of which `figures` are a part, as text."""
    r = result
    far = mib(r["far_peak_bytes"])
    if r["compression"] != "none":
        far += f" as {mib(r['far_stored_peak_bytes'])} by {r['compression']}"
    text = [
        f"near {mib(r['near_peak_bytes'])} at most (limit {mib(r['near_limit_bytes'])}), "
        f"far {far}; managed {mib(r['managed_peak_bytes'])}, "
        f"{100 * r['managed_share']:.1f} % of the peak of anonymous memory",
        f"{r['faults']} faults: {r['copies_in']} pages copied in, {r['first_touches']} new, "
        f"{r['second_chances']} taken back before they had left; "
        f"threads waited {seconds(r['stall_ns'])}",
        f"{r['evictions']} evictions by {r['policy']}: {r['copies_out']} pages copied out, "
        f"{r['clean_drops']} dropped clean, {r['zero_drops']} dropped as zeros",
        f"read-ahead {r['read_ahead']} pages, {r['read_ahead_hits']} of them known to be used; "
        f"{r['pinned']} pages found pinned, {r['over_budget']} granted beyond the limit, "
        f"{r['forks']} forks",
    ]
    if r["outside"]:
        text.append(
            f"{r['outside']} of the programs that it executed ran outside the limit: linked "
            "statically, as another user, or without the library in their environment"
        )
    if r["filled_drops"]:
        text.append(f"{r['filled_drops']} pages left as one repeated word")
    if r["emulated_ns"]:
        text.append(
            f"emulated far memory: {seconds(r['emulated_ns'])} charged, "
            f"{seconds(r['delayed_ns'])} measured"
        )
    return text


def flat_lines(result: Mapping[str, Any]) -> list[str]:
    """The same where both tiers are addressed directly."""
    r = result
    share = f", {100 * r['managed_share']:.1f} % of the peak of anonymous memory"
    if r.get("attached"):
        share = f", {100 * r['managed_share']:.1f} % of what it has in memory"
    return [
        f"near {mib(r['near_peak_bytes'])} at most (limit {mib(r['near_limit_bytes'])}), "
        f"far {mib(r['far_peak_bytes'])}; managed {mib(r['managed_peak_bytes'])}{share}",
        f"{r['promoted']} pages promoted ({r['groups_exchanged']} times 2 MiB whole), "
        f"{r['demoted']} demoted, {r['refused']} refused, in "
        f"{r['decisions']} decisions by {r['policy']}",
        f"{r['scanned']} pages looked at, {r['found_used']} of them used; {r['probe_faults']} "
        f"faults by that, {r['first_touches']} pages new, {r['forks']} forks",
        f"processor time: {seconds(r['detector_ns'])} to find pages in use, "
        f"{seconds(r['mover_ns'])} to move them",
    ]


def lost_text(lost: int) -> str:
    """What it means that so many events were lost."""
    return (
        f"{lost} events of DAMON were lost, as they came faster than they were read: pages in use "
        "may look unused"
    )


def mib(size_bytes: int) -> str:
    """A size as text, in MiB, or in a larger unit from ten of that on."""
    for unit, one in (("TiB", 1 << 40), ("GiB", 1 << 30)):
        if size_bytes >= 10 * one:
            return f"{size_bytes / one:.1f} {unit}"
    return f"{size_bytes / _MIB:.1f} MiB"


def size(pages: int) -> str:
    """So many pages as text."""
    return mib(pages * PAGE)


def seconds(time_ns: int) -> str:
    """A time as text."""
    return f"{time_ns / 1e9:.3f} s"
