"""Curves for tests: published tables as observations, and curves of buffers made by formula."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from nearfar.inference.curves.hits import miss_rate
from nearfar.inference.curves.tables import observations
from nearfar.results import Observation

KIB = 1 << 10


def read(*names: str, folder: Path) -> list[Observation]:
    found = []
    for name in names:
        with (folder / f"{name}.csv").open() as stream:
            reader = csv.DictReader(stream)
            rows = list(reader)
        found += observations(name, list(reader.fieldnames or ()), rows)
    return found


def synthetic(
    capacities: Sequence[int],
    entries: Sequence[int],
    policies: Sequence[str],
    seed: int,
    spread: float = 0.004,
) -> tuple[np.ndarray, np.ndarray]:
    region = np.unique(np.geomspace(1 * KIB, 64 * max(capacities), 160) // 64 * 64)
    rng = np.random.default_rng(seed)
    time = np.full(len(region), 100.0) + 20 * 64 / region
    for capacity, entry, policy in zip(capacities, entries, policies, strict=True):
        rate = miss_rate(policy, entry // 64, capacity // entry, region / capacity)
        time += 120 * rate
    return region, time * np.exp(spread * rng.standard_normal(len(region)))
