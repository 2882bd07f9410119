"""The access orders that probes play, rebuilt from their descriptions.

An order is plain values in a result file: `{"kind": ..., "params": {...}, "seed": n}`. Both
the prober that plays it and the inference that judges it build it here, so that an inference knows
the very accesses behind every number. Addresses are those within one module; `spread` gives the
machine's, once it is known how they are interleaved.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

LINE = 64

LOAD, NTSTORE, MFENCE, SFENCE, WAIT, DELAY = range(6)

Words = NDArray[np.uint64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Steps:
    """What is played: operations and their operands (addresses; a delay's picoseconds).

    `timed` marks the accesses whose time is the measurement.
    """

    operation: NDArray[np.uint8]
    operand: Words
    timed: Mask

    def __len__(self) -> int:
        return len(self.operation)


@dataclass(frozen=True)
class Spread:
    """How a module's addresses lie in the machine's: pieces of `granularity`, in turn."""

    granularity: int = 4096
    modules: int = 1

    def address(self, local: Words) -> Words:
        """The machine's address of an address within the first module."""
        piece, rest = np.divmod(local, np.uint64(self.granularity))
        spread: Words = piece * np.uint64(self.granularity * self.modules) + rest
        return spread


def build(order: Mapping[str, Any]) -> Steps:
    """The steps of an order as a result file has it."""
    return _BUILDERS[order["kind"]](**order["params"], rng=np.random.default_rng(order["seed"]))


def spread_of(pattern: Mapping[str, Any]) -> Spread:
    """How the addresses of an observation's pattern lie in the machine's."""
    spread = pattern.get("spread")
    return Spread(spread["granularity"], spread["modules"]) if spread else Spread()


def walk(
    *,
    base: int,
    region: int,
    stride: int,
    skew: int,
    warm: int,
    steady: int,
    pause_ns: int,
    rng: np.random.Generator,
) -> Steps:
    """One load in every `stride` bytes of a region, ascending, `warm` + `steady` times.

    From one load to the next the place within those bytes moves by `skew`.
    """
    number = np.arange(-(-region // stride), dtype=np.uint64)
    once = base + number * np.uint64(stride) + number * np.uint64(skew) % np.uint64(stride)
    return _loads(np.tile(once, warm + steady), pause_ns, rng)


def pairs(
    *,
    base: int,
    area: int,
    distances: list[int],
    repeats: int,
    delay_ns: int,
    store: bool,
    rng: np.random.Generator,
) -> Steps:
    """Touch a fresh place, let time pass, then load what lies `distance` beyond it.

    Places lie `area` or an odd multiple of it apart, so that some share whatever large
    structures a device has and some do not. The distances come in random order, so
    that a drift of the device falls on all alike. With `store` the first touch is a
    non-temporal store.
    """
    sequence = rng.permutation(np.repeat(np.array(distances, dtype=np.uint64), repeats))
    gaps = area * np.where(
        rng.random(len(sequence)) < 0.5, 1, 2 * rng.integers(0, 8, len(sequence)) + 1
    )
    places = base + np.cumsum(gaps).astype(np.uint64)
    operation = np.tile(
        np.array([NTSTORE if store else LOAD, DELAY, LOAD, DELAY], dtype=np.uint8), len(sequence)
    )
    operand = np.empty(len(operation), dtype=np.uint64)
    operand[0::4] = places
    operand[1::4] = delay_ns * 1000
    operand[2::4] = places + sequence
    operand[3::4] = delay_ns * 1000
    return Steps(operation, operand, operation == LOAD)


def pair_distances(order: Mapping[str, Any]) -> Words:
    """The distance of each pair, in the order in which `pairs` plays them."""
    operand = build(order).operand
    return operand[2::4] - operand[0::4]


def mix(
    *,
    base: int,
    entries: int,
    entry: int,
    accesses: int,
    pause_ns: int,
    rng: np.random.Generator,
) -> Steps:
    """Loads of random lines of random entries: every reuse distance occurs."""
    line = rng.integers(0, entry // LINE, accesses) * LINE
    places = rng.integers(0, entries, accesses) * entry + line
    return _loads(np.uint64(base) + places.astype(np.uint64), pause_ns, rng)


def crowd(
    *,
    base: int,
    step: int,
    fill: int,
    between: int,
    places: int,
    distances: list[int],
    rng: np.random.Generator,
) -> Steps:
    """Stores that keep one module's queues full, and now and then one `distance` beyond.

    The module is kept busy by stores to `places` that are `step` apart, a multiple of every
    interleaving in question, so that all of them are on the module of `base`. After `fill` of
    them, each distance has its turn, with `between` such stores before it.
    """
    order = rng.permutation(len(distances))
    count = fill + len(distances) * between
    busy = base + step * (np.arange(count, dtype=np.uint64) % np.uint64(places))
    operand = np.empty(count + len(distances), dtype=np.uint64)
    operand[:fill] = busy[:fill]
    turns = operand[fill:].reshape(len(distances), between + 1)
    turns[:, :between] = busy[fill:].reshape(len(distances), between)
    turns[:, between] = turns[:, 0] + np.array(distances, dtype=np.uint64)[order]
    return _stores(operand)


def crowd_distances(order: Mapping[str, Any]) -> tuple[NDArray[np.int64], Words]:
    """Where in `crowd` the stores beyond lie, and the distance of each."""
    params = order["params"]
    fill, between, distances = params["fill"], params["between"], params["distances"]
    shuffled = np.random.default_rng(order["seed"]).permutation(len(distances))
    at = fill + between + (between + 1) * np.arange(len(distances), dtype=np.int64)
    return at, np.array(distances, dtype=np.uint64)[shuffled]


def backlog(*, base: int, step: int, stores: int, back: int, rng: np.random.Generator) -> Steps:
    """Stores that fill the write queues, then at once a load of the line stored `back` before."""
    del rng
    busy = base + step * np.arange(stores, dtype=np.uint64)
    operand = np.append(busy, busy[stores - 1 - back])
    operation = np.full(len(operand), NTSTORE, dtype=np.uint8)
    operation[-1] = LOAD
    return Steps(operation, operand, operation == LOAD)


def stumble(*, base: int, step: int, lead: int, same: int, rng: np.random.Generator) -> Steps:
    """Stores to ever new blocks, then `same` stores to one line.

    Writes of one line again and again are slower, and the second of them is the first to be
    late: when the stores feel it tells how many are on their way.
    """
    del rng
    blocks = base + step * np.arange(lead, dtype=np.uint64)
    return _stores(np.append(blocks, np.full(same, base + step * lead, dtype=np.uint64)))


def rest(
    *,
    base: int,
    step: int,
    lines: int,
    fence: str,
    delay_ns: int,
    rng: np.random.Generator,
) -> Steps:
    """A few stores, a fence of a kind or none, a while of rest, then loads of those lines."""
    del rng
    places = base + step * np.arange(lines, dtype=np.uint64)
    pause = {"mfence": MFENCE, "sfence": SFENCE, "none": WAIT}[fence]
    operation = np.concatenate(
        [np.full(lines, NTSTORE), [pause, DELAY], np.full(lines, LOAD)]
    ).astype(np.uint8)
    operand = np.concatenate([places, np.array([0, delay_ns * 1000], dtype=np.uint64), places])
    return Steps(operation, operand, operation == LOAD)


def hammer(
    *, base: int, distance: int, weights: list[int], writes: int, rng: np.random.Generator
) -> Steps:
    """Store to one line again and again, or by turns to it and one `distance` beyond.

    `weights` says how many stores in a row each of the two gets: unequal ones, so that two
    separate counters of writes cannot look like one.
    """
    del rng
    turn = np.repeat(np.array([0, distance], dtype=np.uint64)[: len(weights)], weights)
    times = -(-writes // len(turn))
    return _stores(base + np.tile(turn, times)[:writes])


def circle(
    *,
    places: int,
    distance: int,
    moved: int,
    shift: int,
    rounds: int,
    again: int = 0,
    rng: np.random.Generator,
) -> Steps:
    """Loads of `places` that lie `distance` apart, in turn, `rounds` times and once to warm up.

    The last `moved` of them are shifted. Before every round loads of other places take away
    what the buffers of a memory behind the one in question have kept.
    """
    del again  # it tells a longer try from a first one
    number = np.arange(places, dtype=np.uint64)
    once = number * np.uint64(distance) + np.where(number >= places - moved, shift, 0).astype(
        np.uint64
    )
    return _flushed([once] * (rounds + 1), np.ones(places, dtype=np.bool_), rng)


def beside(
    *, places: int, distance: int, beside: int, rounds: int, rng: np.random.Generator
) -> Steps:
    """As `circle`, and after each place, and a flush, what lies `beside` it: that is timed."""
    number = np.arange(places, dtype=np.uint64) * np.uint64(distance)
    pieces = [
        piece
        for _ in range(rounds)
        for place in number
        for piece in (place[None], (place + np.uint64(beside))[None])
    ]
    steps = _flushed(pieces, np.ones(1, dtype=np.bool_), rng)
    # Every other load of those that are timed is a place's own.
    timed = np.flatnonzero(steps.timed)
    steps.timed[timed[0::2]] = False
    return steps


def stores(*, places: int, distance: int, stores: int, rng: np.random.Generator) -> Steps:
    """Stores to `places` that lie `distance` apart, in turn, none waiting for the one before."""
    del rng
    number = np.arange(stores, dtype=np.uint64) % np.uint64(places)
    return _stores(number * np.uint64(distance))


_FLUSH = 400  # more than the buffers close to the media of six DIMMs have entries
_CELL = 32 << 10  # one place of a flush in each; distances are multiples of it


def _flushed(pieces: list[Words], timed: Mask, rng: np.random.Generator) -> Steps:
    """Loads of each piece, and before it of places that were never touched.

    Those lie 16 to 24 KiB beyond multiples of 32 KiB and the pieces less than 12 KiB: in other
    sets, also the lines that a prefetch may bring. By turns of three they change their 4 KiB, so
    that they reach as many modules as there are.
    """
    number = np.arange(_FLUSH * len(pieces), dtype=np.uint64)
    half = np.uint64(16 << 10) + np.uint64(4 << 10) * (number // np.uint64(3) % np.uint64(2))
    flush = (number * np.uint64(_CELL) + half).reshape(len(pieces), -1)
    steps = _loads(
        np.concatenate([part for two in zip(flush, pieces, strict=True) for part in two]),
        _CIRCLE_PAUSE_NS,
        rng,
    )
    once = np.concatenate([np.zeros(_FLUSH, dtype=np.bool_), timed])
    steps.timed[0::2] = np.tile(once, len(pieces))
    return steps


_CIRCLE_PAUSE_NS = 8_000


def _loads(operand: Words, pause_ns: int, rng: np.random.Generator) -> Steps:
    """Loads with a pause after each, so that none is in the way of the next.

    A pause lasts up to twice `pause_ns`, each another time: in step with what a device does
    at a fixed period, such as a refresh, the same loads would meet it in every pass.
    """
    operation = np.tile(np.array([LOAD, DELAY], dtype=np.uint8), len(operand))
    operands = np.empty(len(operation), dtype=np.uint64)
    operands[0::2] = operand
    operands[1::2] = rng.integers(1000 * pause_ns, 2000 * pause_ns, len(operand), endpoint=True)
    return Steps(operation, operands, operation == LOAD)


def _stores(operand: Words) -> Steps:
    count = len(operand)
    return Steps(np.full(count, NTSTORE, np.uint8), operand, np.ones(count, dtype=np.bool_))


_BUILDERS: Mapping[str, Callable[..., Steps]] = {
    "walk": walk,
    "pairs": pairs,
    "mix": mix,
    "crowd": crowd,
    "backlog": backlog,
    "stumble": stumble,
    "rest": rest,
    "hammer": hammer,
    "circle": circle,
    "beside": beside,
    "stores": stores,
}
