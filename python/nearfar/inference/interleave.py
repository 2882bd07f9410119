"""How addresses are spread over modules.

One module is kept busy with stores until its queues are full; then every further store to it
has to wait for one to be written, while a store to another module is accepted at once. So a
store at distance D tells whether it is on the same module. On M modules that take turns
every G bytes, distances from a granule's start are on it up to G, on others up to M G, and
on it again; the whole pattern has to fit, or nothing is claimed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nearfar.inference.cases import ONE_MODULE
from nearfar.inference.orders import Spread, crowd_distances
from nearfar.inference.study import Findings, MissingError, Request, Study
from nearfar.results.findings import Observation, identified

PROBER = "policy"

# Places so far apart are on one module for up to 8 modules and pieces of up to 64 KiB.
SAME_MODULE = 840 * (64 << 10)
_FINEST = 256
_REACH = 512 << 10  # 8 modules of 64 KiB
_FILL = 400  # stores: more than any queue in question holds
_PLACES = 64
_BETWEEN = 4  # refill what was written while a store to another module was accepted
_MOST_MODULES = 8
_BUSY = 10.0  # times the time of the first store that stores to a busy module take at least
_TAIL = 0.02
_WRONG = 0.01  # share of distances that noise may have on the wrong side


@dataclass(frozen=True)
class Interleaving:
    """What is known; `spread` is safe to use even when nothing is."""

    spread: Spread
    evidence: tuple[str, ...] = ()


def study(found: Findings) -> Study[Interleaving]:
    """Finds `modules` and `interleave`."""
    names = ("modules", "interleave")
    distances = list(range(0, _REACH + 1, _FINEST))
    try:
        seen = yield Request(
            PROBER,
            "crowd",
            {
                "base": 0,
                "step": SAME_MODULE,
                "fill": _FILL,
                "between": _BETWEEN,
                "places": _PLACES,
                "distances": distances,
            },
            {},
        )
    except MissingError:
        found.lack(names, "the experiment with stores at a distance was not made")
        return Interleaving(Spread())
    same = _same_module(seen)
    if same is None:
        found.lack(
            names,
            "stores are not slowed down by the stores before them, so nothing tells which "
            "addresses share a queue",
            [seen.id],
        )
        return Interleaving(Spread(), (seen.id,))
    return _explain(same, seen.id, found)


def _same_module(seen: Observation) -> NDArray[np.bool_] | None:
    """By distance: whether the store had to wait as those to the busy module do."""
    times = np.array(seen.samples)
    order = seen.pattern["order"]
    at, distances = crowd_distances(order)
    fill, between = order["params"]["fill"], order["params"]["between"]
    # Just before each store beyond, the queue is full; of the first ever it is empty.
    waiting = times[at - 1]
    free = times[:2]
    if np.quantile(waiting, _TAIL) <= _BUSY * max(free.max(), 1.0) or len(waiting) * between < fill:
        return None
    # Between the two in ratio: a busy module may write another store sooner than those that
    # keep it busy, but never at once.
    threshold = float(np.sqrt(max(free.max(), 1.0) * np.quantile(waiting, _TAIL)))
    same = np.empty(len(at), dtype=np.bool_)
    same[(distances // np.uint64(_FINEST)).astype(np.int64)] = times[at] > threshold
    return same


def _explain(same: NDArray[np.bool_], evidence: str, found: Findings) -> Interleaving:
    modules, granule, wrong = min(_fits(same), key=lambda fit: fit[2])
    if wrong > _WRONG:
        found.lack(
            ("modules", "interleave"),
            "which distances share a module follows no pattern of modules taking turns",
            [evidence],
        )
        return Interleaving(Spread(), (evidence,))
    if modules == 1:
        found.add(
            identified(
                "modules",
                1,
                f"stores at every distance up to {_REACH // 1024} KiB queue behind those to "
                "the same module",
                [evidence],
            )
        )
        found.lack(["interleave"], ONE_MODULE, [evidence])
        return Interleaving(Spread(), (evidence,))
    size = granule * _FINEST
    found.add(
        identified(
            "modules",
            modules,
            f"stores queue behind those to the same module up to {size} B away and again from "
            f"{modules * size} B on; {1 - wrong:.1%} of {len(same)} distances fit",
            [evidence],
        ),
        identified(
            "interleave",
            size,
            f"a store {size} B away is on another module, one {size - _FINEST} B away is not",
            [evidence],
        ),
    )
    return Interleaving(Spread(size, modules), (evidence,))


def _fits(same: NDArray[np.bool_]) -> Iterator[tuple[int, int, float]]:
    """Modules, pieces of a granule, and the share of distances that do not fit these."""
    pieces = np.arange(len(same))
    yield 1, 0, float(np.mean(~same))
    for modules in range(2, _MOST_MODULES + 1):
        for granule in range(1, len(same) // modules):
            if SAME_MODULE % (granule * _FINEST * modules) == 0:
                expected = (pieces // granule) % modules == 0
                yield modules, granule, float(np.mean(same != expected))
