"""Ideal machines of one to four caches, and the curves that others might have measured on them.

No code is shared with the inference. A cache misses for a share of the loads that grows from its
capacity on, in one of several shapes; beyond that a machine may have a TLB, a prefetcher that
hides a part of what lies behind the first cache, and noise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

KIB, MIB = 1 << 10, 1 << 20
SHAPES = ("step", "direct", "slow", "pages")


@dataclass(frozen=True)
class Machine:
    """Capacities in bytes and latencies in ns: of each cache, and at last of memory."""

    capacities: tuple[int, ...]
    latencies: tuple[float, ...]
    shape: str
    reach: int = 0  # bytes that a TLB translates; 0: none
    translation_ns: float = 0.0
    hidden: float = 0.0  # share of the latency behind the first cache that a prefetcher hides

    def curve(self, region: np.ndarray) -> np.ndarray:
        time = np.full(len(region), self.latencies[0])
        for at, capacity in enumerate(self.capacities):
            more = (self.latencies[at + 1] - self.latencies[at]) * (1 - self.hidden)
            time = time + more * miss_share(self.shape, region / capacity)
        if self.reach:
            time = time + self.translation_ns * np.maximum(0.0, 1 - self.reach / region)
        return time


def miss_share(shape: str, ratio: np.ndarray) -> np.ndarray:
    """Of a cache of which a region is so many times the size."""
    if shape == "step":  # LRU over any ways, walked in one order
        return (ratio > 1).astype(float)
    if shape == "direct":  # one way, pages one behind the other
        return np.clip(2 * (1 - 1 / ratio), 0, 1)
    if shape == "slow":  # fully associative, in an order that is random every round
        return np.maximum(0.0, 1 - 1 / ratio)
    return _pages(ratio)


def _pages(ratio: np.ndarray, ways: int = 8) -> np.ndarray:
    """LRU sets of so many ways that pages fill at random."""
    rng = np.random.default_rng(1)
    shares = []
    for one in ratio:
        crowd = rng.poisson(min(float(one), 8.0) * ways, 4000)
        shares.append(float(crowd[crowd > ways].sum()) / max(1, crowd.sum()))
    return np.array(shares)


def random_machine(rng: np.random.Generator) -> Machine:
    """One to four caches, each two to thirty-two times as large as the one before."""
    count = int(rng.integers(1, 5))
    capacities = [int(rng.choice([16, 24, 32, 48, 64])) * KIB]
    for _ in range(count - 1):
        capacities.append(int(capacities[-1] * rng.choice([2, 4, 8, 16, 32])))
    latencies = [float(rng.uniform(0.8, 2))]
    for _ in range(count - 1):
        latencies.append(latencies[-1] * float(rng.uniform(2, 4)))
    latencies.append(max(float(rng.uniform(60, 130)), latencies[-1] * 1.5))
    reach = translation = 0.0
    if rng.random() < 0.3:
        reach, translation = 4 * KIB * int(rng.choice([48, 64, 96, 1024, 1536])), rng.uniform(1, 25)
    hidden = float(rng.uniform(0.3, 0.9)) if rng.random() < 0.2 else 0.0
    shape = SHAPES[int(rng.integers(len(SHAPES)))]
    return Machine(
        tuple(capacities), tuple(latencies), shape, int(reach), float(translation), hidden
    )


def random_regions(rng: np.random.Generator) -> np.ndarray:
    """Octaves, half octaves, eighths, or five to twelve points, over whatever range."""
    low = KIB * 2 ** int(rng.integers(0, 5))
    high = MIB * 2 ** int(rng.integers(3, 9))
    kind = int(rng.integers(4))
    if kind == 3:
        points = np.geomspace(low, high, int(rng.integers(5, 13)))
    else:
        steps = (1, 2, 8)[kind]
        points = low * 2.0 ** (np.arange(int(np.log2(high / low)) * steps + 1) / steps)
    return np.unique(np.round(points / 64) * 64)


def measured(machine: Machine, region: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The curve with noise of none to five per cent."""
    noise = float(rng.choice([0.0, 0.002, 0.01, 0.02, 0.05]))
    return machine.curve(region) * np.exp(noise * rng.standard_normal(len(region)))
