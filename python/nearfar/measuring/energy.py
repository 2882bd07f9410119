"""Energy from a model's counters: by component, over all channels, and for each bit moved.

Every component counts its own energy, in pJ, in counters whose names end in
`energy.WHAT_pj`; the rest is sums. Power is energy over simulated time, so it is an average
over the whole run, warm-up included, as the counters are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from nearfar.measuring.quantity import LINE

_ENERGY = re.compile(
    r"(?:far\.)?(?P<near>near\.)?(?:channel\.\d+\.)?(?P<component>.*?)\.?energy\.(?P<what>\w+)_pj"
)
_REQUESTS = re.compile(r"(?:(?:near|far)\.)?(?:channel\.\d+\.(?:dram\.)?|)(?:reads|writes)")


def by_component(counters: Mapping[str, int]) -> dict[str, int]:
    """pJ by component and what it went into, as "dram.activate", summed over channels."""
    found: dict[str, int] = {}
    for name, picojoules in counters.items():
        if match := _ENERGY.fullmatch(name):
            key = ".".join(part for part in (match["component"], match["what"]) if part)
            key = (match["near"] or "") + key
            found[key] = found.get(key, 0) + picojoules
    return dict(sorted(found.items()))


def lines_moved(counters: Mapping[str, int]) -> int:
    """64-byte lines that the memory controller accepted, reads and writes."""
    if "near.reads" in counters:  # what moves between near and far memory is not counted again
        names = ("reads", "writes", "direct_reads", "direct_writes")
        return sum(counters[f"near.{name}"] for name in names)
    return sum(count for name, count in counters.items() if _REQUESTS.fullmatch(name))


def summary(counters: Mapping[str, int]) -> dict[str, Any]:
    """The fields of a result that tell of energy; none where the model has no currents."""
    parts = by_component(counters)
    if not parts:
        return {}
    total = sum(parts.values())
    bits = lines_moved(counters) * LINE * 8
    time_ps = counters.get("time_ps", counters.get("far.time_ps", 0))
    return {
        "energy_pj": total,
        "energy": parts,
        "energy_pj_per_bit": total / bits if bits else None,
        "average_power_w": total / time_ps if time_ps else None,  # pJ over ps is W
    }
