"""Bandwidth, AIST and ICT on a machine that a test makes up: what they ask and what they find."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from host_standin import HostStandIn
from nearfar.inference.bandwidth import loaded_latency
from nearfar.measuring import machine, run
from nearfar.measuring.host.target import Host
from nearfar.probing import aist, bandwidth, ict, points
from nearfar.probing.findings import findings_of
from nearfar.results import Observation
from nearfar.results.decode import decode, encode
from nearfar.results.findings import IDENTIFIED, Finding

PROBERS = {one.PROBER: one.plan for one in (bandwidth, aist, ict)}


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> HostStandIn:
    """Four processors on node 0, with memory beside them; 100 ns a line unless a test says so."""
    core = HostStandIn()
    monkeypatch.setattr(run, "load_host_core", lambda: core)
    monkeypatch.setattr(machine, "processors", lambda: [0, 1, 2, 3])
    monkeypatch.setattr(machine, "free_memory", lambda _: 8 << 30)
    monkeypatch.setattr(machine, "memory_nodes", lambda: [0])
    monkeypatch.setattr(machine, "node_of", lambda _: 0)
    return core


def observed(prober: str, target: Host | None = None, quick: bool = False) -> list[Observation]:
    target = target or Host()
    seen, interrupted = points.observe(target, prober, PROBERS[prober], quick=quick)
    assert not interrupted
    if prober == ict.PROBER:
        seen += ict.across_nodes(target, quick=quick)[0]
    return seen


def found(seen: list[Observation]) -> dict[str, Finding]:
    """What follows, and that it is the same from a saved file."""
    findings = findings_of(seen)
    saved = json.loads(json.dumps([encode(one) for one in seen]))
    loaded = [decode(Observation, one, "saved") for one in saved]
    again = [encode(finding) for finding in findings_of(loaded)]
    assert json.dumps(again) == json.dumps([encode(one) for one in findings])
    loaded_findings = [decode(Finding, json.loads(json.dumps(one)), "saved") for one in again]
    return {finding.name: finding for finding in loaded_findings}


# Write-back


def test_a_list_that_is_changed_as_it_is_read_gives_the_write_back_latency(
    host: HostStandIn,
) -> None:
    host.ns = lambda asked: 130.0 if asked["op"] == "load+store" else 90.0
    findings = found(observed("aist"))
    assert findings["aist.read.latency"].value == 90
    assert findings["aist.write_back.latency"].value == 130
    assert findings["aist.write_back.bandwidth"].value == pytest.approx(4 * 64 / 130, abs=1e-3)


def test_a_write_back_latency_that_still_grows_is_not_given(host: HostStandIn) -> None:
    host.ns = lambda asked: float(asked.get("region", 0)) / 1e6 + 50
    finding = found(observed("aist"))["aist.write_back.latency"]
    assert finding.status != IDENTIFIED
    assert "still grows" in finding.reason


# Latency under load


def busy(asked: dict[str, Any]) -> float:
    """A read beside others that come every so many ns."""
    return 100.0 + 4000.0 / (10.0 + float(asked.get("delay_ns", 1e6)))


def test_latency_under_load_is_a_table_over_the_delays(host: HostStandIn) -> None:
    host.ns = busy
    host.moved = lambda asked: 64.0 * 3 / (10.0 + asked["delay_ns"])
    seen = observed("bandwidth")
    moved, latencies = zip(*loaded_latency(seen), strict=True)
    assert len(moved) == 9
    assert list(latencies) == sorted(latencies)
    finding = found(seen)["bandwidth.latency.loaded"]
    assert finding.value == 500
    assert tuple(finding.interval or ()) == (
        300,
        500,
    )  # the delay before moves less than nine tenths
    asked = [one for one in host.asked if one["kind"] == "contention" and one.get("op") == "ntload"]
    assert {len(one["cpus"]) for one in asked} == {4}


def test_one_processor_alone_cannot_load_the_memory(
    host: HostStandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "processors", lambda: [0])
    finding = found(observed("bandwidth"))["bandwidth.latency.loaded"]
    assert finding.status != IDENTIFIED
    assert "second processor" in finding.reason
    assert host.asked


# The threads that it takes


def of_threads(*gb_per_s: tuple[float, float, float]) -> Finding:
    """By 1, 2, 4... threads, what they move in GB/s: the median and the ends of its interval."""
    seen = []
    for threads, rates in zip((1, 2, 4, 8), gb_per_s, strict=False):
        ns, high, low = (64 * threads / rate for rate in rates)
        pattern = {
            **{"kind": "point", "measured": "stream", "op": "load", "reads_percent": 100},
            **{"threads": threads, "access_bytes": 256, "stride_bytes": 256},
        }
        name = f"bandwidth.{threads}"
        seen.append(
            Observation(name, "bandwidth", pattern, 1, ns_per_access=ns, interval=(low, high))
        )
    return found(seen)["bandwidth.read.threads"]


def test_the_threads_for_the_peak_are_known_where_their_rates_are() -> None:
    finding = of_threads((5, 5, 5), (10, 9.9, 10.1), (10, 9.9, 10.1), (9, 9, 9))
    assert (finding.value, list(finding.interval or ())) == (2, [2, 2])


def test_threads_whose_rates_are_noisy_stand_between_bounds() -> None:
    finding = of_threads((5, 4, 9.8), (9.8, 9, 10.5), (10, 9, 11), (8, 8, 8))
    assert (finding.value, list(finding.interval or ())) == (2, [1, 4])


def test_noise_that_may_hide_a_rise_leaves_the_threads_open() -> None:
    finding = of_threads((5, 5, 5), (9.8, 9, 10.5), (10, 9, 11))
    assert finding.status != IDENTIFIED
    assert list(finding.interval or ()) == [2, 4]
    assert "still rising with the most, or noise hides that it is not" in finding.reason


# The value that is written


def bits_changed(asked: dict[str, Any]) -> float:
    both = zip(asked["value"], asked["held"], strict=True)
    return sum((one ^ other).bit_count() for one, other in both) / 512


def of_values(host: HostStandIn, noise: float, effect: float) -> Finding:
    rng = np.random.default_rng(1)

    def ns(asked: dict[str, Any]) -> float:
        slower = 1 + effect * bits_changed(asked) if asked.get("value") else 1.0
        return float(10 * slower * np.exp(noise * rng.standard_normal()))

    host.ns = ns
    return found(observed("ict"))["ict.value"]


def test_writes_that_take_alike_whatever_the_value_show_no_comparison(host: HostStandIn) -> None:
    finding = of_values(host, noise=0.02, effect=0.0)
    assert (finding.value, finding.status) == ("no", IDENTIFIED)
    assert "no comparison of data seen" in finding.reason
    values = {one["value"] for one in host.asked if one.get("value")}
    assert len(values) == 11


def test_memory_that_writes_only_the_bits_that_change_is_seen(host: HostStandIn) -> None:
    finding = of_values(host, noise=0.02, effect=0.3)
    assert (finding.value, finding.status) == ("yes", IDENTIFIED)


def test_noise_that_could_hide_an_effect_is_said_to(host: HostStandIn) -> None:
    finding = of_values(host, noise=0.6, effect=0.0)
    assert finding.status != IDENTIFIED
    assert "too noisy" in finding.reason


def test_noise_alone_is_hardly_ever_taken_for_a_comparison(host: HostStandIn) -> None:
    del host
    from nearfar.inference import ict_value

    rng = np.random.default_rng(2)
    words = [f"0x{(1 << 8 * count) - 1:016x}" for count in range(9)]
    wrong = 0
    for _ in range(200):
        seen = [
            Observation("", "ict", {"op": op, "value": word, "held": "0x00"}, 1, ns_per_access=ns)
            for op in ("store", "ntstore")
            for word, ns in zip(words, 10 + rng.standard_normal(9), strict=True)
        ]
        wrong += ict_value.finding(seen).value == "yes"
    assert wrong <= 6  # one in a hundred


# Another node


def test_on_one_node_nothing_is_remote(host: HostStandIn) -> None:
    finding = found(observed("ict"))["ict.remote"]
    assert host.asked
    assert finding.status != IDENTIFIED
    assert "on one node alone" in finding.reason


@pytest.mark.parametrize("target", [Host(), Host(node=0), Host(node=2), Host(node=1)])
def test_a_read_on_another_node_takes_longer_by_so_much(
    host: HostStandIn, target: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "memory_nodes", lambda: [0, 1, 2])
    host.ns = lambda asked: {1: 140.0, 2: 190.0}.get(asked["node"], 90.0)
    finding = found(observed("ict", target))["ict.remote"]
    far = target.node if target.node in (1, 2) else 1
    assert finding.value == (100 if far == 2 else 50)
    assert f"on node {far} and" in finding.reason


def test_a_file_lies_on_a_node_that_is_not_known(
    host: HostStandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "memory_nodes", lambda: [0, 1])
    host.capacity = 8 << 30
    finding = found(observed("ict", Host(file="x")))["ict.remote"]
    assert finding.status != IDENTIFIED
    assert "file's node" in finding.reason


def test_a_node_that_answers_sooner_is_no_nearer(
    host: HostStandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "memory_nodes", lambda: [0, 1])
    host.ns = lambda asked: 80.0 if asked["node"] == 1 else 90.0
    finding = found(observed("ict"))["ict.remote"]
    assert finding.status != IDENTIFIED
    assert tuple(finding.interval or ()) == (0, 0)


def test_nodes_that_differ_by_less_than_noise_are_not_told_apart(
    host: HostStandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "memory_nodes", lambda: [0, 1])
    times = np.random.default_rng(3)
    host.ns = lambda _: float(100 + 10 * times.standard_normal())
    finding = found(observed("ict"))["ict.remote"]
    assert finding.status != IDENTIFIED
    assert "no more than noise" in finding.reason
