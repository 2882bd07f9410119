"""Buffers on the way of a read: how many, what each holds, how it is organised.

Everything rests on classes of latency. A line touched a moment ago is served by the first
buffer, a place never touched by none, and whatever lies between belongs to buffers between.

* *Entry*: touch a fresh place, then d bytes beyond. The second read is served by level i
  exactly when both lie in one of its entries.
* *Capacity* (`capacity`): walk a region again and again, until it no longer fits.
* *Ways and policy* (`organisation`): replay the very accesses that reached the level.

A level is told from the next one when its latency differs by 3 % of what is left to the
latency of memory, and when the next one holds at least twice as much.

A level that takes in less than an entry at a miss (sectors) has two kinds of hit, and nothing
here explains what is seen of it. Then its entry and capacity are doubted too, not only its
organisation.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nearfar.inference.capacity import BREATH_NS, capacity, walk
from nearfar.inference.level import Level, Structure
from nearfar.inference.orders import LINE, Spread, pair_distances
from nearfar.inference.organisation import organisation
from nearfar.inference.study import Findings, MissingError, Request, Study
from nearfar.results.findings import Histogram, Observation, identified, not_identifiable

PROBER = "buffers"

MOST_LEVELS = 4
_FARTHEST = 128 << 10  # no entry is larger
_AREA = 2 * _FARTHEST
_DISTANCES = [0, *(LINE << k for k in range((_FARTHEST // LINE).bit_length()))]
# Far beyond any entry; the second is no multiple of anything, so that places differ in what
# they share: a row of the on-DIMM DRAM, a partition of the media.
_FRESH_STRIDES = (_FARTHEST, _FARTHEST + 17 * 256)
_FRESH = 1024
_PAUSE_NS = 20_000  # what a touch sets going inside the device comes to rest
_TAIL = 0.02  # of a sample may lie on the wrong side of a boundary
_MARGIN = 0.03
_STEADY = 0.005  # relative range of latencies that do not vary
_BLURRED = 0.02  # share from which the number of slow reads tells a capacity only roughly
_DOUBTFUL = ("entry", "capacity", "entries", "ways", "sets")
_NOISY = 1e-3  # share of slow hits from which an unexplained level's capacity is in doubt

Times = NDArray[np.float64]


def study(found: Findings, spread: Spread) -> Study[Structure]:
    """Finds `levels`, `buffer.N.*`, `memory.latency`."""
    try:
        return (yield from _levels(found, spread))
    except MissingError:
        found.lack(["levels"], "the probe ended before every level was examined")
        return Structure()


def _levels(found: Findings, spread: Spread) -> Study[Structure]:
    pairs = yield _pairs(_DISTANCES, spread)
    first, second, distance = _touches(pairs)
    fresh = []
    for stride in _FRESH_STRIDES:
        fresh.append((yield _fresh(stride, spread)))
    cold = np.concatenate([first, *(_slower_than(0, seen.histogram) for seen in fresh)])
    memory = float(np.quantile(cold, _TAIL))
    hits = second[distance == 0]
    if not _apart(hits, memory):
        found.lack(
            ["levels"],
            "a line read a moment ago is not served faster than one never read",
            [pairs.id],
        )
        return Structure()
    structure = Structure(memory=memory)
    level = _level(1, hits, hits, memory, [pairs.id])
    while True:
        level = yield from _examined(level, structure, pairs, spread, found)
        if level.capacity == 0:
            reason = f"{len(structure.levels)} found; whether there are more is not known"
            found.lack(["levels"], reason, [pairs.id])
            return structure
        structure = replace(structure, levels=(*structure.levels, level))
        # Twice what the last level holds: no level so far can serve it.
        deeper = yield walk(2 * level.capacity, level.entry, level.noise, spread)
        steady = _slower_than(level.threshold, deeper.positions)
        if len(steady) == 0 or not _apart(steady, memory):
            break
        if len(structure.levels) == MOST_LEVELS:
            found.lack(["levels"], f"more than {MOST_LEVELS}", [deeper.id])
            return structure
        singles = _slower_than(level.threshold, deeper.histogram)
        level = _level(level.number + 1, steady, singles, memory, [deeper.id])
    found.add(
        identified(
            "levels",
            len(structure.levels),
            f"reads that the {len(structure.levels)} found do not serve take as long as those of "
            "places never read",
            [pairs.id, deeper.id],
        ),
        identified(
            "memory.latency",
            float(np.median(cold)),
            "median of first reads",
            [pairs.id, *(seen.id for seen in fresh)],
        ),
    )
    return structure


def _examined(
    level: Level, known: Structure, pairs: Observation, spread: Spread, found: Findings
) -> Study[Level]:
    """The level with its entry, capacity and organisation; what is not found is 0."""
    names = [level.name(what) for what in ("entry", "capacity", "entries")]
    sizes = _entries(level, known.memory, pairs)
    if not sizes:
        reason = "whether a second read is served here does not depend on its distance alone"
        found.lack(names[:1], reason, [pairs.id])
        return level
    trial = Findings()
    try:
        level = yield from _edge(replace(level, entry=sizes[0]), pairs, spread, trial)
        if level.entry:
            level = yield from capacity(level, known.levels, spread, trial)
    except MissingError:
        found.add(*trial.all())
        found.lack(names, "the probe ended before it was found")
        return level
    explained = bool(level.capacity) and (yield from organisation(level, known, spread, trial))
    if not explained and (len(sizes) > 1 or level.noise > _NOISY):
        # What a wrong idea of the entry, or slow hits, make of the capacity is not known.
        trial = _doubted(trial, "no entry size and organisation explain what is seen")
    elif level.noise > _BLURRED and trial.value(level.name("policy")) == "random":
        trial = _doubted(
            trial, "its hits are often late, and random replacement leaves no other sign"
        )
    found.add(*trial.all())
    return level


def _doubted(trial: Findings, why: str) -> Findings:
    doubted = Findings()
    for finding in trial.all():
        if finding.name.rpartition(".")[2] in _DOUBTFUL and finding.value is not None:
            reason = f"{why}; perhaps {finding.value}"
            finding = not_identifiable(finding.name, reason, finding.evidence)
        doubted.add(finding)
    return doubted


# ---- Experiments and their samples -------------------------------------------------------


def _pairs(distances: list[int], spread: Spread) -> Request:
    params = {
        "base": 0,
        "area": _AREA,
        "distances": distances,
        "delay_ns": _PAUSE_NS,
        "store": False,
    }
    return Request(PROBER, "pairs", params, {"repeats": (16, 32)}, spread)


def _fresh(stride: int, spread: Spread) -> Request:
    """Reads of fresh places, in an order that a row of the on-DIMM DRAM may like."""
    params = {
        "base": 0,
        "region": _FRESH * stride,
        "stride": stride,
        "skew": 0,
        "warm": 0,
        "steady": 1,
        "pause_ns": BREATH_NS,
    }
    return Request(PROBER, "walk", params, {}, spread)


def _touches(pairs: Observation) -> tuple[Times, ...]:
    """First and second touches' times and the distance of each pair."""
    times = np.array(pairs.samples)
    return times[0::2], times[1::2], pair_distances(pairs.pattern["order"]).astype(np.float64)


def _slower_than(limit: float, histogram: Histogram | None) -> Times:
    values = [(value, int(count)) for value, count in histogram or () if value > limit]
    return np.repeat([value for value, _ in values], [count for _, count in values])


def _apart(sample: Times, memory: float) -> bool:
    """Whether a sample is faster than what no buffer serves, by more than it varies."""
    high = float(np.quantile(sample, 1 - _TAIL)) if len(sample) > 50 else float(sample.max())
    typical = float(np.median(sample))
    return high < memory and memory - high > 0.25 * (high - typical) and high < 0.98 * memory


def _level(number: int, steady: Times, singles: Times, memory: float, evidence: list[str]) -> Level:
    """A level from reads that it certainly served: `steady` ones without rare delays."""
    threshold = _above(steady, memory)
    noise = float(np.mean(singles > threshold))
    if float(np.ptp(steady)) > _STEADY * float(np.median(steady)):
        noise = max(noise, 1 / len(singles))  # where times vary, a slow one may come yet
    latency = float(np.median(singles))
    reads = len(singles)
    return Level(number, latency, threshold, noise=noise, reads=reads, evidence=tuple(evidence))


def _above(sample: Times, memory: float) -> float:
    """The boundary between reads like these and slower ones."""
    high = float(np.quantile(sample, 1 - _TAIL))
    spread = high - float(np.median(sample))
    return high + min(_MARGIN * (memory - high) + spread, (memory - high) / 2)


# ---- Entry -------------------------------------------------------------------------------


def _entries(level: Level, memory: float, pairs: Observation) -> list[int]:
    """The entry sizes in question, the likeliest first.

    That is the smallest distance whose second reads are mostly served deeper. Where those are
    still faster than memory, a level further down may serve them, or the same one in a second
    way; then further distances at which reads become slower are in question too.
    """
    _, second, distance = _touches(pairs)
    threshold, sizes = level.threshold, [0]
    while True:
        deeper = [float(np.mean(second[distance == d] > threshold)) for d in _DISTANCES]
        at = next((i for i, share in enumerate(deeper) if share > 0.5), 0)
        if _DISTANCES[at] <= sizes[-1] or min(deeper[at:]) < 0.5:
            break
        if any(0.2 < share < 0.8 for share in deeper):
            break
        sizes.append(_DISTANCES[at])
        served = second[distance == _DISTANCES[at]]
        if not _apart(served, memory):
            break
        threshold = _above(served, memory)
    return sizes[1:]


def _edge(level: Level, pairs: Observation, spread: Spread, found: Findings) -> Study[Level]:
    """Finds `entry`: a line less than the distance found is still served."""
    name, entry = level.name("entry"), level.entry
    evidence = [pairs.id]
    if entry > LINE:
        # The last line, and others near it: some part of the device may be busy for one.
        inside = [d for d in (entry - LINE * back for back in (1, 5, 9)) if d >= entry // 2]
        edge = yield _pairs([*inside, entry], spread)
        _, second, distance = _touches(edge)
        evidence.append(edge.id)
        if all(np.mean(second[distance == d] > level.threshold) > 0.5 for d in inside):
            bounds = (entry // 2 + LINE, entry)
            found.add(not_identifiable(name, "it is no power of two", evidence, bounds))
            return replace(level, entry=0)
    found.add(
        identified(
            name,
            entry,
            f"after a read of a fresh place, one less than {entry} B beyond is served here and one "
            f"{entry} B beyond is not",
            evidence,
        )
    )
    return level
