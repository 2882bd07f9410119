"""Buffers on the way of a read: how many, what each holds, how it is organised.

Everything rests on classes of latency. A line touched a moment ago is served by the first
buffer, a place never touched by none, and whatever lies between belongs to buffers between.

* *Entry*: touch a fresh place, then d bytes beyond. The second read is served by level i
  exactly when both lie in one of its entries.
* *Capacity*: walk a region again and again. As long as it fits level i, no read is served by
  anything deeper; one entry more, and under any replacement at least one read a pass is.
  On the way every level above has to be missed, so the walk touches many more of its entries
  than it has.
* *Ways and policy* (`organisation`): replay the very accesses that reached the level.

A level is told from the next one when its latency differs by a tenth of what is left to the
latency of memory, and when the next one holds at least twice as much.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil, log

import numpy as np
from numpy.typing import NDArray

from nearfar.infer.level import Level, Structure
from nearfar.infer.orders import LINE, Spread, pair_distances
from nearfar.infer.organisation import organisation
from nearfar.infer.study import Findings, MissingError, Request, Study, size, slower
from nearfar.results.findings import Finding, Observation, identified, not_identifiable

PROBER = "buffers"

MOST_LEVELS = 4
MOST_ENTRIES = 16384  # regions of more entries of a level are not walked
_FARTHEST = 128 << 10  # no entry is larger
_AREA = 2 * _FARTHEST
_DISTANCES = [0, *(LINE << k for k in range((_FARTHEST // LINE).bit_length()))]
# Far beyond any entry; the second is no multiple of anything, so that places differ in what
# they share: a row of the on-DIMM DRAM, a partition of the media.
_FRESH_STRIDES = (_FARTHEST, _FARTHEST + 17 * 256)
_FRESH = 1024
_BREATH_NS = 10_000  # longer than a read keeps any part of the device busy
_PAUSE_NS = 20_000  # what a touch sets going inside the device comes to rest
_OVERFLOW = 4  # a level is missed when so many times its entries are touched in between
_UNLIKELY = 1000  # one walk in so many may have a place that is always delayed
_TAIL = 0.02  # of a sample may lie on the wrong side of a boundary
_MARGIN = 0.1


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
    hits = second[distance == 0]
    cold = np.concatenate([first, *(_steady(seen, above=0) for seen in fresh)])
    memory = float(np.quantile(cold, _TAIL))
    if not _apart(hits, memory):
        found.lack(
            ["levels"],
            "a line read a moment ago is not served faster than one never read",
            [pairs.id],
        )
        return Structure()
    structure = Structure(memory=memory, pairs=pairs)
    sample, evidence = hits, [pairs.id]
    while True:
        level = _level(len(structure.levels) + 1, sample, memory, evidence)
        level = yield from _entry(level, pairs, spread, found)
        if level.entry == 0:
            break
        level = yield from _capacity(level, structure.levels, spread, found)
        if level.capacity == 0:
            break
        yield from organisation(level, structure, spread, found)
        structure = replace(structure, levels=(*structure.levels, level))
        # Twice what the last level holds: no level so far can serve it.
        deeper = yield _walk(2 * level.capacity, level.entry, level.noise, spread)
        sample = _steady(deeper, above=level.threshold)
        evidence = [deeper.id]
        if len(sample) == 0 or not _apart(sample, memory):
            structure = replace(structure, complete=True)
            break
        if len(structure.levels) == MOST_LEVELS:
            break
    _summarise(structure, cold, pairs.id, evidence, found)
    return structure


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
    params = {"base": 0, "region": _FRESH * stride, "stride": stride, "pause_ns": _BREATH_NS}
    return Request(PROBER, "walk", params, {"passes": (1, 1)}, spread)


def _touches(pairs: Observation) -> tuple[NDArray[np.float64], ...]:
    """First and second touches' times and the distance of each pair."""
    times = np.array(pairs.samples)
    return times[0::2], times[1::2], pair_distances(pairs.pattern["order"]).astype(np.float64)


def _apart(sample: NDArray[np.float64], memory: float) -> bool:
    """Whether a sample is faster than what no buffer serves, by more than it varies."""
    high = float(np.quantile(sample, 1 - _TAIL)) if len(sample) > 50 else float(sample.max())
    typical = float(np.median(sample))
    return high < memory and memory - high > 0.25 * (high - typical) and high < 0.98 * memory


def _level(number: int, sample: NDArray[np.float64], memory: float, evidence: list[str]) -> Level:
    """A level from reads that it certainly served."""
    high = float(np.quantile(sample, 1 - _TAIL))
    threshold = high + _MARGIN * (memory - high)
    noise = float(np.mean(sample > threshold))
    return Level(number, float(np.median(sample)), threshold, noise=noise, evidence=tuple(evidence))


def _steady(seen: Observation, above: float) -> NDArray[np.float64]:
    """What each place of a walk took that is slower than `above`, rare delays left out."""
    values = [(value, int(count)) for value, count in seen.positions or () if value > above]
    return np.repeat([value for value, _ in values], [count for _, count in values])


# ---- Entry -------------------------------------------------------------------------------


def _entry(level: Level, pairs: Observation, spread: Spread, found: Findings) -> Study[Level]:
    """The smallest distance whose second read is served deeper."""
    _, second, distance = _touches(pairs)
    deeper = [float(np.mean(second[distance == d] > level.threshold)) for d in _DISTANCES]
    last = next((i for i, share in enumerate(deeper) if share > 0.5), 0)
    name = level.name("entry")
    if last == 0 or any(0.2 < share < 0.8 for share in deeper) or min(deeper[last:]) < 0.5:
        found.add(
            not_identifiable(
                name,
                "whether a second read is served here does not depend on its distance alone",
                [pairs.id],
            )
        )
        return level
    entry = _DISTANCES[last]
    evidence = [pairs.id]
    if entry > LINE:
        try:
            edge = yield _pairs([entry - LINE, entry], spread)
        except MissingError:
            return level
        _, second, distance = _touches(edge)
        inside = second[distance < entry]
        evidence.append(edge.id)
        if np.mean(inside > level.threshold) > 0.5:
            found.add(
                not_identifiable(
                    name, "the entry is no power of two", evidence, (_DISTANCES[last - 1], entry)
                )
            )
            return level
    found.add(
        identified(
            name,
            entry,
            f"after a read of a fresh place, one {entry - LINE} B beyond is served here and one "
            f"{entry} B beyond is not",
            evidence,
        )
    )
    return replace(level, entry=entry)


# ---- Capacity ----------------------------------------------------------------------------


def _stride(region: int, level: Level, above: tuple[Level, ...]) -> int:
    """The longest step that touches every entry of the level and overflows those above."""
    stride = level.entry
    while stride > LINE and any(
        region // max(stride, upper.entry) < _OVERFLOW * upper.entries and stride > upper.entry
        for upper in above
    ):
        stride //= 2
    return stride


def _walk(region: int, stride: int, noise: float, spread: Spread) -> Request:
    """A walk with so many passes that no place is delayed by chance in all of them."""
    params = {"base": 0, "region": region, "stride": stride, "pause_ns": _BREATH_NS}
    steady = 2 if noise == 0 else ceil(log(_UNLIKELY * region / stride) / -log(min(noise, 0.5)))
    return Request(PROBER, "walk", params, {"passes": (steady + 1, steady + 3)}, spread)


def _capacity(
    level: Level, above: tuple[Level, ...], spread: Spread, found: Findings
) -> Study[Level]:
    """The largest region that is served without going deeper, to an entry."""
    smallest = 2 * above[-1].capacity if above else level.entry
    region = -(-smallest // level.entry) * level.entry
    fits, evidence = 0, list(level.evidence)
    try:
        while region <= MOST_ENTRIES * level.entry:
            seen = yield _walk(region, _stride(region, level, above), level.noise, spread)
            level = _learn(level, seen, fits == 0)
            if not _fits(level, seen):
                break
            fits, evidence = region, [*level.evidence, seen.id]
            region *= 2
        else:
            _unbounded(level, fits, evidence, found, f"more than {MOST_ENTRIES} entries")
            return level
        if fits == 0:
            _unbounded(level, 0, [seen.id], found, "even the smallest region is served deeper")
            return level
        too_large, proof = region, seen.id
        while too_large - fits > level.entry:
            middle = _next_try(fits, too_large, level.entry)
            seen = yield _walk(middle, _stride(middle, level, above), level.noise, spread)
            if _fits(level, seen):
                fits, evidence[-1] = middle, seen.id
            else:
                too_large, proof = middle, seen.id
    except MissingError:
        _unbounded(level, fits, evidence, found, "larger regions were not walked")
        return level
    level = replace(level, capacity=fits)
    evidence = [*dict.fromkeys([*evidence, proof])]
    found.add(
        identified(
            level.name("capacity"),
            fits,
            f"a region of {fits} B is served here again and again, one of {too_large} B is not",
            evidence,
        ),
        identified(level.name("entries"), level.entries, "capacity over entry", evidence),
        _latency(level, evidence),
    )
    return level


def _next_try(fits: int, too_large: int, entry: int) -> int:
    """Sizes are mostly powers of two: one entry more decides at once."""
    if too_large == 2 * fits and too_large - fits > 2 * entry:
        return fits + entry
    return (fits // entry + too_large // entry) // 2 * entry


def _learn(level: Level, seen: Observation, first: bool) -> Level:
    """The first region is sure to fit, and shows how often a hit looks slow."""
    if not first or not seen.histogram:
        return level
    return replace(
        level,
        noise=max(level.noise, slower(seen.histogram, level.threshold) / size(seen.histogram)),
    )


def _fits(level: Level, seen: Observation) -> bool:
    """Whether every read of a walk was served by the level or above it.

    What is evicted in every pass is slow at its place in every pass; under random replacement
    the places change, and only their number tells.
    """
    assert seen.histogram is not None
    assert seen.positions is not None
    if slower(seen.positions, level.threshold) > 0:
        return False
    expected = level.noise * size(seen.histogram)
    return slower(seen.histogram, level.threshold) <= expected + 4 * float(np.sqrt(expected))


def _latency(level: Level, evidence: list[str]) -> Finding:
    return identified(
        level.name("latency"),
        level.latency,
        "median of reads that are served here",
        evidence,
    )


def _unbounded(level: Level, fits: int, evidence: list[str], found: Findings, reason: str) -> None:
    found.lack([level.name("capacity"), level.name("entries")], reason, evidence)
    del fits


def _summarise(
    structure: Structure,
    cold: NDArray[np.float64],
    pairs: str,
    last: list[str],
    found: Findings,
) -> None:
    count = len(structure.levels)
    if structure.complete:
        found.add(
            identified(
                "levels",
                count,
                f"reads that the {count} found do not serve take as long as those of places "
                "never read",
                [pairs, *last],
            ),
            identified("memory.latency", float(np.median(cold)), "median of first reads", [pairs]),
        )
    else:
        found.lack(["levels"], f"{count} found; whether there are more is not known", [pairs])
