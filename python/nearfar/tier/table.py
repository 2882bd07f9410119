"""Programs that run on two tiers, as text: one in full, or all in a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nearfar.tier.outcome import flat_lines, lines, mib

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
_FLAT_COLUMNS = (
    ("PID", 8),
    ("NEAR", 9),
    ("LIMIT", 9),
    ("FAR", 9),
    ("PROMOTED/s", 10),
    ("DEMOTED/s", 10),
    ("REFUSED/s", 10),
    ("LOOKED/s", 9),
    ("USED/s", 9),
    ("FAULT/s", 9),
    ("DETECTOR", 8),
    ("MOVER", 7),
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
        *(f"  {line}" for line in (flat_lines if s["flat"] else lines)(s)),
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
    """All trees, with what was counted since `before`, `seconds` ago; sizes in MiB. Those whose two
    tiers are both addressed directly have a table of their own.

    AHEAD: of the pages that were read ahead since it began, how many are known to have been used.
    STALL: how long threads waited for faults, in seconds a second; several can wait at once.
    DETECTOR, MOVER: of a processor, to find pages in use, and to move them.
    """
    tables = []
    for flat, columns, cells in ((False, _COLUMNS, _cells), (True, _FLAT_COLUMNS, _flat_cells)):
        rows = [" ".join(f"{name:>{width}}" for name, width in columns) + "  PROGRAM"]
        for tree in now:
            if tree["flat"] is not flat:
                continue
            old = before.get(tree["process"], tree)
            written = zip(cells(tree, old, seconds), columns, strict=True)
            row = " ".join(f"{cell:>{width}}" for cell, (_, width) in written)
            rows.append(f"{row}  {tree['program']}{' (resident)' if tree['resident'] else ''}")
        if len(rows) > 1:
            tables.append("".join(f"{row}\n" for row in rows))
    return "\n".join(tables)


def _cells(tree: Mapping[str, Any], old: Mapping[str, Any], seconds: float) -> list[str]:
    rated = ("faults", "copies_in", "copies_out", "clean_drops", "second_chances")
    ahead = tree["read_ahead"]
    return [
        str(tree["process"]),
        *(
            _mib(tree[name])
            for name in ("near_bytes", "near_limit_bytes", "far_bytes", "far_stored_bytes")
        ),
        *(f"{_rate(name, tree, old, seconds):.0f}" for name in rated),
        f"{100 * tree['read_ahead_hits'] / ahead:.0f}%" if ahead else "-",
        f"{_rate('stall_ns', tree, old, seconds) / 1e9:.3f}",
    ]


def _flat_cells(tree: Mapping[str, Any], old: Mapping[str, Any], seconds: float) -> list[str]:
    rated = ("promoted", "demoted", "refused", "scanned", "found_used", "probe_faults")
    return [
        str(tree["process"]),
        *(_mib(tree[name]) for name in ("near_bytes", "near_limit_bytes", "far_bytes")),
        *(f"{_rate(name, tree, old, seconds):.0f}" for name in rated),
        *(f"{_rate(name, tree, old, seconds) / 1e7:.2f}%" for name in ("detector_ns", "mover_ns")),
    ]


def _rate(name: str, tree: Mapping[str, Any], old: Mapping[str, Any], seconds: float) -> float:
    return float(tree[name] - old[name]) / seconds


def _mib(size_bytes: int) -> str:
    return f"{size_bytes / _MIB:.1f}"
