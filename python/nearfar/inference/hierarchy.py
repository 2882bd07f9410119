"""Whether the levels hold copies of the same data, or each its own.

A fresh line is stored, and after a while a line is read that shares its entry of level i + 1
but not that of level i. It is served by level i + 1 only if the store, on its way through
level i, left its entry there too. Reads are known to fill both: that is how the entry sizes
were found.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from nearfar.inference.cases import ONE_ENTRY_SIZE, ONE_LEVEL
from nearfar.inference.level import Structure
from nearfar.inference.orders import Spread, pair_distances
from nearfar.inference.study import Findings, MissingError, Request, Study
from nearfar.results.findings import identified

_PAUSE_NS = 200_000  # longer than stores wait to be joined by others
_NAMES = ("hierarchy",)


def study(found: Findings, spread: Spread, structure: Structure) -> Study[None]:
    """Finds `hierarchy`."""
    levels = structure.levels
    if len(levels) < 2:
        found.lack(_NAMES, ONE_LEVEL)
        return
    shared = [(a, b) for a, b in pairwise(levels) if a.entry < b.entry]
    if not shared:
        found.lack(_NAMES, ONE_ENTRY_SIZE)
        return
    params = {
        "base": 0,
        "area": 256 << 10,
        "distances": [0, *(upper.entry for upper, _ in shared)],
        "delay_ns": _PAUSE_NS,
        "store": True,
    }
    try:
        seen = yield Request("buffers", "pairs", params, {"repeats": (16, 32)}, spread)
    except MissingError:
        found.lack(_NAMES, "the experiment with stores to fresh lines was not made")
        return
    times = np.array(seen.samples)
    distance = pair_distances(seen.pattern["order"])
    if np.mean(times[distance == 0] <= 0.9 * levels[0].latency) > 0.2:
        found.lack(_NAMES, "what was stored has not reached the buffers yet", [seen.id])
        return
    filled = [
        float(np.mean(times[distance == upper.entry] <= lower.threshold)) for upper, lower in shared
    ]
    if min(filled) > 0.8:
        found.add(
            identified(
                "hierarchy",
                "inclusive",
                "what a read or a store brings into a level is found in the next one too",
                [seen.id],
            )
        )
    elif max(filled) < 0.2:
        found.add(
            identified(
                "hierarchy",
                "independent",
                "what a store leaves in a level is not found in the next one",
                [seen.id],
            )
        )
    else:
        found.lack(_NAMES, "stores fill some levels and not others", [seen.id])
