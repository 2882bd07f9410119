"""What a full set replaces: the very order of loads, replayed under each policy.

More lines than a set holds are loaded in random orders, half a set's worth of them many times a
round, or twice, and the others once: LRU keeps the busy ones, FIFO and random replacement lose
them too. And in the same order, each line once a round: LRU and FIFO lose them all, random
replacement does not. Every policy predicts the share of misses in each walk, and the time of each
tells which is right.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nearfar.inference.caches.orders import Offsets, offsets
from nearfar.inference.caches.plan import Experiment, chains
from nearfar.inference.caches.replace import POLICIES
from nearfar.inference.noise import Floats
from nearfar.results.findings import Finding, Observation, identified, not_identifiable

PROBER = "caches"
NAME = "cache.1.policy"

_EACH = 8  # loads of a busy line a round, one of each of its words
_SELDOM = 2  # so few tell two bits of age from LRU
_DRAWS = 8  # simulations of what is random
_BETTER = 2.0  # times smaller an error the best policy needs than any other
_APART = 0.01  # and smaller by so much
_ORDERS = 16
_UNEXPLAINED = 0.08  # of a miss's cost that the best may be off


def experiments(ways: int, period: int, pages: str, quick: bool) -> list[Experiment]:
    """Orders over one set; each repetition has one of its own."""
    hot = max(1, ways // 2)
    few = hot + ways - -(-ways // 4)
    crowds = [(_EACH, hot + ways), (_EACH, few), (_SELDOM, few)]
    if not quick:
        crowds.append((_EACH, hot + ways + ways // 2))
    return [
        Experiment(
            PROBER,
            "visits",
            {"count": count, "stride": period, "hot": hot, "each": each},
            pages=pages,
            chunk_ns=20_000,
            orders=_ORDERS,
        )
        for each, count in crowds
    ]


def findings(
    observations: Sequence[Observation],
    pages: str,
    ways: int | None,
    period: int | None,
    hit_ns: float,
    miss_ns: float,
) -> list[Finding]:
    """The finding of `cache.1.policy`, if its experiments were made."""
    seen = chains(observations, PROBER, "visits", pages)
    if not seen:
        return []
    evidence = [one.id for one in seen]
    if ways is None or period is None or miss_ns <= hit_ns:
        reason = "needs the ways and which lines share a set"
        return [not_identifiable(NAME, reason, evidence)]
    conflicts = chains(observations, PROBER, "strided", pages)
    same = [one for one in conflicts if _overfull(one, ways, period)]
    # In the same order all repetitions are alike; their median stands for them.
    measured = [_measured(one, hit_ns, miss_ns) for one in seen] + [_medians(same, hit_ns, miss_ns)]
    errors = {
        policy: max(
            _error(_predicted(policy, orders, period, ways) - share)
            for share, orders in measured
            if len(orders)
        )
        for policy in POLICIES
    }
    best, second = sorted(errors, key=lambda policy: errors[policy])[:2]
    about = ", ".join(f"{policy} {error:.3f}" for policy, error in errors.items())
    if errors[best] > _UNEXPLAINED:
        reason = f"no policy predicts the share of misses in random orders; errors: {about}"
        return [not_identifiable(NAME, reason, evidence)]
    if errors[second] < max(_BETTER * errors[best], errors[best] + _APART):
        reason = f"{best} and {second} predict the misses of random orders about equally well"
        return [not_identifiable(NAME, f"{reason}; errors: {about}", evidence)]
    count = sum(len(orders) for _, orders in measured[:-1])
    reason = f"predicts the share of misses in {count} random orders; errors: {about}"
    return [identified(NAME, best, reason, evidence)]


def _measured(one: Observation, hit_ns: float, miss_ns: float) -> tuple[Floats, list[Offsets]]:
    """The share of misses of each repetition, and its order."""
    share, orders = [], []
    for repetition, ns in enumerate(one.samples or ()):
        share.append((ns - hit_ns) / (miss_ns - hit_ns))
        orders.append(offsets(one.pattern["order"], one.pattern["seed"] + repetition))
    return np.array(share), orders


def _error(off: Floats) -> float:
    """How far off the middle order is. Under a tree of pointers what the set held before decides
    on which of several rounds it settles, so a single order may be off either way; and a
    disturbance of one repetition does not disturb most."""
    return abs(float(np.median(off)))


def _overfull(one: Observation, ways: int, period: int) -> bool:
    """A same-order walk of one set with a few lines too many.

    Not with one too many: processors that guess the way from part of the address are slow
    there for reasons of their own.
    """
    params = one.pattern["order"]["params"]
    few = ways + 2 <= params["count"] <= ways + max(2, ways // 2)
    return bool(params["stride"] == period and few)


def _medians(
    seen: Sequence[Observation], hit_ns: float, miss_ns: float
) -> tuple[Floats, list[Offsets]]:
    share = [(float(np.median(one.samples or ())) - hit_ns) / (miss_ns - hit_ns) for one in seen]
    return np.array(share), [offsets(one.pattern["order"], one.pattern["seed"]) for one in seen]


def _predicted(policy: str, orders: Sequence[Offsets], period: int, ways: int) -> Floats:
    replace = POLICIES[policy]
    rng = np.random.default_rng(0)
    return np.array(
        [
            float(np.mean([replace(lines, ways, rng) for _ in range(_draws(policy))]))
            for lines in ((order // period).tolist() for order in orders)
        ]
    )


def _draws(policy: str) -> int:
    return _DRAWS if policy == "random" else 1
