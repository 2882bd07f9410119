"""Wear levelling: a block that is written again and again moves, and its writes wait.

One line is stored over and over. A stall is a store that takes many times the median. Stalls
of different causes have different lengths, so they are divided by length; a family whose
gaps, counted in writes, are as irregular as chance is none. The first stall is left out,
because it is not known how many writes the block had seen before.

Which bytes are counted together is asked with two lines, twice as many stores to one
as to the other, in turns longer than the write queues. Counted together, the gaps stay as
they were; counted apart, one counter takes 3/2 as many stores and the other three times as
many, and the gaps fall outside the range they had. A stall that is no block moving, but the
whole device pausing now and then, comes at the same gaps however far apart the lines are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nearfar.inference.cases import NO_MIGRATION
from nearfar.inference.level import Structure
from nearfar.inference.orders import Spread
from nearfar.inference.student import mean_interval
from nearfar.inference.study import Findings, MissingError, Request, Study
from nearfar.results.findings import Observation, identified

PROBER = "migration"

_NAMES = ("migration", "migration.period", "migration.stall", "migration.block")
_FEW = 3  # gaps that give a first idea of the period
_ENOUGH = 10  # gaps that a statement about the period has to rest on
_GAPS = 44  # gaps for which the interval is as narrow as it should be
_BLOCK_GAPS = 24
_BLOCK_WRITES = 1 << 18  # more gaps where they are cheap
_FIRST_WRITES = 1 << 19
_FEW_WRITES = 1 << 20  # without a stall in so many, there is none
_MOST_WRITES = 1 << 22
_LENGTHS_APART = 1.1  # neighbouring lengths of two kinds
_LENGTHS_LIKE = 0.3  # relative difference of the lengths of one kind in two experiments
_IRREGULAR = 0.6  # coefficient of variation; 1 is chance
_UNEVEN = 0.25  # relative spread of the lengths of stalls of one kind
_FARTHEST = 1 << 20
_TURN = 200  # stores: more than wait in the queues, so that a stall falls into one turn
# Of the gaps of two lines counted apart, four in five lie outside the range of one line's.
_SAME, _APART = 0.15, 0.3
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
        seen, writes = yield from _long_enough(spread)
        yield from _judge(found, spread, structure, seen, writes)
    except MissingError:
        found.lack(_NAMES, "the probe ended before enough stores were made")


def _hammer(distance: int, weights: list[int], writes: int, spread: Spread) -> Request:
    params = {"base": 0, "distance": distance, "weights": weights, "writes": writes}
    return Request(PROBER, "hammer", params, {}, spread)


def _weights(kind: _Stalls) -> list[int]:
    turn = max(1, min(_TURN, int(np.mean(kind.gaps)) // 16))
    return [2 * turn, turn]


def _long_enough(spread: Spread) -> Study[tuple[Observation, int]]:
    """Stores to one line, as many as show the period of every kind of stall well."""
    writes = _FIRST_WRITES
    while True:
        seen = yield _hammer(0, [1], writes, spread)
        gaps = [float(np.mean(kind.gaps)) for kind in _regular(seen)]
        wanted = int((_GAPS + 2) * 1.1 * max(gaps)) if gaps else _FEW_WRITES
        if wanted <= writes or writes >= _MOST_WRITES:
            return seen, writes
        writes = min(wanted, _MOST_WRITES)


def _judge(
    found: Findings, spread: Spread, structure: Structure, seen: Observation, writes: int
) -> Study[None]:
    """Which kind of stall is a block that moves: the one that far addresses do not share."""
    evidence, shared = [seen.id], []
    kinds = [kind for kind in _regular(seen) if len(kind.gaps) >= _ENOUGH]
    for kind in kinds:
        period = float(np.mean(kind.gaps))
        span = int(max(_BLOCK_GAPS * period, min(_BLOCK_WRITES, 4 * _BLOCK_GAPS * period)))
        far = yield _hammer(_FARTHEST, _weights(kind), span, spread)
        evidence.append(far.id)
        together = _like(kind, far)
        if together is False:
            _moves(kind, seen, writes, [seen.id, far.id], found)
            yield from _block(kind, span, found, spread, structure, far)
            return
        if together:
            shared.append(f"{float(np.median(kind.ns)):.4g} ns")
    if seen.events and len(shared) < max(1, len(kinds)):
        reason = f"{len(seen.events)} stalls in {writes} stores to one line"
        found.lack(_NAMES, f"{reason}, but nothing tells what they go by", evidence)
        return
    reason = f"no block moved in {writes} stores to one line"
    if shared:
        reason += f"; stalls of {' and '.join(shared)} come whatever address is written"
    found.add(identified("migration", "no", reason, evidence))
    found.lack(_NAMES, NO_MIGRATION, evidence)


def _moves(
    kind: _Stalls, seen: Observation, writes: int, evidence: list[str], found: Findings
) -> None:
    low, high = mean_interval(kind.gaps.astype(np.float64))
    found.add(
        identified(
            "migration",
            "yes",
            f"{len(kind.at)} stalls of like length at even distances in {writes} stores to one "
            f"line; stores {_FARTHEST} B away do not bring them nearer",
            evidence,
        ),
        identified(
            "migration.period",
            round(float(np.mean(kind.gaps))),
            f"mean of {len(kind.gaps)} gaps; the first stall is left out",
            [seen.id],
            (round(low), round(high)),
        ),
        identified(
            "migration.stall",
            float(np.median(kind.ns)),
            "median of the stalls",
            [seen.id],
            (float(np.min(kind.ns)), float(np.max(kind.ns))),
        ),
    )


def _regular(seen: Observation) -> list[_Stalls]:
    """Kinds of stalls that are alike and evenly spaced; first where most time is lost."""
    kinds = [
        kind
        for kind in _kinds(seen)
        if len(kind.gaps) >= _FEW
        and np.std(kind.ns) < _UNEVEN * np.mean(kind.ns)
        and np.std(kind.gaps) < _IRREGULAR * np.mean(kind.gaps)
    ]
    return sorted(kinds, key=lambda kind: -float(kind.ns.sum()))


def _kinds(seen: Observation) -> list[_Stalls]:
    """Slow stores divided by length, each kind in order of time."""
    if not seen.events:
        return []
    events = np.array(seen.events, dtype=np.float64)
    by_length = events[np.argsort(events[:, 1], kind="stable")]
    jumps = np.flatnonzero(by_length[1:, 1] > _LENGTHS_APART * by_length[:-1, 1]) + 1
    kinds = []
    for kind in np.split(by_length, jumps):
        in_time = kind[np.argsort(kind[:, 0])]
        kinds.append(_Stalls(in_time[:, 0].astype(np.int64), in_time[:, 1]))
    return kinds


# ---- Block -------------------------------------------------------------------------------


def _block(
    alone: _Stalls,
    writes: int,
    found: Findings,
    spread: Spread,
    structure: Structure,
    far: Observation,
) -> Study[None]:
    """The smallest distance whose writes are counted apart."""
    smallest = structure.levels[0].entry if structure.levels else 256
    evidence = [far.id]
    names = ["migration.block"]
    low, high = smallest // 2, _FARTHEST  # counted together up to low, apart from high on
    try:
        while high > 2 * low:
            middle = 1 << ((low.bit_length() + high.bit_length() - 2) // 2)
            seen = yield _hammer(middle, _weights(alone), writes, spread)
            evidence.append(seen.id)
            same = _like(alone, seen)
            if same is None:
                found.lack(names, f"stalls of writes {middle} B apart fit neither case", evidence)
                return
            low, high = (middle, high) if same else (low, middle)
    except MissingError:
        found.lack(names, "the probe ended before the block was bracketed", evidence)
        return
    less = (
        f"writes {low} B apart are counted together"
        if low >= smallest
        else "nothing smaller is written"
    )
    found.add(
        identified(
            "migration.block", high, f"{less}, writes {high} B apart are counted apart", evidence
        )
    )


def _like(alone: _Stalls, seen: Observation) -> bool | None:
    """Whether two lines' stalls come as one line's did; None when it cannot be told."""
    typical = float(np.median(alone.ns))
    for family in _kinds(seen):
        near = abs(float(np.median(family.ns)) - typical) < _LENGTHS_LIKE * typical
        if near and len(family.gaps) >= _BLOCK_GAPS // 2:
            break
    else:
        return None
    low, high = alone.gaps.min() / _SLACK, alone.gaps.max() * _SLACK
    outside = float(np.mean((family.gaps < low) | (family.gaps > high)))
    if outside < _SAME:
        return True
    return False if outside > _APART else None
