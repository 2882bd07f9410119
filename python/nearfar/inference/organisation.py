"""Ways, sets and replacement policy of a level: the structural model, access by access.

Loads of random entries over half as much again as the level holds bring every reuse distance.
Which of them reached the level, and which of those it served, is seen in their latencies. So
the very accesses can be replayed under every candidate, on the level alone, whatever is
above it. Under FIFO and LRU each outcome is certain; under random replacement each
has a known chance. The candidate of the greatest likelihood is accepted if it
explains what was seen and no other comes near.
"""

from __future__ import annotations

import numpy as np

from nearfar.inference import cases, replacement
from nearfar.inference.capacity import BREATH_NS
from nearfar.inference.level import Level, Structure
from nearfar.inference.orders import Spread, build
from nearfar.inference.replacement import Blocks, Candidate, Hits
from nearfar.inference.study import Findings, MissingError, Request, Study
from nearfar.results.findings import Observation, identified, not_identifiable

_MOST_WAYS = 32  # beside full associativity
_DECISIVE = 8.0  # log likelihood by which a candidate has to beat every other
_UNEXPLAINED = 0.005  # share of predicted misses that may look like hits: none should
_LATE = 0.12  # share of hits that may look like misses: they can be delayed
_DELAYED = (0.0, 0.0625)  # shares of delayed hits that random replacement is judged with
_MOST_GAPS = 3


def organisation(level: Level, known: Structure, spread: Spread, found: Findings) -> Study[bool]:
    """Finds `ways`, `sets` and `policy` of a level whose entry and capacity are known.

    Whether anything explains it.
    """
    names = [level.name(what) for what in ("ways", "sets", "policy")]
    region = level.entries + max(1, level.entries // 2)
    try:
        seen = yield Request(
            "buffers",
            "mix",
            {"base": 0, "entries": region, "entry": level.entry, "pause_ns": BREATH_NS},
            {"accesses": (8000 + 3 * region, 16000 + 6 * region)},
            spread,
        )
    except MissingError:
        found.lack(names, "the experiment with random reads was not made")
        return True  # nothing speaks against it
    above = known.levels[-1].threshold if known.levels else 0.0
    for limit in (level.threshold, *_gaps(level, known.memory, seen)):
        blocks, hits = _reached(level, above, limit, seen)
        judged = _judge(level.entries, blocks, hits)
        explained = _explained(judged[0], level.entries, blocks, hits)
        if explained:
            break
    if not explained:
        # Where an inclusive level loses an entry, so do those above: what they served it holds
        # too, and of what reached it too much was lost. With random replacement, where hits
        # leave no trace, all accesses may be taken for its own.
        blocks, hits = _reached(level, 0.0, level.threshold, seen)
        judged = _judge(level.entries, blocks, hits)
        explained = judged[0].policy == "random" and _explained(
            judged[0], level.entries, blocks, hits
        )
    if not explained:
        found.lack(names, "no number of ways and no policy explains which reads hit", [seen.id])
        return False
    _ways(level, judged, seen.id, found)
    _policy(level, judged, seen.id, found)
    return True


def _explained(best: Candidate, entries: int, blocks: Blocks, hits: Hits) -> bool:
    if best.policy == "random":
        return replacement.plausible(best, entries, blocks, hits)
    return best.wrong <= _UNEXPLAINED and best.late <= _LATE


def _gaps(level: Level, memory: float, seen: Observation) -> list[float]:
    """The middles of the widest gaps between a hit's latency and the memory's.

    In random order reads get into each other's way as they do not in a walk, and a hit may
    take a little longer: the boundary may lie in another gap.
    """
    values = np.unique(np.array(seen.samples))
    values = values[(values >= level.threshold) & (values <= memory)]
    widest = np.argsort(np.diff(values))[::-1][:_MOST_GAPS]
    return [float(values[i] + values[i + 1]) / 2 for i in widest]


def _reached(level: Level, above: float, limit: float, seen: Observation) -> tuple[Blocks, Hits]:
    """The accesses that no level above served, and which of them this one did."""
    times = np.array(seen.samples)
    steps = build(seen.pattern["order"])
    blocks = (steps.operand[steps.timed] // np.uint64(level.entry)).astype(np.int64)
    reached = times > above
    return blocks[reached], times[reached] <= limit


def _judge(entries: int, blocks: Blocks, hits: Hits) -> list[Candidate]:
    """Every candidate, the likeliest first."""
    judged = []
    for ways in replacement.candidates(entries, _MOST_WAYS):
        for policy in ("fifo", "lru") if ways > 1 else ("fifo",):
            judged.append(replacement.judge(entries, ways, policy, blocks, hits))
        for late in _DELAYED if ways > 1 else ():
            judged.append(replacement.judge(entries, ways, "random", blocks, hits, late))
    return sorted(judged, key=lambda candidate: -candidate.log_likelihood)


def _ways(level: Level, judged: list[Candidate], evidence: str, found: Findings) -> None:
    best = judged[0]
    near = sorted({c.ways for c in judged if c.log_likelihood > best.log_likelihood - _DECISIVE})
    sets = sorted(level.entries // ways for ways in near)
    if len(near) > 1:
        reason = f"{', '.join(map(str, near))} ways explain the reads about equally well"
        found.add(
            not_identifiable(level.name("ways"), reason, [evidence], (near[0], near[-1])),
            not_identifiable(level.name("sets"), reason, [evidence], (sets[0], sets[-1])),
        )
        return
    full = ": fully associative" if best.ways == level.entries else ""
    reason = f"{_explains(best)}{full}; {_runner_up(judged, best.ways)}"
    found.add(
        identified(level.name("ways"), best.ways, reason, [evidence]),
        identified(level.name("sets"), level.entries // best.ways, "entries over ways", [evidence]),
    )


def _policy(level: Level, judged: list[Candidate], evidence: str, found: Findings) -> None:
    best, name = judged[0], level.name("policy")
    near = {c.policy for c in judged if c.log_likelihood > best.log_likelihood - _DECISIVE}
    if best.ways == 1:
        found.add(not_identifiable(name, cases.ONE_WAY, [evidence]))
    elif len(near) > 1:
        reason = f"{' and '.join(sorted(near))} explain the reads about equally well"
        found.add(not_identifiable(name, reason, [evidence]))
    else:
        found.add(identified(name, best.policy, _explains(best), [evidence]))


def _explains(best: Candidate) -> str:
    if best.policy == "random":
        return f"random replacement in {best.ways} ways gives the hits' chances"
    return f"{best.policy} in {best.ways} ways predicts {1 - best.wrong:.2%} of the reads"


def _runner_up(judged: list[Candidate], ways: int) -> str:
    other = next((c for c in judged if c.ways != ways), None)
    if other is None:
        return "there is no other choice"
    lead = judged[0].log_likelihood - other.log_likelihood
    return f"{other.ways} ways are less likely by a factor of e^{lead:.0f}"
