"""What a level holds: the largest region that it serves again and again, to an entry.

As long as a walked region fits, no read is served by anything deeper; one entry more, and
under any replacement at least one read a pass is. On the way every level above has to be
missed, so the walk touches many more of its entries than it has.

Some reads that the level serves may look slower, when they meet a refresh of the on-DIMM
DRAM, say. They do so at another place in every pass, so what counts is the quickest time of
each place. Under random replacement the places that are lost change too, and only the number
of slow reads tells: with such noise a capacity is known less exactly.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil, log

import numpy as np

from nearfar.inference.level import Level
from nearfar.inference.orders import LINE, Spread
from nearfar.inference.study import Findings, Request, Study, size, slower
from nearfar.results.findings import Observation, identified

MOST_ENTRIES = 16384  # regions of more entries of a level are not walked
BREATH_NS = 6_000  # longer than a read keeps any part of the device busy

_SKEWS = (0, 256, 1280)  # bytes; no step below 512 B can be unlucky
_OVERFLOW = 4  # a level is missed when so many times its entries are touched in between
_CHANCE = 4.0  # standard deviations
_UNLIKELY = 1000  # one walk in so many may have a place that is always delayed


def walk(region: int, stride: int, noise: float, spread: Spread, skew: int = 0) -> Request:
    """A walk with so many passes that no place is delayed by chance in all of them."""
    steady = 2 if noise == 0 else ceil(log(_UNLIKELY * region / stride) / -log(min(noise, 0.5)))
    params = {
        "base": 0,
        "region": region,
        "stride": stride,
        "skew": skew,
        "steady": steady,
        "pause_ns": BREATH_NS,
    }
    return Request("buffers", "walk", params, {"warm": (1, 2)}, spread)


def capacity(
    level: Level, above: tuple[Level, ...], spread: Spread, found: Findings
) -> Study[Level]:
    """Finds `capacity`, `entries` and `latency`; the level comes back with its capacity.

    Raises MissingError when a walk that is needed was not made.
    """
    names = [level.name(what) for what in ("capacity", "entries")]
    smallest = 2 * above[-1].capacity if above else level.entry
    region = -(-smallest // level.entry) * level.entry
    fits, evidence = 0, list(level.evidence)
    while region <= MOST_ENTRIES * level.entry:
        seen = yield from _walked(region, level, above, spread)
        if not _fits(level, seen):
            break
        level = _learn(level, seen)
        fits, evidence = region, [*level.evidence, seen.id]
        region *= 2
    else:
        found.lack(names, f"a region of {fits} B still fits; larger ones were not walked", evidence)
        return level
    if fits == 0:
        found.lack(names, "even the smallest region is served deeper", [seen.id])
        return level
    too_large, proof = region, seen.id
    while too_large - fits > level.entry:
        middle = _next_try(fits, too_large, level.entry)
        seen = yield from _walked(middle, level, above, spread)
        if _fits(level, seen):
            level = _learn(level, seen)
            fits, evidence[-1] = middle, seen.id
        else:
            too_large, proof = middle, seen.id
    level = replace(level, capacity=fits)
    evidence = [*dict.fromkeys([*evidence, proof])]
    found.add(
        identified(
            names[0],
            fits,
            f"a region of {fits} B is served here again and again, one of {too_large} B is not",
            evidence,
        ),
        identified(names[1], level.entries, "capacity over entry", evidence),
        identified(
            level.name("latency"),
            level.latency,
            "median of reads that are served here",
            level.evidence,
        ),
    )
    return level


def _walked(
    region: int, level: Level, above: tuple[Level, ...], spread: Spread
) -> Study[Observation]:
    """A walk of the region that fits, if one of several does, else one that does not.

    With an unlucky step each read meets a part of the device that the one before keeps busy.
    Another skew meets others; what does not fit is slow with each.
    """
    stride = _stride(region, level, above)
    for skew in sorted({skew % stride for skew in _SKEWS}):
        seen = yield walk(region, stride, level.noise, spread, skew)
        if _fits(level, seen):
            break
    return seen


def _stride(region: int, level: Level, above: tuple[Level, ...]) -> int:
    """The longest step that touches every entry and overflows the levels above."""
    stride = level.entry
    while stride > LINE and any(
        region // max(stride, upper.entry) < _OVERFLOW * upper.entries and stride > upper.entry
        for upper in above
    ):
        stride //= 2
    return stride


def _next_try(fits: int, too_large: int, entry: int) -> int:
    """Sizes are mostly powers of two: one entry more decides at once."""
    if too_large == 2 * fits and too_large - fits > 2 * entry:
        return fits + entry
    return (fits // entry + too_large // entry) // 2 * entry


def _learn(level: Level, seen: Observation) -> Level:
    """A region that fits shows how often a hit looks slow."""
    assert seen.histogram is not None
    reads = level.reads + size(seen.histogram)
    slow = level.noise * level.reads + slower(seen.histogram, level.threshold)
    return replace(level, noise=slow / reads, reads=reads)


def _fits(level: Level, seen: Observation) -> bool:
    """Whether every read of a walk was served by the level or above it."""
    assert seen.histogram is not None
    assert seen.positions is not None
    if slower(seen.positions, level.threshold) > 0:
        return False
    count = size(seen.histogram)
    expected = level.noise * count
    # How well the noise is known, and how much of it chance brings.
    variance = expected * (1 + count / max(level.reads, 1))
    return slower(seen.histogram, level.threshold) <= expected + _CHANCE * float(np.sqrt(variance))
