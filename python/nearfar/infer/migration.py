"""Wear levelling: a block that is written again and again moves, and its writes wait.

One line is stored over and over. A stall is a store that takes many times the median. Stalls
of different causes have different lengths, so they are divided by length; a family whose
gaps, counted in writes, are as irregular as chance is none. The first stall is left out,
for nobody knows how many writes the block had seen before.

Which bytes are counted together is asked with two lines, three stores to one for each to
the other. Counted together, the gaps stay as they were; counted apart, one counter takes 4/3
as many stores and the other four times as many, and the gaps fall outside the range they had.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nearfar.infer.level import Structure
from nearfar.infer.orders import Spread
from nearfar.infer.student import mean_interval
from nearfar.infer.study import Findings, MissingError, Request, Study
from nearfar.results.findings import Observation, identified

PROBER = "migration"

_NAMES = ("migration", "migration.period", "migration.stall", "migration.block")
_FEW = 3  # gaps from which a first idea of the period can be had
_ENOUGH = 10  # gaps that a statement about the period has to rest on
_GAPS = 44  # gaps for which the interval is as narrow as it should be
_BLOCK_GAPS = 24
_MOST_WRITES = 1 << 22
_LENGTHS_APART = 1.3
_IRREGULAR = 0.6  # coefficient of variation; 1 is chance
_UNEVEN = 0.25  # relative spread of the lengths of stalls of one kind
_FARTHEST = 1 << 20
_WEIGHTS = [3, 1]
_SLACK = 1.05  # beyond the range of the gaps seen


@dataclass(frozen=True)
class _Stalls:
    """The stalls of one kind."""

    at: NDArray[np.int64]
    ns: NDArray[np.float64]

    @property
    def gaps(self) -> NDArray[np.int64]:
        return np.diff(self.at)


def study(found: Findings, spread: Spread, structure: Structure) -> Study[None]:
    """Finds `migration` and its period, stall and block."""
    try:
        stalls = yield from _period(found, spread)
        if stalls is not None:
            yield from _block(found, spread, structure, stalls)
    except MissingError:
        found.lack(_NAMES, "the probe ended before enough stores were made")


def _hammer(distance: int, weights: list[int], writes: int, spread: Spread) -> Request:
    params = {"base": 0, "distance": distance, "weights": weights, "writes": writes}
    return Request(PROBER, "hammer", params, {}, spread)


def _period(found: Findings, spread: Spread) -> Study[_Stalls | None]:
    writes = 1 << 19
    while True:
        seen = yield _hammer(0, [1], writes, spread)
        stalls = _regular(_families(seen))
        gaps = 0 if stalls is None else len(stalls.gaps)
        if gaps >= _GAPS or writes >= _MOST_WRITES:
            break
        if gaps >= _FEW and stalls is not None:
            wanted = int((_GAPS + 2) * 1.1 * float(np.mean(stalls.gaps)))
        elif writes < 1 << 20:
            wanted = 1 << 20
        else:
            break
        if wanted <= writes:
            break
        writes = min(wanted, _MOST_WRITES)
    if stalls is None or gaps < _ENOUGH:
        _none(seen, gaps, writes, found)
        return None
    low, high = mean_interval(stalls.gaps.astype(np.float64))
    found.add(
        identified(
            "migration",
            "yes",
            f"{len(stalls.at)} stalls of like length at even distances in {writes} stores to "
            "one line",
            [seen.id],
        ),
        identified(
            "migration.period",
            round(float(np.mean(stalls.gaps))),
            f"mean of {gaps} gaps; the first stall is left out",
            [seen.id],
            (round(low), round(high)),
        ),
        identified(
            "migration.stall",
            float(np.median(stalls.ns)),
            "median of the stalls",
            [seen.id],
            (float(np.min(stalls.ns)), float(np.max(stalls.ns))),
        ),
    )
    return stalls


def _none(seen: Observation, gaps: int, writes: int, found: Findings) -> None:
    if not seen.events:
        found.add(
            identified("migration", "no", f"no stall in {writes} stores to one line", [seen.id])
        )
        found.lack(_NAMES, "no block moved", [seen.id])
        return
    found.lack(
        _NAMES,
        f"{len(seen.events)} slow stores in {writes}, but no {_ENOUGH} of like length at even "
        f"distances ({gaps} gaps)",
        [seen.id],
    )


def _families(seen: Observation) -> list[_Stalls]:
    """Slow stores divided by length, each family in order of time."""
    if not seen.events:
        return []
    events = np.array(seen.events, dtype=np.float64)
    by_length = events[np.argsort(events[:, 1], kind="stable")]
    jumps = np.flatnonzero(by_length[1:, 1] > _LENGTHS_APART * by_length[:-1, 1]) + 1
    families = []
    for family in np.split(by_length, jumps):
        family = family[np.argsort(family[:, 0])]
        families.append(_Stalls(family[:, 0].astype(np.int64), family[:, 1]))
    return families


def _regular(families: list[_Stalls]) -> _Stalls | None:
    """The family in which most time is lost, if its stalls are alike and evenly spaced."""
    if not families:
        return None
    family = max(families, key=lambda family: float(family.ns.sum()))
    if len(family.at) < _FEW + 1:
        return None
    if np.std(family.ns) > _UNEVEN * np.mean(family.ns):
        return None
    if np.std(family.gaps) > _IRREGULAR * np.mean(family.gaps):
        return None
    return family


# ---- Block -------------------------------------------------------------------------------


def _block(found: Findings, spread: Spread, structure: Structure, alone: _Stalls) -> Study[None]:
    smallest = structure.levels[0].entry if structure.levels else 256
    writes = int(_BLOCK_GAPS * float(np.mean(alone.gaps)))
    evidence: list[str] = []
    name = "migration.block"

    def together(distance: int) -> Study[bool | None]:
        seen = yield _hammer(distance, _WEIGHTS, writes, spread)
        evidence.append(seen.id)
        return _like(alone, seen)

    try:
        apart = yield from together(_FARTHEST)
        if apart is not False:
            found.lack(
                [name],
                f"writes {_FARTHEST} B apart are not counted apart, for all that is seen",
                evidence,
            )
            return
        low, high = smallest // 2, _FARTHEST  # counted together up to low, apart from high on
        while high > 2 * low:
            middle = 1 << ((low.bit_length() + high.bit_length() - 2) // 2)
            same = yield from together(middle)
            if same is None:
                found.lack([name], f"stalls of writes {middle} B apart fit neither case", evidence)
                return
            low, high = (middle, high) if same else (low, middle)
    except MissingError:
        found.lack([name], "the probe ended before the block was bracketed", evidence)
        return
    less = (
        f"writes {low} B apart are counted together"
        if low >= smallest
        else "nothing smaller is written"
    )
    found.add(identified(name, high, f"{less}, writes {high} B apart are counted apart", evidence))


def _like(alone: _Stalls, seen: Observation) -> bool | None:
    """Whether two lines' stalls come as one line's did; None when it cannot be told."""
    typical = float(np.median(alone.ns))
    for family in _families(seen):
        near = abs(float(np.median(family.ns)) - typical) < (_LENGTHS_APART - 1) * typical
        if near and len(family.gaps) >= _BLOCK_GAPS // 2:
            break
    else:
        return None
    low, high = alone.gaps.min() / _SLACK, alone.gaps.max() * _SLACK
    outside = float(np.mean((family.gaps < low) | (family.gaps > high)))
    if outside < 0.2:
        return True
    return False if outside > 0.4 else None
