"""Programs that run on two tiers, as text: one in full, or all in a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nearfar.tier.outcome import lines, mib

NOTHING = "no program of this user runs on two tiers\n"

_MIB = 1 << 20
_COLUMNS = (
    ("PID", 8),
    ("NEAR", 9),
    ("LIMIT", 9),
    ("FAR", 9),
    ("STORED", 9),
    ("FAULT/s", 9),
    ("IN/s", 9),
    ("OUT/s", 9),
    ("CLEAN/s", 9),
    ("SECOND/s", 9),
    ("AHEAD", 6),
    ("STALL", 7),
)


def stats_text(stats: Mapping[str, Any]) -> str:
    """A tree in full."""
    s = stats
    state = "; all pages are kept resident" if s["resident"] else ""
    far = mib(s["far_bytes"])
    if s["compression"] != "none":
        far += f" as {mib(s['far_stored_bytes'])} by {s['compression']}"
    text = [
        f"{s['process']} ({s['program']}): near {mib(s['near_bytes'])} of "
        f"{mib(s['near_limit_bytes'])}, far {far}, "
        f"managed {mib(s['managed_bytes'])}{state}",
        *(f"  {line}" for line in lines(s)),
        *(
            f"  process {part['process']} ({part['program']}): near {mib(part['near_bytes'])}, "
            f"managed {mib(part['managed_bytes'])}"
            for part in s["processes"]
        ),
    ]
    return "".join(f"{line}\n" for line in text)


def top_text(
    now: Sequence[Mapping[str, Any]], before: Mapping[int, Mapping[str, Any]], seconds: float
) -> str:
    """All trees, with what was counted since `before`, `seconds` ago; sizes in MiB.

    AHEAD: of the pages that were read ahead since it began, how many are known to have been used.
    STALL: how long threads waited for faults, in seconds a second; several can wait at once.
    """
    rows = [" ".join(f"{name:>{width}}" for name, width in _COLUMNS) + "  PROGRAM"]
    for tree in now:
        old = before.get(tree["process"], tree)

        def rate(name: str, tree: Mapping[str, Any] = tree, old: Mapping[str, Any] = old) -> float:
            return float(tree[name] - old[name]) / seconds

        ahead = tree["read_ahead"]
        cells = [
            str(tree["process"]),
            _mib(tree["near_bytes"]),
            _mib(tree["near_limit_bytes"]),
            _mib(tree["far_bytes"]),
            _mib(tree["far_stored_bytes"]),
            *(
                f"{rate(name):.0f}"
                for name in ("faults", "copies_in", "copies_out", "clean_drops", "second_chances")
            ),
            f"{100 * tree['read_ahead_hits'] / ahead:.0f}%" if ahead else "-",
            f"{rate('stall_ns') / 1e9:.3f}",
        ]
        row = " ".join(f"{cell:>{width}}" for cell, (_, width) in zip(cells, _COLUMNS, strict=True))
        rows.append(f"{row}  {tree['program']}{' (resident)' if tree['resident'] else ''}")
    return "".join(f"{row}\n" for row in rows)


def _mib(size_bytes: int) -> str:
    return f"{size_bytes / _MIB:.1f}"
