"""The chains that are walked on a real machine, rebuilt from their descriptions.

A chain is a list of byte offsets, each of which is loaded after the one before, round and
round. As with `nearfar.inference.orders`, the walker and the inference both build it from
the same few values: `{"kind": ..., "params": {...}}` and a seed for each repetition.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

LINE = 64  # what a walk takes for a line until it is known; no machine here has a shorter one
PAGE = 4096
HUGE = 2 << 20

Offsets = NDArray[np.int64]


def offsets(order: Mapping[str, Any], seed: int) -> Offsets:
    """The chain of one repetition."""
    chain: Offsets = _BUILDERS[order["kind"]](**order["params"], rng=np.random.default_rng(seed))
    return chain


def dense(*, lines: int, rng: np.random.Generator) -> Offsets:
    """Consecutive lines, in random order: no prefetcher foresees them."""
    chain: Offsets = rng.permutation(lines) * LINE
    return chain


def windows(*, lines: int, window: int, rng: np.random.Generator) -> Offsets:
    """Consecutive lines, window by window, at random inside: few pages at a time.

    A window's pages fit the first level of the TLB, so that translation costs one miss a page
    and not one a line, and the curve over regions is that of the caches alone.
    """
    starts = np.arange(0, lines, window)
    pieces = [start + rng.permutation(min(window, lines - start)) for start in starts.tolist()]
    order = rng.permutation(len(pieces))
    chain: Offsets = np.concatenate([pieces[i] for i in order.tolist()]) * LINE
    return chain


def strided(*, count: int, stride: int, rng: np.random.Generator) -> Offsets:
    """`count` lines, `stride` bytes apart: they meet in few sets."""
    return rng.permutation(count) * stride


def groups(
    *, count: int, stride: int, groups: int, apart: int, rng: np.random.Generator
) -> Offsets:
    """`count` lines a stride apart, and `groups` of such, `apart` from each other.

    Where `apart` is the distance between lines of one set of the first cache, all meet there,
    and in the second only those of a group do.
    """
    lines = np.arange(count)[:, None] * stride + np.arange(groups)[None, :] * apart
    return rng.permutation(lines.ravel())


def pages(*, count: int, rng: np.random.Generator) -> Offsets:
    """One line of each page, each at another place of its page, so that they share no set.

    Every 64 pages the places move on by one: in pages that lie one behind the other, so many
    lines fall into all sets of a larger cache alike, too.
    """
    chosen = rng.permutation(count)
    return chosen * PAGE + (chosen + chosen * LINE // PAGE) * LINE % PAGE


def twins(*, places: int, spacing: int, distance: int, rng: np.random.Generator) -> Offsets:
    """A load at each of many places, and at once another one `distance` beyond it."""
    first = rng.permutation(places) * spacing
    return np.stack([first, first + distance], axis=1).ravel()


def visits(*, count: int, stride: int, hot: int, each: int, rng: np.random.Generator) -> Offsets:
    """Loads of `count` conflicting lines in random order, `hot` of them several times a round.

    Each load of a line is of another of its words, for a chain passes a word once.
    """
    times = np.where(np.arange(count) < hot, each, 1)
    line = rng.permutation(np.repeat(np.arange(count), times))
    word = np.empty(len(line), dtype=np.int64)
    for one in range(count):
        here = np.flatnonzero(line == one)
        word[here] = np.arange(len(here))
    chain: Offsets = line * stride + word * 8
    return chain


def conflict(
    *, count: int, stride: int, moved: int, shift: int, beside: int, rng: np.random.Generator
) -> Offsets:
    """`count` places a stride apart, the last `moved` of them `shift` bytes farther.

    With `beside` each place's load is followed by one so many bytes beyond it.
    """
    places = np.arange(count) * stride
    places[count - moved :] += shift
    places = rng.permutation(places)
    if not beside:
        return places
    return np.stack([places, places + beside], axis=1).ravel()


_BUILDERS: Mapping[str, Callable[..., Offsets]] = {
    "dense": dense,
    "windows": windows,
    "strided": strided,
    "groups": groups,
    "pages": pages,
    "twins": twins,
    "visits": visits,
    "conflict": conflict,
}


def extent(order: Mapping[str, Any]) -> int:
    """Bytes of memory that a chain of this order needs."""
    params = order["params"]
    if order["kind"] in ("dense", "windows"):
        return int(params["lines"]) * LINE
    if order["kind"] in ("strided", "groups", "visits"):
        return int(params["count"]) * int(params["stride"])
    if order["kind"] == "conflict":
        farthest = int(params["count"]) * int(params["stride"]) + int(params["shift"])
        return farthest + int(params["beside"]) + LINE
    if order["kind"] == "pages":
        return int(params["count"]) * PAGE
    return int(params["places"]) * int(params["spacing"]) + int(params["distance"]) + 8
