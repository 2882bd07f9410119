"""What a full set replaces: the very order of loads, replayed under each policy.

More lines than a set holds are loaded in random orders, half a set's worth of them many times a
round and the others once: LRU keeps the busy ones, FIFO and random replacement lose them too. And
in the same order, each line once a round: LRU and FIFO lose them all, random replacement does
not. Every policy predicts the share of misses in each walk, and the time of each tells who is
right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from nearfar.infer.caches_orders import Offsets, offsets
from nearfar.infer.caches_plan import Experiment, chains
from nearfar.infer.noise import Floats
from nearfar.results.findings import Finding, Observation, identified, not_identifiable

PROBER = "caches"
NAME = "buffer.1.policy"

_EACH = 8  # loads of a busy line a round, one of each of its words
_ROUNDS = 12
_WARM = 4
_TRUSTED = 0.8  # share of the walks that are held against the predictions
_DRAWS = 8  # simulations of what is random
_BETTER = 2.0  # times smaller an error the best policy needs than any other
_UNEXPLAINED = 0.08  # of a miss's cost that the best may be off, root mean square


def experiments(ways: int, period: int, quick: bool) -> list[Experiment]:
    """Orders over one set; each repetition has one of its own."""
    hot = max(1, ways // 2)
    crowds = {hot + ways, hot + ways - ways // 4} | (set() if quick else {hot + ways + ways // 2})
    return [
        Experiment(
            PROBER,
            "visits",
            {"count": count, "stride": period, "hot": hot, "each": _EACH},
            chunk_ns=20_000,
        )
        for count in sorted(crowds)
    ]


def findings(
    observations: Sequence[Observation],
    ways: int | None,
    period: int | None,
    hit_ns: float,
    miss_ns: float,
) -> list[Finding]:
    """The finding of `buffer.1.policy`, if its experiments were made."""
    seen = chains(observations, PROBER, "visits")
    if not seen:
        return []
    evidence = [one.id for one in seen]
    if ways is None or period is None or miss_ns <= hit_ns:
        reason = "needs the ways and which lines share a set"
        return [not_identifiable(NAME, reason, evidence)]
    same = [one for one in chains(observations, PROBER, "strided") if _overfull(one, ways, period)]
    # In the same order all repetitions are alike; their median stands for them.
    measured = [_measured(seen, hit_ns, miss_ns), _medians(same, hit_ns, miss_ns)]
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
    if errors[second] < _BETTER * errors[best]:
        reason = f"{best} and {second} predict the misses of random orders about equally well"
        return [not_identifiable(NAME, f"{reason}; errors: {about}", evidence)]
    reason = f"predicts the share of misses in {len(measured[0][1])} random orders; errors: {about}"
    return [identified(NAME, best, reason, evidence)]


def _measured(
    seen: Sequence[Observation], hit_ns: float, miss_ns: float
) -> tuple[Floats, list[Offsets]]:
    """The share of misses of each repetition, and its order."""
    share, orders = [], []
    for one in seen:
        for repetition, ns in enumerate(one.samples or ()):
            share.append((ns - hit_ns) / (miss_ns - hit_ns))
            orders.append(offsets(one.pattern["order"], one.pattern["seed"] + repetition))
    return np.array(share), orders


def _error(off: Floats) -> float:
    """Root mean square of all but the worst fifth, which a disturbance may have made."""
    ordered = np.sort(np.abs(off))
    return float(np.sqrt(np.mean(ordered[: max(1, round(_TRUSTED * len(ordered)))] ** 2)))


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


# ---- Policies: the share of misses once a set has warmed up ------------------------------


def _queue(lines: list[int], ways: int, refresh: bool) -> float:
    content: dict[int, None] = {}
    misses = 0
    for turn in range(_ROUNDS):
        for line in lines:
            if line in content:
                if refresh:
                    del content[line]
                    content[line] = None
                continue
            misses += turn >= _WARM
            if len(content) == ways:
                del content[next(iter(content))]
            content[line] = None
    return misses / ((_ROUNDS - _WARM) * len(lines))


def _fifo(lines: list[int], ways: int, rng: np.random.Generator) -> float:
    del rng
    return _queue(lines, ways, refresh=False)


def _lru(lines: list[int], ways: int, rng: np.random.Generator) -> float:
    del rng
    return _queue(lines, ways, refresh=True)


def _random(lines: list[int], ways: int, rng: np.random.Generator) -> float:
    content: list[int] = []
    misses = 0
    victims = rng.integers(0, ways, _ROUNDS * len(lines)).tolist()
    for turn in range(_ROUNDS):
        for line in lines:
            if line in content:
                continue
            misses += turn >= _WARM
            if len(content) < ways:
                content.append(line)
            else:
                content[victims.pop()] = line
    return misses / ((_ROUNDS - _WARM) * len(lines))


def _tree(lines: list[int], ways: int, rng: np.random.Generator) -> float:
    """Pseudo-LRU by a binary tree of pointers to the half not used last.

    Ways that are no power of two have a tree of the next one whose missing leaves are never
    pointed to.
    """
    del rng
    leaves = 1 << (ways - 1).bit_length()
    points_right = [False] * leaves  # node 1 is the root
    content: dict[int, int] = {}
    held = [-1] * ways
    misses = 0
    for turn in range(_ROUNDS):
        for line in lines:
            way = content.get(line, -1)
            if way < 0:
                misses += turn >= _WARM
                way = held.index(-1) if -1 in held else _victim(points_right, leaves, ways)
                content.pop(held[way], None)
                held[way] = line
                content[line] = way
            node, low, width = 1, 0, leaves
            while width > 1:
                width //= 2
                right = way >= low + width
                points_right[node] = not right
                low += width if right else 0
                node = 2 * node + right
    return misses / ((_ROUNDS - _WARM) * len(lines))


def _victim(points_right: list[bool], leaves: int, ways: int) -> int:
    node, low, width = 1, 0, leaves
    while width > 1:
        width //= 2
        right = points_right[node] and low + width < ways
        low += width if right else 0
        node = 2 * node + right
    return low


POLICIES: dict[str, Callable[[list[int], int, np.random.Generator], float]] = {
    "fifo": _fifo,
    "lru": _lru,
    "plru": _tree,
    "random": _random,
}
