"""Replacement policies on generated traces: misses beside the best possible, and what falls short.

    .venv/bin/python bench/tier_policies.py --seeds 101..103

Prints misses after the first touch, which all policies share, as a multiple of S3-FIFO's; the mean
over the seeds. Then each target that `regret` does not reach, and whether anything could: Belady's
choice knows the future, the informed one how likely each page is to be visited next, the static one
the whole trace. The counted one sees every visit, of which a pager sees few, and evicts the page
with the fewest; visits count less as they age, at whichever of four rates was best, or where there
are phases, those before the present one do not count. All of it twice: with scans of the access
bits, and without, as the pager of a live program.
"""

from __future__ import annotations

import argparse
import functools
import heapq
import math
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from nearfar import _core
from nearfar.results.faults import POLICIES
from nearfar.simulate.tier_replay import try_size

SHARES = (0.05, 0.10, 0.25, 0.50)
VISITS_A_PAGE = 200
WRITES = 0.3
PHASES = 8
FADES = (math.inf, 4.0, 2.0, 1.0)  # visits a page after which one counts for 1/e

Pages = np.ndarray
Chances = np.ndarray


class Phase(NamedTuple):
    """Visits; of independent draws also every page's chance of being the next."""

    visits: Pages
    chances: Chances | None = None
    later: Chances | None = None  # a page's chance of being among those of another phase


Trace = list[Phase]
Generator = Callable[[np.random.Generator, int, int], Trace]


def zipf(exponent: float) -> Generator:
    """Page of rank r with a chance of r^-exponent; which page has which rank is random."""

    def generate(rng: np.random.Generator, pages: int, _near: int) -> Trace:
        return [_zipf(rng, pages, exponent, VISITS_A_PAGE * pages)]

    return generate


def _zipf(rng: np.random.Generator, pages: int, exponent: float, visits: int) -> Phase:
    weights = np.arange(1, pages + 1) ** -exponent
    sums = np.cumsum(weights)
    ranks = np.searchsorted(sums / sums[-1], rng.random(visits))
    ranked = rng.permutation(pages)
    chances = np.empty(pages)
    chances[ranked] = weights / sums[-1]
    return Phase(ranked.take(np.minimum(ranks, pages - 1)), chances)


def uniform(rng: np.random.Generator, pages: int, _near: int) -> Trace:
    return [Phase(rng.integers(pages, size=VISITS_A_PAGE * pages), np.full(pages, 1 / pages))]


def scan(_rng: np.random.Generator, pages: int, _near: int) -> Trace:
    """All pages in order, again and again."""
    return [Phase(np.tile(np.arange(pages), VISITS_A_PAGE // 4))]


def loop(_rng: np.random.Generator, pages: int, near: int) -> Trace:
    """All pages once, then a loop a tenth larger than near memory."""
    size = min(pages, near + near // 10 + 1)
    rounds = VISITS_A_PAGE * pages // 4 // size
    return [Phase(np.concatenate([np.arange(pages), np.tile(np.arange(size), rounds)]))]


def scan_and_zipf(rng: np.random.Generator, pages: int, _near: int) -> Trace:
    """Zipf over one half; after a thousand visits on average a scan of half of the other half."""
    half, part = pages // 2, pages // 4
    hot = _zipf(rng, half, 1.0, VISITS_A_PAGE * half).visits
    pieces, begin, at = [], 0, 0
    for end in np.flatnonzero(rng.random(len(hot)) < 0.001):
        pieces += [hot[begin:end], half + (at + np.arange(part)) % (pages - half)]
        begin, at = end, at + part
    return [Phase(np.concatenate([*pieces, hot[begin:]]))]


def phases(rng: np.random.Generator, pages: int, _near: int) -> Trace:
    """Zipf over a third of the pages, another third in each phase."""
    third, visits = pages // 3, VISITS_A_PAGE * pages // 2 // PHASES
    thirds = pages - third
    later = np.zeros(pages)  # most in the middle
    for begin in range(thirds):
        later[begin : begin + third] += 1 / thirds
    made = []
    for _ in range(PHASES):
        first = rng.integers(thirds)
        drawn = _zipf(rng, third, 0.9, visits)
        chances = np.zeros(pages)
        chances[first : first + third] = drawn.chances
        made.append(Phase(first + drawn.visits, chances, later))
    return made


def ninety_ten(rng: np.random.Generator, pages: int, _near: int) -> Trace:
    """Nine of ten visits go to a tenth of the pages."""
    visits, tenth = VISITS_A_PAGE * pages // 2, pages // 10
    hot = rng.integers(tenth, size=visits)
    cold = rng.integers(tenth, pages, size=visits)
    chances = np.where(np.arange(pages) < tenth, 0.9 / tenth, 0.1 / (pages - tenth))
    return [Phase(np.where(rng.random(visits) < 0.9, hot, cold), chances)]


def drift(rng: np.random.Generator, pages: int, _near: int) -> Trace:
    """Zipf over a fifth of the pages, of which one gives way to another every hundred visits."""
    size, visits = pages // 5, VISITS_A_PAGE * pages // 2
    heat = _zipf(rng, size, 0.9, visits).visits
    oldest = np.arange(visits) // 100
    return [Phase((oldest + (heat - oldest) % size) % pages)]


def recency(rng: np.random.Generator, pages: int, _near: int) -> Trace:
    """Zipf over how many others have been visited since a page's last visit."""
    sums = np.cumsum(np.arange(1, pages + 1) ** -1.1)
    ranks = np.searchsorted(sums / sums[-1], rng.random(VISITS_A_PAGE * pages // 4))
    order = list(range(pages))
    visits = []
    for rank in np.minimum(ranks, pages - 1).tolist():
        order.insert(0, order.pop(rank))
        visits.append(order[0])
    return [Phase(np.array(visits))]


def bursts(rng: np.random.Generator, pages: int, _near: int) -> Trace:
    """Pages at random, each visited eight times while others' bursts go on, then left for long."""
    begun = VISITS_A_PAGE * pages // 2 // 8
    page = np.repeat(rng.integers(pages, size=begun), 8)
    gaps = rng.exponential(pages / 50, size=(begun, 8))
    times = np.arange(begun)[:, np.newaxis] + np.cumsum(gaps, axis=1)
    return [Phase(page[np.argsort(times.ravel(), kind="stable")])]


def generations(rng: np.random.Generator, pages: int, _near: int) -> Trace:
    """Young pages in a ring, each visited three times, by turns with old ones: Zipf over three
    quarters of all; now and then all old ones in order."""
    old = pages * 3 // 4
    drawn_old = _zipf(rng, old, 1.0, VISITS_A_PAGE * pages // 4).visits
    young = old + np.arange(len(drawn_old)) // 3 % (pages - old)
    both = np.column_stack([drawn_old, young]).ravel()
    parts = [part for half in np.array_split(both, 6) for part in (half, np.arange(old))]
    return [Phase(np.concatenate(parts))]


TRACES: dict[str, Generator] = {
    "zipf 0.8": zipf(0.8),
    "zipf 1.0": zipf(1.0),
    "zipf 1.2": zipf(1.2),
    "uniform": uniform,
    "scan": scan,
    "loop": loop,
    "scan+zipf": scan_and_zipf,
    "phases": phases,
    "90/10": ninety_ten,
    "drift": drift,
    "recency": recency,
    "bursts": bursts,
    "old+young": generations,
}


def informed_misses(trace: Trace, near: int) -> int | None:
    """Misses after the first touch if of near memory's pages the least likely to be next leaves.

    For independent draws no choice that does not know the future has fewer (A0 of Aho, Denning and
    Ullman, "Principles of optimal page replacement", JACM 18, 1971). Each phase's chances are known
    from its beginning; of pages without any, the least likely in another phase leaves. None if the
    visits are not drawn.
    """
    misses = 0
    seen: set[int] = set()
    resident: set[int] = set()
    for visits, chances, later in trace:
        if chances is None:
            return None
        least = np.zeros_like(chances) if later is None else later
        likely = list(zip(chances.tolist(), least.tolist(), range(len(chances)), strict=True))
        order = [likely[page] for page in resident]
        heapq.heapify(order)
        for page in visits.tolist():
            if page in resident:
                continue
            misses += page in seen
            if len(resident) == near:
                resident.remove(heapq.heappop(order)[2])
            seen.add(page)
            resident.add(page)
            heapq.heappush(order, likely[page])
    return misses


def counted_misses(trace: Trace, near: int, fade: float = math.inf, told: bool = False) -> int:
    """Misses after the first touch if the page with the fewest visits leaves, all of them counted;
    `fade` visits later one counts for 1/e, and none does in a later phase if it is told of them."""
    growth = 1 + 1 / fade  # of what a visit counts, instead of a decay of what others did
    visit = 1.0
    misses = 0
    counts: dict[int, float] = {}
    resident: set[int] = set()
    order: list[tuple[float, int]] = []  # counts are as they were once, and since only grew
    for phase in trace:
        if told:
            # Of pages that have not been visited in it, what was visited least before goes first.
            counts = {page: count / 2**64 for page, count in counts.items()}
            order = [(count / 2**64, page) for count, page in order]
        for page in phase.visits.tolist():
            visit *= growth
            misses += page in counts and page not in resident
            counts[page] = counts.get(page, 0.0) + visit
            if page in resident:
                continue
            if len(resident) == near:
                while counts[order[0][1]] != order[0][0]:
                    heapq.heapreplace(order, (counts[order[0][1]], order[0][1]))
                resident.remove(heapq.heappop(order)[1])
            resident.add(page)
            heapq.heappush(order, (counts[page], page))
    return misses


def drawn(name: str, pages: int, share: float, seed: int) -> tuple[np.random.Generator, Trace]:
    """The trace of a seed, and the generator behind it."""
    rng = np.random.default_rng([seed, *name.encode()])
    return rng, TRACES[name](rng, pages, int(pages * share))


def measure_counted(name: str, pages: int, share: float, seeds: Sequence[int]) -> dict[str, float]:
    """The counted choice's misses at its best rate, the mean over the seeds; where there are phases
    also if it is told when one begins."""
    near = int(pages * share)
    traces = [drawn(name, pages, share, seed)[1] for seed in seeds]
    faded = (sum(counted_misses(one, near, fade * pages) for one in traces) for fade in FADES)
    sums = {"counted": min(faded)}
    if len(traces[0]) > 1:
        sums["told of phases"] = sum(counted_misses(one, near, told=True) for one in traces)
    return {what: misses / len(seeds) for what, misses in sums.items()}


Counted = Callable[[], dict[str, float]]  # worked out where it is wanted


def measure(
    name: str, pages: int, share: float, seeds: Sequence[int]
) -> tuple[dict[str, float], dict[str, float]]:
    """Misses after the first touch, by policy and bound, the mean over the seeds: with scans, and
    without.
    """
    near = int(pages * share)
    sums: dict[bool, dict[str, float]] = {True: {}, False: {}}
    for seed in seeds:
        rng, trace = drawn(name, pages, share, seed)
        visited = np.concatenate([phase.visits for phase in trace])
        words = visited.astype(np.uint32) * 4 + (rng.random(len(visited)) < WRITES)
        visits = _core.PageVisits()
        visits.add(words.astype(np.uint32).tobytes())
        informed = informed_misses(trace, near)
        for scans, sum_of in sums.items():
            one = try_size(visits, near, POLICIES, scans=scans)
            every = {paged.policy: paged.misses for paged in one.policies}
            every |= {"Belady": one.belady_misses, "static": one.static_misses}
            found = {what: misses - visits.pages() for what, misses in every.items()}
            if informed is not None:
                found["informed"] = informed
            for what, misses in found.items():
                sum_of[what] = sum_of.get(what, 0) + misses / len(seeds)
    return sums[True], sums[False]


def out_of_reach(found: dict[str, float], most: float, counted: Counted) -> str:
    """Which choice, if any, shows that so few misses are out of reach, or what counting reaches."""
    for bound in ("Belady", "informed"):
        if found.get(bound, 0) > most:
            return f", out of reach: {bound} {found[bound] / most:.3f}"
    return "".join(f", {what} {misses / most:.3f}" for what, misses in counted().items())


def shortfalls(name: str, share: float, found: dict[str, float], counted: Counted) -> list[str]:
    """The targets that regret misses here; `counted`: the misses of that choice."""
    ours, s3 = found["regret"], found["s3-fifo"]
    targets = [("S3-FIFO + 2 %", 1.02 * s3)]
    if name in ("scan", "phases"):
        targets.append(("S3-FIFO - 10 %", 0.9 * s3))
    if name.startswith("zipf"):
        targets.append(("best static choice + 10 %", 1.1 * found["static"]))
    return [
        f"{name} at {share:.0%}: {ours / most:.3f} of {target}{out_of_reach(found, most, counted)}"
        for target, most in targets
        if ours > most
    ]


BOUNDS = ("Belady", "informed", "static")
OTHERS = tuple(policy for policy in POLICIES if policy != "s3-fifo")


class Table:
    """A row a trace and size of near memory, and the targets that `regret` misses."""

    def __init__(self, title: str) -> None:
        bounds_and_policies = [f"{name:>10}" for name in (*BOUNDS, *OTHERS)]
        self._lines = [
            title,
            " ".join([f"{'trace':<10} near {'s3-fifo':>9}", *bounds_and_policies]),
        ]
        self._logs = dict.fromkeys(OTHERS, 0.0)
        self._rows = 0
        self._short: list[str] = []

    def add(self, name: str, share: float, found: dict[str, float], counted: Counted) -> None:
        """`found` by policy and bound; `counted`: the misses of that choice."""
        s3 = found["s3-fifo"]
        cells = [
            f"{found[what] / s3:>10.3f}" if what in found else f"{'-':>10}"
            for what in (*BOUNDS, *OTHERS)
        ]
        self._lines.append(" ".join([f"{name:<10} {share:>4.0%} {s3:>9.0f}", *cells]))
        self._short += shortfalls(name, share, found, counted)
        self._rows += 1
        for policy in OTHERS:
            self._logs[policy] += math.log(found[policy] / s3)

    def text(self) -> str:
        means = " ".join(f"{math.exp(self._logs[one] / self._rows):>10.3f}" for one in OTHERS)
        misses = ["regret misses:", *self._short] if self._short else ["regret misses no target"]
        return "\n".join([*self._lines, f"{'geometric mean':<58} {means}", "\n  ".join(misses)])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default="101..103", help="FIRST..LAST")
    parser.add_argument("--pages", type=int, default=2048)
    args = parser.parse_args()
    first, _, last = args.seeds.partition("..")
    seeds = range(int(first), int(last or first) + 1)
    begun = time.monotonic()
    of = f"{args.pages} pages, seeds {args.seeds}: misses after the first touch, over S3-FIFO's"
    scanned, unscanned = Table(of), Table(f"{of}; without scans")
    for name in TRACES:
        for share in SHARES:
            with_scans, without = measure(name, args.pages, share, seeds)
            counted = functools.cache(
                functools.partial(measure_counted, name, args.pages, share, seeds)
            )
            scanned.add(name, share, with_scans, counted)
            unscanned.add(name, share, without, counted)
    print(scanned.text(), unscanned.text(), sep="\n\n")
    print(f"took {time.monotonic() - begun:.0f} s")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
