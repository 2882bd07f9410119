"""Machines on two tiers as text: one in full, or all in a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nearfar.tier.control import PAGE
from nearfar.tier.outcome import flat_lines, lines, mib

NOTHING = "no machine of this user runs on two tiers\n"

_MIB = 1 << 20
_COLUMNS = (
    ("NAME", 12),
    ("QEMU", 8),
    ("STATE", 8),
    ("GUEST", 9),
    ("NEAR", 9),
    ("LIMIT", 9),
    ("FAR", 9),
    ("FAULT/s", 9),
    ("IN/s", 8),
    ("OUT/s", 8),
    ("STALL", 7),
)


def stats_text(stats: Mapping[str, Any]) -> str:
    """A machine in full."""
    s = stats
    far = mib(s["far_bytes"])
    if s["compression"] != "none":
        far += f" as {mib(s['far_stored_bytes'])} by {s['compression']}"
    plugged = f" and {mib(s['plugged_bytes'])} plugged in" if s["plugged_bytes"] else ""
    outside = s["unmanaged_guest_bytes"]
    left = [f"  {mib(outside)} of what was plugged in are not managed"] if outside else []
    text = [
        f"{s['name']} (QEMU {s['qemu']}, {s['state']}): near {mib(s['near_bytes'])} of "
        f"{mib(s['near_limit_bytes'])}, {_share(s):.3g} % of {mib(s['guest_bytes'])}{plugged}; "
        f"far {far}",
        f"  moved near {mib((s['copies_in'] + s['promoted']) * PAGE)}, moved far "
        f"{mib((s['copies_out'] + s['demoted']) * PAGE)}",
        *left,
        *(f"  {line}" for line in (flat_lines if s["flat"] else lines)(s)),
    ]
    return "".join(f"{line}\n" for line in text)


def top_text(
    now: Sequence[Mapping[str, Any]], before: Mapping[int, Mapping[str, Any]], seconds: float
) -> str:
    """All machines, with what was counted since `before`, `seconds` ago; sizes in MiB.

    STALL: how long processors of the guest waited for faults, in seconds a second.
    """
    rows = [" ".join(f"{name:>{width}}" for name, width in _COLUMNS)]
    for machine in now:
        old = before.get(machine["qemu"], machine)

        def rate(
            name: str, new: Mapping[str, Any] = machine, old: Mapping[str, Any] = old
        ) -> float:
            return float(new[name] - old[name]) / seconds

        cells = [
            machine["name"],
            str(machine["qemu"]),
            machine["state"],
            *(_mib(machine[f"{name}_bytes"]) for name in ("guest", "near", "near_limit", "far")),
            f"{rate('faults'):.0f}",
            _mib((rate("copies_in") + rate("promoted")) * PAGE),
            _mib((rate("copies_out") + rate("demoted")) * PAGE),
            f"{rate('stall_ns') / 1e9:.3f}",
        ]
        rows.append(
            " ".join(f"{cell:>{width}}" for cell, (_, width) in zip(cells, _COLUMNS, strict=True))
        )
    return "".join(f"{row}\n" for row in rows)


def _share(stats: Mapping[str, Any]) -> float:
    return float(100 * stats["near_limit_bytes"] / stats["guest_bytes"])


def _mib(size_bytes: float) -> str:
    return f"{size_bytes / _MIB:.1f}"
