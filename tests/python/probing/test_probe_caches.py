"""A model's own caches and TLBs are found by the walks and the inference that find a machine's."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from conftest import Run
from nearfar.inference import tlb
from nearfar.inference.caches.plan import Experiment
from nearfar.model import Model, load
from nearfar.model.random.cpu import random_cpu_model
from nearfar.probing.caches import observe
from nearfar.probing.findings import findings_of
from nearfar.probing.model_walk import CoreWalker
from nearfar.probing.walk import Session
from nearfar.results import Observation
from nearfar.results.decode import decode, encode
from nearfar.results.findings import Finding


def observed(model: Model) -> list[Observation]:
    observations, interrupted = observe(model, quick=True)
    assert not interrupted
    return observations


def found(model: Model) -> dict[str, Finding]:
    return {finding.name: finding for finding in findings_of(observed(model))}


@pytest.fixture(scope="module")
def optane() -> list[Observation]:
    return observed(load("optane-100"))


def test_the_presets_caches_and_tlbs_come_back(optane: list[Observation]) -> None:
    values = {finding.name: finding.value for finding in findings_of(optane)}
    expected = {
        "cache.1.entry": 64,
        "cache.1.capacity": 32 << 10,
        "cache.1.ways": 8,
        "cache.1.policy": "plru",
        "cache.1.latency": 2.3,
        "cache.2.capacity": 1 << 20,
        "cache.2.ways": 16,
        "cache.2.latency": 6.4,
        "tlb.1.entries": 64,
        "tlb.1.miss": 3.2,
        "tlb.2.entries": 1536,
        "tlb.page": 2 << 20,
    }
    assert {name: values[name] for name in expected} == expected


def test_findings_on_caches_follow_from_the_saved_observations_alone(
    optane: list[Observation],
) -> None:
    saved = json.loads(json.dumps([encode(one) for one in optane]))
    loaded = [decode(Observation, one, "saved") for one in saved]
    assert [encode(one) for one in findings_of(loaded)] == [
        encode(one) for one in findings_of(optane)
    ]


def test_the_first_caches_replacement_is_told() -> None:
    model = load("optane-100").override("cpu.l1.policy=qlru")
    assert found(model)["cache.1.policy"].value == "qlru"


def test_without_caches_none_are_claimed() -> None:
    seen = observed(load("optane-100").override("cpu.caches=false"))
    assert findings_of(seen) == []
    assert seen[0].pattern["refused"] == "cpu.caches=false: the core has no caches to walk"


def test_ctrl_c_while_the_next_walks_are_chosen_keeps_those_that_were_made() -> None:
    def interrupted(observations: Sequence[Observation], quick: bool) -> list[Experiment]:
        del observations, quick
        raise KeyboardInterrupt

    session = Session(CoreWalker(load("optane-100")))
    session.conduct((tlb.STAGES[0], interrupted, tlb.STAGES[0]), True, 1, math.inf)
    assert session.interrupted
    assert len(session.observations) == len(tlb.STAGES[0]((), True)) > 0


def test_random_processors_are_possible_ones(tmp_path: Path) -> None:
    file = tmp_path / "cpu.toml"
    for seed in range(30):
        file.write_text(random_cpu_model(seed), encoding="utf-8")
        assert load(file)["cpu.caches"] is True


def test_the_same_seed_draws_the_same_processor(nearfar: Run) -> None:
    status, text, _ = nearfar("model", "random", "--cpu", "--seed", "5")
    assert status == 0
    assert text == random_cpu_model(5) != random_cpu_model(6)
