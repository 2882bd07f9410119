"""Probing devices that are known because they are a few lines of Python.

What is found in a layered device is what was put into it; in a device without structure
nothing is found.
"""

from __future__ import annotations

from typing import Any

import pytest

from nearfar.probing.sequences import probe_device
from nearfar.results import ProbeResult
from standin_device import Buffer, Drift, Flat, Layered, Noise

SMALL = [Buffer(256, 16, 4, "lru", 50.0), Buffer(1024, 64, 64, "fifo", 150.0)]


def found(result: ProbeResult) -> dict[str, Any]:
    """Values of what was identified."""
    return {f.name: f.value for f in result.findings if f.status == "identified"}


def organisation(buffers: list[Buffer]) -> dict[str, Any]:
    expected: dict[str, Any] = {"levels": len(buffers)}
    for number, buffer in enumerate(buffers, start=1):
        expected |= {
            f"buffer.{number}.capacity": buffer.entry * buffer.entries,
            f"buffer.{number}.entry": buffer.entry,
            f"buffer.{number}.ways": buffer.ways,
            f"buffer.{number}.latency": buffer.latency,
        }
        if buffer.ways > 1:
            expected[f"buffer.{number}.policy"] = buffer.policy
    return expected


@pytest.mark.parametrize(
    "buffers",
    [
        [Buffer(64, 8, 8, "random", 40.0)],
        [Buffer(256, 64, 64, "fifo", 70.0)],
        [Buffer(4096, 12, 3, "lru", 70.0)],
        [Buffer(256, 16, 4, "lru", 50.0), Buffer(1024, 64, 64, "random", 150.0)],
        [Buffer(256, 16, 1, "lru", 50.0), Buffer(256, 64, 16, "fifo", 90.0)],
        [
            Buffer(64, 24, 8, "random", 30.0),
            Buffer(256, 40, 8, "random", 100.0),
            Buffer(2048, 48, 2, "fifo", 200.0),
        ],
        [
            Buffer(128, 10, 10, "fifo", 30.0),
            Buffer(128, 50, 5, "lru", 70.0),
            Buffer(128, 300, 4, "random", 110.0),
        ],
    ],
    ids=lambda buffers: "-".join(f"{b.entries}x{b.entry}{b.policy}{b.ways}" for b in buffers),
)
def test_buffers_are_found_as_they_are(buffers: list[Buffer]) -> None:
    result = probe_device(Layered(buffers), ["buffers"], quick=True)
    values = found(result)
    expected = organisation(buffers)
    assert {name: values.get(name) for name in expected} == expected


def test_with_one_way_the_policy_is_not_identifiable() -> None:
    result = probe_device(Layered([Buffer(256, 16, 1, "lru", 50.0)]), ["buffers"], quick=True)
    policy = result.finding("buffer.1.policy")
    assert (policy.status, policy.value) == ("not_identifiable", None)
    assert "nothing to choose" in policy.reason


def test_a_little_noise_does_not_matter() -> None:
    values = found(probe_device(Layered(SMALL, noise_ns=3.0), ["buffers"], quick=True))
    expected = organisation(SMALL)
    latencies = [name for name in expected if name.endswith("latency")]
    for name in latencies:
        assert values[name] == pytest.approx(expected.pop(name), abs=1.0)
    assert {name: values.get(name) for name in expected} == expected


@pytest.mark.parametrize(("modules", "granule"), [(2, 1024), (3, 4096), (5, 2048), (6, 16384)])
def test_modules_and_interleaving_are_found(modules: int, granule: int) -> None:
    device = Layered(SMALL, modules=modules, interleave=granule)
    values = found(probe_device(device, ["policy", "buffers"], quick=True))
    assert (values["modules"], values["interleave"]) == (modules, granule)
    # Walks stay on one module, so its buffers are seen, not the sum of all.
    expected = organisation(SMALL)
    assert {name: values.get(name) for name in expected} == expected


def test_one_module_does_not_alternate() -> None:
    result = probe_device(Layered(SMALL), ["policy"], quick=True)
    assert result.finding("modules").value == 1
    assert result.finding("interleave").status == "not_identifiable"


@pytest.mark.parametrize(("wpq", "lsq"), [(4, 16), (8, 64), (16, 100), (13, 128)])
def test_write_queues_are_found(wpq: int, lsq: int) -> None:
    values = found(probe_device(Layered(SMALL, wpq=wpq, lsq=lsq), ["queues"], quick=True))
    assert (values["wpq.lines"], values["lsq.lines"]) == (wpq, lsq)


@pytest.mark.parametrize(("drains", "says"), [(True, "yes"), (False, "no")])
def test_whether_a_fence_drains_is_found(drains: bool, says: str) -> None:
    values = found(probe_device(Layered(SMALL, drains=drains), ["queues"], quick=True))
    assert values["fence.drains_lsq"] == says


def test_migration_is_found() -> None:
    device = Layered(SMALL, migration=(2000, 4096, 40_000.0))
    result = probe_device(device, ["migration"], quick=True)
    values = found(result)
    assert values["migration"] == "yes"
    assert values["migration.block"] == 4096
    low, high = result.finding("migration.period").interval or (0, 0)
    assert low <= 2000 <= high
    assert high - low < 0.15 * 2000
    assert values["migration.stall"] == pytest.approx(40_000, rel=0.02)


def test_without_migration_none_is_found() -> None:
    result = probe_device(Layered(SMALL), ["migration"], quick=True)
    assert result.finding("migration").value == "no"
    assert result.finding("migration.period").status == "not_identifiable"


@pytest.mark.parametrize(
    "device",
    [
        Flat(),
        Noise("normal"),
        Noise("lognormal"),
        Noise("two"),
        Noise("pareto"),
        Drift(0.01),
        Drift(-0.01),
        Drift(1e-4),
    ],
    ids=str,
)
@pytest.mark.parametrize("quick", [True, False], ids=["quick", "full"])
def test_nothing_is_found_where_there_is_nothing(device: Any, quick: bool) -> None:
    result = probe_device(device, quick=quick)
    # That no store stalled is all that may be said of a device without structure.
    assert found(result) in ({}, {"migration": "no"})
    assert result.finding("levels").status == "not_identifiable"
    assert all(finding.reason for finding in result.findings)
