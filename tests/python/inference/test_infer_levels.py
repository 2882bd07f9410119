"""Coarse, short and noisy curves of ideal machines: bounds hold the truth, and exact means so."""

from __future__ import annotations

import numpy as np
import pytest

from level_machines import KIB, MIB, Machine, measured, random_machine, random_regions
from nearfar.inference.curves.ascents import ascents, point_noise
from nearfar.inference.curves.findings import infer_curves
from nearfar.inference.curves.tables import observations
from nearfar.results.findings import IDENTIFIED, Finding

IDEAL = Machine((32 * KIB, 256 * KIB, 8 * MIB), (1.2, 4.0, 12.0, 80.0), "direct")


def found(
    region: np.ndarray, values: np.ndarray, op: str = "load", regions: str = "repeat"
) -> dict[str, Finding]:
    rows = [
        {
            "region_bytes": f"{size:.0f}",
            "block_bytes": "64",
            "op": op,
            "regions": regions,
            "ns_per_line": f"{ns:.6g}",
        }
        for size, ns in zip(region, values, strict=True)
    ]
    return {one.name: one for one in infer_curves(observations("own", list(rows[0]), rows))}


def octaves(steps: int, low: int = KIB, high: int = 256 * MIB) -> np.ndarray:
    count = int(np.log2(high / low)) * steps
    return np.round(low * 2.0 ** (np.arange(count + 1) / steps) / 64) * 64


def wrong(machine: Machine, seen: dict[str, Finding]) -> list[str]:
    """What is said of the machine and is not so."""
    faults = []
    levels, truth = seen["levels"], len(machine.capacities)
    low, high = levels.interval or (0, 99)
    if not low <= truth <= high:
        faults.append(f"levels {low} to {high}: {levels.reason}")
    for name, one in seen.items():
        if not name.endswith(".capacity") or one.interval is None:
            continue
        at = int(name.split(".")[1])
        if at > truth or not one.interval[0] <= machine.capacities[at - 1] <= one.interval[1]:
            faults.append(f"{name} {one.interval}: {one.reason}")
    return faults


@pytest.mark.parametrize("block", range(16))
def test_no_bound_misses_the_truth_of_random_machines(block: int) -> None:
    for seed in range(block * 25, block * 25 + 25):
        rng = np.random.default_rng(seed)
        machine, region = random_machine(rng), random_regions(rng)
        seen = found(region, measured(machine, region, rng))
        assert wrong(machine, seen) == [], f"seed {seed}: {machine}"


@pytest.mark.parametrize("seed", range(4))
def test_a_walk_over_fresh_regions_is_no_surer(seed: int) -> None:
    rng = np.random.default_rng(seed)
    machine, region = random_machine(rng), octaves(1)
    seen = found(region, measured(machine, region, rng), "ntload", "fresh")
    assert wrong(machine, seen) == []


@pytest.mark.parametrize("steps", [1, 2])
def test_three_levels_are_seen_at_octaves_and_half_octaves(steps: int) -> None:
    region = octaves(steps)
    noise = 0.008 * np.random.default_rng(7).standard_normal(len(region))
    seen = found(region, IDEAL.curve(region) * np.exp(noise))
    assert seen["levels"].status != IDENTIFIED
    assert seen["levels"].interval == (3, 8)
    for at, truth in enumerate(IDEAL.capacities, start=1):
        low, high = seen[f"buffer.{at}.capacity"].interval or (0, 0)
        assert 0.9 * truth < low <= truth <= high < 2.2 * truth


def test_points_close_together_and_without_noise_say_how_many_levels_there_are() -> None:
    machine = Machine(IDEAL.capacities, IDEAL.latencies, "step")
    region = octaves(8)
    seen = found(region, machine.curve(region))
    assert (seen["levels"].status, seen["levels"].value) == (IDENTIFIED, 3)


def test_a_capacity_is_named_where_caches_fit_the_ramp_closely() -> None:
    region = octaves(16)
    seen = found(region, IDEAL.curve(region))
    for at, truth in enumerate(IDEAL.capacities, start=1):
        assert seen[f"buffer.{at}.capacity"].value == truth


def test_what_may_be_translation_is_named_and_not_counted() -> None:
    machine = Machine((32 * KIB,), (1.2, 80.0), "step", reach=2 * MIB, translation_ns=25.0)
    region = octaves(4)
    levels = found(region, machine.curve(region))["levels"]
    assert levels.interval == (1, 8)
    assert "not counted: 2 MiB to" in levels.reason
    assert "TLB" in levels.reason


def test_a_busy_moment_is_named_and_not_counted() -> None:
    region = octaves(2)
    values = IDEAL.curve(region)
    values[5] *= 3
    levels = found(region, values)["levels"]
    assert levels.interval == (3, 8)
    assert "is faster again: a busy moment does the same" in levels.reason


def test_a_rise_no_larger_than_noise_is_named_and_not_counted() -> None:
    region = octaves(2)
    values = np.where(region > MIB, 1.06, 1.0) * 80
    values *= np.exp(0.02 * np.random.default_rng(2).standard_normal(len(region)))
    levels = found(region, values)["levels"]
    assert levels.interval == (0, 8)
    assert "too little to tell from noise" in levels.reason


def test_a_flattened_curve_does_not_say_how_many_levels_a_prefetcher_hid() -> None:
    machine = Machine(IDEAL.capacities, IDEAL.latencies, "step", hidden=0.85)
    region = octaves(8)
    levels = found(region, machine.curve(region))["levels"]
    assert levels.status != IDENTIFIED
    assert "prefetcher" in levels.reason


def test_a_curve_that_starts_above_a_first_cache_may_have_missed_it() -> None:
    region = octaves(8, low=64 * KIB)
    seen = found(region, Machine(IDEAL.capacities, IDEAL.latencies, "step").curve(region))
    assert "no region below 64 KiB" in seen["levels"].reason
    low, _ = seen["buffer.1.capacity"].interval or (1 << 30, 0)
    assert low <= 32 * KIB


@pytest.mark.parametrize("op", ["load", "ntload"])
@pytest.mark.parametrize("regions", ["repeat", "fresh"])
@pytest.mark.parametrize("seed", range(12))
def test_a_memory_without_caches_has_none_whatever_its_curve_looks_like(
    seed: int, op: str, regions: str
) -> None:
    """Behind a TLB, in rows that get slower, or behind a fence that small regions pay for."""
    rng = np.random.default_rng(seed)
    region = random_regions(rng)
    cost = [
        rng.uniform(5, 50) * np.maximum(0, 1 - 64 * KIB * rng.integers(1, 40) / region),
        rng.uniform(0.5, 3) * np.log2(region / region[0]),
        rng.uniform(0, 20) * 40 * 64 / region,
    ][seed % 3]
    noise = rng.choice([0, 0.002, 0.01, 0.05]) * rng.standard_normal(len(region))
    seen = found(region, (90.0 + cost) * np.exp(noise), op, regions)
    assert (seen["levels"].interval or (1, 0))[0] == 0
    assert [one.name for one in seen.values() if one.status == IDENTIFIED] in ([], ["levels"])


@pytest.mark.parametrize("points", [0, 1, 2, 3])
def test_a_curve_of_a_few_points_says_nothing_it_cannot_know(points: int) -> None:
    region = np.array([4096.0, 65536.0, 1 << 20])[:points]
    seen = ascents(region, np.full(points, 5.0))
    assert seen.found == ()


@pytest.mark.parametrize("spread", [0.005, 0.02, 0.05])
def test_noise_is_not_taken_from_the_steps_of_a_sparse_curve(spread: float) -> None:
    region = octaves(2)
    estimates = [
        point_noise(IDEAL.curve(region) * np.exp(spread * rng.standard_normal(len(region))))
        for rng in map(np.random.default_rng, range(60))
    ]
    assert 0.6 * spread < np.median(estimates) < 2 * spread
