"""Conflict tests find a simulated buffer's organisation, and the first cache of a machine."""

from __future__ import annotations

import pytest

from host_standin import HostStandIn
from nearfar import load_model
from nearfar.infer import memory_mode as inference
from nearfar.infer import write_back
from nearfar.probe import memory_mode
from nearfar.probe.host_walk import HostWalker
from nearfar.results import Observation
from nearfar.results.findings import IDENTIFIED, Finding
from noisy_machine import Cache, NoisyMachine

KIB = 1 << 10


def found(target: object) -> dict[str, Finding]:
    observations, _ = memory_mode.observe(target, quick=True)  # type: ignore[arg-type]
    return {finding.name: finding for finding in inference.findings(observations)}


@pytest.mark.parametrize(
    ("entries", "ways", "entry"),
    [(64, 64, 256), (64, 4, 256), (256, 1, 256), (128, 16, 512), (16, 2, 1024)],
)
def test_a_simulated_buffers_organisation_is_found(entries: int, ways: int, entry: int) -> None:
    buffer = "nvdimm.buffer.1"
    model = load_model("optane-100").override(
        f"{buffer}.entries={entries}", f"{buffer}.ways={ways}", f"{buffer}.entry={entry}B"
    )
    seen = found(model)
    assert seen["near.ways"].value == ways
    assert seen["near.capacity"].value == entries * entry
    assert seen["near.line"].value == entry


def test_the_first_cache_stands_for_a_near_memory() -> None:
    seen = found(NoisyMachine((Cache(32 * KIB, 8, 1.0), Cache(512 * KIB, 16, 4.0))))
    assert seen["near.ways"].value == 8
    assert seen["near.capacity"].value == 32 * KIB
    assert seen["near.line"].value == 64
    assert seen["near.prefetch"].value == "no"


def test_memory_without_anything_near_has_no_near_memory() -> None:
    assert [f for f in found(load_model("ddr4-2666")).values() if f.status == IDENTIFIED] == []


@pytest.mark.parametrize("waits", [0.0, 1.5])
def test_what_a_reader_waits_for_a_changed_line_to_leave_is_found_or_said_to_be_nothing(
    waits: float,
) -> None:
    caches = (Cache(48 << 10, 12, 1.0), Cache(1 << 20, 16, 5.0))
    finding = found(NoisyMachine(caches, write_back_ns=waits, seed=4))["near.write_back"]
    low, high = finding.interval or (0, 0)
    assert low <= waits <= high
    assert finding.status == (IDENTIFIED if waits else "not_identifiable")
    assert waits or "while the next read waits" in finding.reason


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
