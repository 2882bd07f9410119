"""Replacement policies on generated traces: misses beside the best possible, and what falls short.

    .venv/bin/python bench/tier_policies.py --seeds 101..103

Prints misses after the first touch, which all policies share, as a multiple of S3-FIFO's; the mean
over the seeds. Then each target that `regret` does not reach, and whether anything could: Belady's
choice knows the future, the static one the whole trace.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable

import numpy as np

from nearfar import _core
from nearfar.results.faults import POLICIES
from nearfar.simulate.tier_replay import try_size

SHARES = (0.05, 0.10, 0.25, 0.50)
VISITS_A_PAGE = 200
WRITES = 0.3
PHASES = 8

Pages = np.ndarray
Generator = Callable[[np.random.Generator, int, int], Pages]


def zipf(exponent: float) -> Generator:
    """Page of rank r with a chance of r^-exponent; which page has which rank is random."""

    def generate(rng: np.random.Generator, pages: int, _near: int) -> Pages:
        return _zipf(rng, pages, exponent, VISITS_A_PAGE * pages)

    return generate


def _zipf(rng: np.random.Generator, pages: int, exponent: float, visits: int) -> Pages:
    chances = np.cumsum(np.arange(1, pages + 1) ** -exponent)
    ranks = np.searchsorted(chances / chances[-1], rng.random(visits))
    return rng.permutation(pages).take(np.minimum(ranks, pages - 1))


def uniform(rng: np.random.Generator, pages: int, _near: int) -> Pages:
    return rng.integers(pages, size=VISITS_A_PAGE * pages)


def scan(_rng: np.random.Generator, pages: int, _near: int) -> Pages:
    """All pages in order, again and again."""
    return np.tile(np.arange(pages), VISITS_A_PAGE // 4)


def loop(_rng: np.random.Generator, pages: int, near: int) -> Pages:
    """All pages once, then a loop a tenth larger than near memory."""
    size = min(pages, near + near // 10 + 1)
    rounds = VISITS_A_PAGE * pages // 4 // size
    return np.concatenate([np.arange(pages), np.tile(np.arange(size), rounds)])


def scan_and_zipf(rng: np.random.Generator, pages: int, _near: int) -> Pages:
    """Zipf over one half; after a thousand visits on average a scan of half of the other half."""
    half, part = pages // 2, pages // 4
    hot = _zipf(rng, half, 1.0, VISITS_A_PAGE * half)
    pieces, begin, at = [], 0, 0
    for end in np.flatnonzero(rng.random(len(hot)) < 0.001):
        pieces += [hot[begin:end], half + (at + np.arange(part)) % (pages - half)]
        begin, at = end, at + part
    return np.concatenate([*pieces, hot[begin:]])


def phases(rng: np.random.Generator, pages: int, _near: int) -> Pages:
    """Zipf over a third of the pages, another third in each phase."""
    third, visits = pages // 3, VISITS_A_PAGE * pages // 2 // PHASES
    return np.concatenate(
        [rng.integers(pages - third) + _zipf(rng, third, 0.9, visits) for _ in range(PHASES)]
    )


def ninety_ten(rng: np.random.Generator, pages: int, _near: int) -> Pages:
    """Nine of ten visits go to a tenth of the pages."""
    visits = VISITS_A_PAGE * pages // 2
    hot = rng.integers(pages // 10, size=visits)
    cold = rng.integers(pages // 10, pages, size=visits)
    return np.where(rng.random(visits) < 0.9, hot, cold)


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
}


def measure(name: str, pages: int, share: float, seeds: range) -> dict[str, float]:
    """Misses after the first touch, by policy and bound, the mean over the seeds."""
    near = int(pages * share)
    sums: dict[str, float] = {}
    for seed in seeds:
        rng = np.random.default_rng([seed, *name.encode()])
        visited = TRACES[name](rng, pages, near)
        words = visited.astype(np.uint32) * 2 + (rng.random(len(visited)) < WRITES)
        visits = _core.PageVisits()
        visits.add(words.astype(np.uint32).tobytes())
        one = try_size(visits, near, POLICIES)
        found = {paged.policy: paged.misses for paged in one.policies}
        found |= {"Belady": one.belady_misses, "static": one.static_misses}
        for what, misses in found.items():
            sums[what] = sums.get(what, 0) + (misses - visits.pages()) / len(seeds)
    return sums


def shortfalls(name: str, share: float, found: dict[str, float]) -> list[str]:
    """The targets that regret misses here."""
    ours, s3, belady = found["regret"], found["s3-fifo"], found["Belady"]
    targets = [("S3-FIFO + 2 %", 1.02 * s3)]
    if name in ("scan", "phases"):
        targets.append(("S3-FIFO - 10 %", 0.9 * s3))
    if name.startswith("zipf"):
        targets.append(("best static choice + 10 %", 1.1 * found["static"]))
    return [
        f"{name} at {share:.0%}: {ours / most:.3f} of {target}"
        + (f", out of reach: Belady {belady / most:.3f}" if belady > most else "")
        for target, most in targets
        if ours > most
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default="101..103", help="FIRST..LAST")
    parser.add_argument("--pages", type=int, default=2048)
    args = parser.parse_args()
    first, _, last = args.seeds.partition("..")
    seeds = range(int(first), int(last or first) + 1)
    begun = time.monotonic()
    bounds = ("Belady", "static")
    others = [policy for policy in POLICIES if policy != "s3-fifo"]
    print(f"{args.pages} pages, seeds {args.seeds}: misses after the first touch, over S3-FIFO's")
    print(f"{'trace':<10} near {'s3-fifo':>9}", *(f"{name:>10}" for name in (*bounds, *others)))
    logs = dict.fromkeys(others, 0.0)
    short: list[str] = []
    for name in TRACES:
        for share in SHARES:
            found = measure(name, args.pages, share, seeds)
            s3 = found["s3-fifo"]
            cells = [f"{found[what] / s3:>10.3f}" for what in (*bounds, *others)]
            print(f"{name:<10} {share:>4.0%} {s3:>9.0f}", *cells, flush=True)
            short += shortfalls(name, share, found)
            for policy in others:
                logs[policy] += math.log(found[policy] / s3) / len(TRACES) / len(SHARES)
    means = " ".join(f"{math.exp(logs[policy]):>10.3f}" for policy in others)
    print(f"{'geometric mean':<47} {means}")
    print("regret misses no target" if not short else "regret misses:", *short, sep="\n  ")
    print(f"took {time.monotonic() - begun:.0f} s")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
