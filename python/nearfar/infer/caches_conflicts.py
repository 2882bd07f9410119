"""Ways of the second cache: conflicts between lines of whole 2 MiB pages.

Within a page that is contiguous in physical memory, lines a multiple of the set's distance apart
meet in one set of the second cache, as they do in the first. That needs pages that are really
whole: the page-size control says whether they are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nearfar.infer.caches_first import PROBER, last_below, settled
from nearfar.infer.caches_plan import HUGE, Experiment, chains, over
from nearfar.infer.noise import LEAST_RISE
from nearfar.infer.tlb import Translation
from nearfar.results.findings import Finding, Observation, identified, not_identifiable

NAME = "buffer.2.ways"

_STRIDES = [1 << k for k in range(12, 19)]  # 4 to 256 KiB
_MOST = 40  # lines
_SLOW = 0.15  # above what the second cache takes: a conflict there


def experiments(first_ways: int, quick: bool) -> list[Experiment]:
    """More lines than one set of the first cache holds, so that the second serves them."""
    return [
        Experiment(
            PROBER, "strided", {"count": count, "stride": stride}, pages=HUGE, chunk_ns=20_000
        )
        for stride in _STRIDES
        for count in range(first_ways + 2, _MOST + 1, 2 if quick else 1)
    ]


def finding(
    observations: Sequence[Observation], first_ways: int, second_ns: float, known: Translation
) -> Finding:
    """The number of ways, or why it cannot be told."""
    if known.whole is None:
        reason = f"needs 2 MiB pages: {known.reason or 'the page-size control was not made'}"
        return not_identifiable(NAME, reason, known.evidence)
    if not known.whole:
        reason = f"needs whole 2 MiB pages, and here they are not: {known.reason}"
        return not_identifiable(NAME, reason, known.evidence)
    edges: dict[int, tuple[int, list[str]]] = {}
    seen = chains(observations, PROBER, "strided", HUGE)
    for stride in sorted({one.pattern["order"]["params"]["stride"] for one in seen}):
        curve = over(
            [one for one in seen if one.pattern["order"]["params"]["stride"] == stride], "count"
        ).within(first_ways + 2, _MOST)
        last = last_below(curve, second_ns * (1 + max(_SLOW, LEAST_RISE)))
        if last is not None:
            edges[stride] = (int(curve.x[last]), [curve.ids[last], curve.ids[last + 1]])
    stride = settled(edges)
    ids = [one.id for one in seen]
    if stride is None:
        reason = (
            "the largest number of lines that do not conflict does not settle as the stride "
            "doubles: sets are chosen by a hash of the address, or ways are fewer than the first "
            "cache's"
        )
        return not_identifiable(NAME, reason, ids)
    ways, evidence = edges[stride]
    step = int(np.max(np.diff(sorted({one.pattern["order"]["params"]["count"] for one in seen}))))
    reason = (
        f"{ways} lines any multiple of {stride} B apart in 2 MiB pages are served by this cache, "
        f"{ways + step} are not"
    )
    if step > 1:
        return not_identifiable(
            NAME, f"{reason}; between them nothing was measured", evidence, (ways, ways + step - 1)
        )
    return identified(NAME, ways, reason, evidence)
