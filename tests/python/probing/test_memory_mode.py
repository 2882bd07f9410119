"""Conflict tests find a near memory where there is one, and take nothing else for it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from host_standin import HostStandIn
from nearfar import load_model
from nearfar.inference import memory_mode as inference
from nearfar.inference import near, write_back
from nearfar.model.random.dimm import random_model
from nearfar.model.random.near import random_near_model
from nearfar.probing import memory_mode
from nearfar.probing.findings import findings_of
from nearfar.probing.host_walk import HostWalker
from nearfar.results import Observation, ProbeResult
from nearfar.results.decode import decode, encode
from nearfar.results.files import parse, to_json
from nearfar.results.findings import IDENTIFIED, Finding
from noisy_machine import Cache, NoisyMachine

KIB = 1 << 10


def found(target: object) -> dict[str, Finding]:
    observations, _ = memory_mode.observe(target, quick=True)  # type: ignore[arg-type]
    return {finding.name: finding for finding in inference.findings(observations)}


def assert_nothing_near(seen: dict[str, Finding]) -> None:
    assert {name: one.status for name, one in seen.items() if name.startswith("near.")} == (
        dict.fromkeys(near.NAMES, "not_identifiable")
    )
    assert seen["near.capacity"].reason.startswith(
        "no cache of memory behind the last cache was seen"
    )


@pytest.mark.parametrize(
    ("entries", "ways", "entry"),
    [(64, 64, 256), (64, 4, 256), (256, 1, 256), (128, 16, 512), (16, 2, 1024), (8192, 1, 4096)],
)
def test_a_buffer_of_a_device_is_no_near_memory(entries: int, ways: int, entry: int) -> None:
    buffer = "nvdimm.buffer.1"
    model = load_model("optane-100").override(
        f"{buffer}.entries={entries}",
        f"{buffer}.ways={ways}",
        f"{buffer}.entry={entry}B",
        "nvdimm.levels=1",
    )
    assert_nothing_near(found(model))


def test_the_first_cache_of_a_machine_is_no_near_memory() -> None:
    seen = found(NoisyMachine((Cache(32 * KIB, 8, 1.0), Cache(512 * KIB, 16, 4.0))))
    assert_nothing_near(seen)
    assert "8 places any multiple of 4 KiB apart" in seen["near.ways"].reason
    assert "which is the first cache (32 KiB)" in seen["near.ways"].reason


@pytest.mark.parametrize("preset", ["optane-100", "ddr4-2666", "cxl-expander"])
def test_a_preset_without_near_memory_has_none(preset: str) -> None:
    assert_nothing_near(found(load_model(preset)))


@pytest.mark.parametrize("seed", range(12))
def test_a_random_device_without_near_memory_has_none(seed: int, tmp_path: Path) -> None:
    file = tmp_path / "device.toml"
    file.write_text(random_model(seed), encoding="utf-8")
    assert_nothing_near(found(load_model(file)))


def test_memory_without_anything_near_has_no_near_memory() -> None:
    assert [f for f in found(load_model("ddr4-2666")).values() if f.status == IDENTIFIED] == []


@pytest.mark.parametrize("waits", [0.0, 1.5])
def test_the_wait_for_a_changed_line_to_leave_is_found_or_said_to_be_none(
    waits: float,
) -> None:
    caches = (Cache(48 << 10, 12, 1.0), Cache(1 << 20, 16, 5.0))
    finding = found(NoisyMachine(caches, write_back_ns=waits, seed=4))["cache.1.write_back"]
    low, high = finding.interval or (0, 0)
    assert low <= waits <= high
    assert finding.status == (IDENTIFIED if waits else "not_identifiable")
    assert waits or "while the next read waits" in finding.reason


def test_a_cost_below_zero_is_noise_and_can_be_saved() -> None:
    made = write_back.experiments("memory-mode", 8, 4096)
    observations = [
        Observation(
            f"o{at}", "memory-mode",
            {"kind": "chain", "order": one.order, "pages": one.pages, "changes": one.changes}, 1,
            samples=[ns + x / 100 for x in range(5)],
        )
        for at, (one, ns) in enumerate(zip(made, (1.0, 2.0, 4.0, 3.0), strict=True))
    ]  # fmt: skip
    finding = write_back.finding(observations, "memory-mode", 8, 4096)
    assert finding.status != IDENTIFIED
    assert finding.interval == (0.0, 0.0)
    assert decode(Finding, encode(finding), "saved").name == finding.name


def test_lines_are_thrown_out_clean_and_changed_on_a_machine() -> None:
    machine = HostStandIn()
    machine.ns = lambda asked: 60.0 if asked["changes"] else 40.0
    times = HostWalker(core=machine)
    assert [times.drop(64, changes).ns for changes in (False, True)] == [40, 60]
    observations = [
        Observation(f"drop{changes}", "memory-mode", {"kind": "drop", "changes": changes}, 1,
                    samples=[40.0 + 20 * changes] * 3)
        for changes in (False, True)
    ]  # fmt: skip
    words, evidence = write_back.dropped(observations, "memory-mode")
    assert words.endswith("+20.0 ns more than a clean one")
    assert evidence == ["dropTrue", "dropFalse"]


def test_random_latency_has_no_near_memory() -> None:
    flat = NoisyMachine((Cache(64, 1, 50.0),), memory_ns=50.0, tlb_ns=0.0, noise=0.5)
    assert [f for f in found(flat).values() if f.status == IDENTIFIED] == []


def test_a_model_says_the_same_twice() -> None:
    model = load_model("optane-100")
    once, _ = memory_mode.observe(model, quick=True)
    assert memory_mode.observe(model, quick=True)[0] == once


def organisation(name: str, *overrides: str) -> dict[str, object]:
    seen = found(load_model(name).override(*overrides))
    return {name.removeprefix("near."): finding.value for name, finding in seen.items()}


def test_the_near_memory_of_memory_mode_is_found() -> None:
    seen = organisation("optane-memory-mode")
    assert seen.pop("write_back") is not None
    assert seen == {
        "capacity": 192 << 30,
        "line": 64,
        "ways": 1,
        "prefetch": "no",
        "write": "back",
    }


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (
            "capacity=192MiB ways=4 line=256B policy=random prefetch=next_line",
            {"capacity": 192 << 20, "ways": 4, "line": 256, "prefetch": "yes", "write": "back"},
        ),
        (
            "capacity=5GiB ways=16 tags=data write=through policy=fifo",
            {"capacity": 5 << 30, "ways": 16, "line": 64, "prefetch": "no", "write": "through"},
        ),
        (  # a conflict costs a line's fetch: far more than a store that goes on
            "capacity=512MiB line=2KiB tags=data write=through",
            {"capacity": 512 << 20, "ways": 1, "line": 2048, "prefetch": "no", "write": "through"},
        ),
        (  # a store looks up sixteen ways: half of what a conflict takes
            "capacity=256MiB ways=16 line=128B channels=3",
            {"capacity": 256 << 20, "ways": 16, "line": 128, "prefetch": "no", "write": "back"},
        ),
    ],
)
def test_any_organisation_of_a_near_memory_is_found(
    overrides: str, expected: dict[str, object]
) -> None:
    keys = [f"near.{override}" for override in ("kind=cache", *overrides.split())]
    seen = organisation("optane-100", *keys)
    assert {name: seen[name] for name in expected} == expected


def test_findings_on_a_near_memory_follow_from_the_observations_alone() -> None:
    observations, _ = memory_mode.observe(
        load_model("optane-100").override("near.kind=cache", "near.capacity=1MiB"), quick=True
    )
    findings = inference.findings(observations)
    saved = ProbeResult(observations=observations, findings=findings)
    again = parse(json.loads(to_json(saved)))
    assert isinstance(again, ProbeResult)
    assert findings_of(again.observations) == findings
    assert {finding.status for finding in findings} == {IDENTIFIED}


def test_a_random_near_memory_is_the_same_for_the_same_seed(tmp_path: Path) -> None:
    texts = [random_near_model(seed) for seed in range(1, 30)]
    assert texts == [random_near_model(seed) for seed in range(1, 30)]
    for seed, text in enumerate(texts):
        file = tmp_path / f"{seed}.toml"
        file.write_text(text)
        assert load_model(file)["near.kind"] == "cache"
