"""Bandwidth, AIST and ICT on models: what the model is made of, and what the papers saw of it."""

from __future__ import annotations

import json

import pytest

from nearfar import load_model
from nearfar.inference.bandwidth import loaded_latency
from nearfar.model import Model
from nearfar.probing import aist, bandwidth, ict, points
from nearfar.probing.findings import findings_of
from nearfar.results import Observation
from nearfar.results.decode import decode, encode
from nearfar.results.findings import IDENTIFIED, Finding

PROBERS = {one.PROBER: one.plan for one in (bandwidth, aist, ict)}


def observe(model: Model, *probers: str) -> list[Observation]:
    seen: list[Observation] = []
    for name in probers or PROBERS:
        made, interrupted = points.observe(model, name, PROBERS[name], quick=True)
        assert not interrupted
        seen += made
    return seen


@pytest.fixture(scope="module")
def optane() -> list[Observation]:
    return observe(load_model("optane-100"))


@pytest.fixture(scope="module")
def findings(optane: list[Observation]) -> dict[str, Finding]:
    return {finding.name: finding for finding in findings_of(optane)}


def test_random_accesses_are_efficient_from_the_mediums_block_on(
    findings: dict[str, Finding],
) -> None:
    assert findings["bandwidth.read.knee"].value == 256
    assert findings["bandwidth.write.knee"].value == 256


def test_dram_has_no_knee_at_the_block_of_another_medium() -> None:
    dram = observe(load_model("ddr4-2666"), "bandwidth")
    knees = [f.value for f in findings_of(dram) if f.name.endswith(".knee")]
    # What there is comes from the core: single lines bring the most instructions.
    assert knees
    assert 256 not in knees


def test_too_many_threads_move_less(findings: dict[str, Finding]) -> None:
    read, written = (findings[f"bandwidth.{kind}.fall"].value for kind in ("read", "write"))
    assert isinstance(read, float)
    assert isinstance(written, float)
    # OptaneStudy, one DIMM, sequential loads of 256 B: 6,208 MB/s with 8 threads, 6,669 at best.
    assert read == pytest.approx(6208 / 6669, rel=0.05)
    assert written < 0.95


def test_latency_grows_with_load_and_so_does_the_rate(optane: list[Observation]) -> None:
    rates, latencies = zip(*loaded_latency(optane), strict=True)
    assert list(latencies) == sorted(latencies)
    assert rates[1] > 1.5 * rates[0]
    assert latencies[-1] > 2 * latencies[0]


def test_a_loaded_memory_is_slower_than_an_idle_one(findings: dict[str, Finding]) -> None:
    idle, loaded = (findings[f"bandwidth.latency.{one}"].value for one in ("idle", "loaded"))
    assert isinstance(idle, float)
    assert isinstance(loaded, float)
    assert loaded > 1.2 * idle


def test_a_read_waits_for_the_writer_beside_it(findings: dict[str, Finding]) -> None:
    idle, write = (findings[f"bandwidth.latency.{one}"].value for one in ("idle", "write"))
    assert isinstance(idle, float)
    assert isinstance(write, float)
    assert write > 2 * idle  # 2.7 times on the measured DIMM


def test_write_back_costs_a_reader_less_than_a_write(findings: dict[str, Finding]) -> None:
    read, back = (findings[f"aist.{one}.latency"].value for one in ("read", "write_back"))
    assert isinstance(read, float)
    assert isinstance(back, float)
    assert read < back < 1.5 * read
    rates = [findings[f"aist.{one}.bandwidth"].value for one in ("read", "write_back")]
    assert all(isinstance(rate, float) for rate in rates)


def test_dependent_reads_are_slower_than_random_and_random_than_sequential(
    findings: dict[str, Finding],
) -> None:
    order = [findings[f"ict.{one}.read"].value for one in ("sequential", "random", "dependent")]
    assert all(isinstance(value, float) for value in order)
    assert order == sorted(order, key=float)


def test_a_model_says_what_it_cannot_tell(findings: dict[str, Finding]) -> None:
    for name, reason in (("ict.value", "holds nothing"), ("ict.remote", "one memory")):
        assert findings[name].status != IDENTIFIED
        assert reason in findings[name].reason


def test_findings_follow_from_the_saved_observations_alone(optane: list[Observation]) -> None:
    saved = json.dumps([encode(one) for one in optane])
    loaded = [decode(Observation, one, "saved") for one in json.loads(saved)]
    again = [encode(finding) for finding in findings_of(loaded)]
    assert json.dumps(again) == json.dumps([encode(one) for one in findings_of(optane)])


def test_a_model_says_the_same_twice() -> None:
    model = load_model("optane-100")
    assert observe(model, "bandwidth") == observe(model, "bandwidth")


def test_a_device_of_one_rate_has_no_knee(optane: list[Observation]) -> None:
    flat = [
        Observation(one.id, one.prober, one.pattern, one.accesses, ns_per_access=10.0)
        for one in optane
    ]
    knees = [f for f in findings_of(flat) if f.name.endswith(".knee")]
    assert [finding.status for finding in knees if finding.status == IDENTIFIED] == []
