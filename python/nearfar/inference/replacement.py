"""One buffer replayed under a candidate organisation: which accesses would find their entry.

The buffer starts empty and fills before anything is replaced. Entry b belongs to set
b mod sets.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Blocks = NDArray[np.int64]
Hits = NDArray[np.bool_]

# No hit is more certain than this under random replacement: the entry might have been touched
# by an access that looked as if it had been served above.
_UNSURE = 1e-3
_TRIALS = 6
_SPREADS = 6.0  # of the trials: what chance may do, known from so few of them
_SYSTEMATIC = 0.01


@dataclass(frozen=True)
class Candidate:
    """An organisation and how well it explains what was seen."""

    ways: int
    policy: str
    log_likelihood: float
    wrong: float  # share that cannot be: a hit predicted to miss; random: unlikely outcomes
    late: float = 0.0  # share of the hits that look like misses


def candidates(entries: int, most_ways: int) -> list[int]:
    """Numbers of ways that divide the entries: up to `most_ways`, and all of them."""
    return [
        w for w in range(1, entries + 1) if not entries % w and (w <= most_ways or w == entries)
    ]


def ordered(policy: str, entries: int, ways: int, blocks: Blocks) -> Hits:
    """Hits under "fifo" or "lru", access by access."""
    sets = entries // ways
    content: list[dict[int, None]] = [{} for _ in range(sets)]
    hits = np.zeros(len(blocks), dtype=np.bool_)
    refresh = policy == "lru"
    for i, block in enumerate(blocks.tolist()):
        here = content[block % sets]
        if block in here:
            hits[i] = True
            if refresh:
                del here[block]
                here[block] = None
            continue
        if len(here) == ways:
            del here[next(iter(here))]
        here[block] = None
    return hits


def random_chances(
    entries: int, ways: int, blocks: Blocks, hits: Hits, delayed: float = 0.0
) -> NDArray[np.float64]:
    """The chance of each access to hit under random replacement, given what was seen before.

    An entry last seen in the buffer survives a replacement in its set with chance 1 - 1/ways;
    how many there have been is known from the misses. With a share `delayed` of hits that
    look like misses, a miss counts by how sure it is.
    """
    sets = entries // ways
    used = [0] * sets  # ways filled
    replaced = [0.0] * sets
    last: dict[int, float] = {}
    log_survival = math.log1p(-1 / ways) if ways > 1 else -math.inf
    chances = np.zeros(len(blocks))
    for i, (block, hit) in enumerate(zip(blocks.tolist(), hits.tolist(), strict=True)):
        number = block % sets
        since = last.get(block)
        chance = 0.0
        if since is not None:
            losses = replaced[number] - since
            chance = math.exp(losses * log_survival) if losses else 1.0
        chances[i] = chance
        if not hit:
            if since is None and used[number] < ways:
                used[number] += 1
            else:
                missed = 1 - chance
                total = missed + chance * delayed
                replaced[number] += missed / total if total else 0.0
        last[block] = replaced[number]
    return chances


def judge(
    entries: int, ways: int, policy: str, blocks: Blocks, hits: Hits, delayed: float = 0.0
) -> Candidate:
    """How well one organisation explains the hits, if a share of them looks like misses."""
    if policy != "random":
        predicted = ordered(policy, entries, ways, blocks)
        # A hit that is late looks like a miss; a miss is never early.
        late = float(np.mean(~hits[predicted])) if predicted.any() else 0.0
        early = float(np.mean(hits[~predicted])) if not predicted.all() else 0.0
        log_likelihood = _tosses(~hits[predicted]) + _tosses(hits[~predicted])
        return Candidate(ways, policy, log_likelihood, early, late)
    chance = random_chances(entries, ways, blocks, hits, delayed) * (1 - delayed)
    wrong = float(np.mean((chance > 0.5) != hits))
    return Candidate(ways, policy, _log_likelihood(chance, hits), wrong, delayed)


def _tosses(outcomes: Hits) -> float:
    """Log likelihood of yes or no under the share of yes, which is 1/n at least."""
    count, yes = len(outcomes), int(np.count_nonzero(outcomes))
    if count == 0:
        return 0.0
    share = min(max(yes / count, 1 / (count + 1)), 1 - 1 / (count + 1))
    return yes * math.log(share) + (count - yes) * math.log1p(-share)


def plausible(candidate: Candidate, entries: int, blocks: Blocks, hits: Hits) -> bool:
    """Whether random replacement in so many ways gives what was seen, by playing it.

    The chances of single accesses are right one by one but not independent (of two entries
    one must go), so what their likelihood should be is learnt from simulated buffers.
    """
    rng = np.random.default_rng(0)
    ways, delayed = candidate.ways, candidate.late
    simulated = []
    for _ in range(_TRIALS):
        outcome = shuffled(entries, ways, blocks, rng)
        outcome &= rng.random(len(outcome)) >= delayed
        again = judge(entries, ways, "random", blocks, outcome, delayed)
        simulated.append((float(np.mean(outcome)), again.log_likelihood))
    seen = (float(np.mean(hits)), candidate.log_likelihood)
    mean, spread = np.mean(simulated, axis=0), np.std(simulated, axis=0, ddof=1)
    allowed = _SPREADS * spread + _SYSTEMATIC * np.abs(mean)
    return bool(np.all(np.abs(np.array(seen) - mean) <= allowed))


def shuffled(entries: int, ways: int, blocks: Blocks, rng: np.random.Generator) -> Hits:
    """Hits of a buffer that replaces at random."""
    sets = entries // ways
    content: list[list[int]] = [[] for _ in range(sets)]
    present: set[int] = set()
    hits = np.zeros(len(blocks), dtype=np.bool_)
    draws = rng.integers(0, ways, len(blocks)).tolist()
    for i, block in enumerate(blocks.tolist()):
        if block in present:
            hits[i] = True
            continue
        here = content[block % sets]
        if len(here) < ways:
            here.append(block)
        else:
            present.remove(here[draws[i]])
            here[draws[i]] = block
        present.add(block)
    return hits


def _log_likelihood(chance: NDArray[np.float64], hits: Hits) -> float:
    sure = np.clip(chance, _UNSURE, 1 - _UNSURE)
    return float(np.where(hits, np.log(sure), np.log1p(-sure)).sum())
