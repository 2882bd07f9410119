"""Caches and TLBs are found on a machine that is as noisy as a real one, and only there."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from nearfar.inference import tlb
from nearfar.inference.caches import prober as caches
from nearfar.inference.caches.plan import Experiment
from nearfar.probing.caches import observe_calm
from nearfar.probing.walk import Session
from nearfar.results import Observation, Precondition
from nearfar.results.decode import decode, encode
from nearfar.results.findings import IDENTIFIED, Finding
from noisy_machine import Cache, NoisyMachine

KIB, MIB = 1 << 10, 1 << 20
BARE = (Precondition("virtualisation", "ok", "none seen", ""),)
GUEST = (Precondition("virtualisation", "bad", "a virtual machine", ""),)

SERVER = (Cache(48 * KIB, 12, 1.0), Cache(1 * MIB, 16, 3.5), Cache(8 * MIB, 16, 12.0))


def observe(machine: NoisyMachine, judged: tuple[Precondition, ...] = BARE) -> list[Observation]:
    observations, interrupted = observe_calm(machine, quick=True, repetitions=10, judged=judged)
    assert not interrupted
    return observations


def found(observations: list[Observation]) -> dict[str, Finding]:
    return {f.name: f for f in tlb.findings(observations) + caches.findings(observations)}


@pytest.fixture(scope="module")
def server() -> list[Observation]:
    return observe(NoisyMachine(SERVER, tlb=96))


@pytest.fixture(scope="module")
def server_findings(server: list[Observation]) -> dict[str, Finding]:
    return found(server)


@pytest.fixture(scope="module")
def without_huge_pages() -> list[Observation]:
    return observe(NoisyMachine(SERVER, tlb=96, huge_pages=False))


@pytest.mark.parametrize(("size", "ways"), [(48 * KIB, 12), (64 * KIB, 16), (16 * KIB, 4)])
def test_the_first_cache_is_found_exactly(size: int, ways: int) -> None:
    machine = NoisyMachine((Cache(size, ways, 1.2), Cache(512 * KIB, 8, 4.0)), seed=ways)
    seen = found(observe(machine))
    expected = {"capacity": size, "ways": ways, "sets": size // 64 // ways, "entry": 64}
    assert {name: seen[f"cache.1.{name}"].value for name in expected} == expected


def slowed(observations: list[Observation], above: int, upto: int, ns: float) -> list[Observation]:
    """With every walk over a region of so many bytes slower by `ns`."""

    def of(one: Observation) -> Observation:
        if one.pattern.get("order", {}).get("kind") != "dense" or one.prober != "caches":
            return one
        inside = above < one.pattern["order"]["params"]["lines"] * 64 <= upto
        return replace(one, samples=[x + ns for x in one.samples or ()]) if inside else one

    return [of(one) for one in observations]


FIRST = ("cache.1.capacity", "cache.1.ways", "cache.1.sets")


def test_a_neighbour_that_takes_a_part_of_the_first_cache_does_not_hide_its_size(
    server: list[Observation],
) -> None:
    seen = found(slowed(server, 40 * KIB, 48 * KIB, 0.3 * 2.5))
    assert [seen[name].value for name in FIRST] == [48 * KIB, 12, 64]
    assert "took a part" in seen["cache.1.capacity"].reason


def test_a_curve_that_misses_throughout_contradicts_the_conflicts(
    server: list[Observation],
) -> None:
    seen = found(slowed(server, 40 * KIB, 48 * KIB, 2.5))
    assert [seen[name].status for name in FIRST] == ["not_identifiable"] * 3
    low, high = seen["cache.1.capacity"].interval or (0, 0)
    assert low <= 40 * KIB
    assert high >= 48 * KIB


def test_a_curve_and_conflicts_that_disagree_are_looked_at_again(
    server: list[Observation],
) -> None:
    machine = NoisyMachine(SERVER, tlb=96, seed=1)
    spoilt = slowed(server, 40 * KIB, 48 * KIB, 2.5)
    assert caches.DOUBTS[0](server, True) == []
    wanted = caches.DOUBTS[0](spoilt, True)
    assert min(one.params["lines"] for one in wanted) * 64 > 40 * KIB
    session = Session(machine, observations=list(spoilt))
    session.conduct(caches.DOUBTS[:1], True, 6, math.inf)
    assert found(session.observations)["cache.1.capacity"].value == 48 * KIB


def test_few_repetitions_are_enough_for_a_conflict_walk(
    without_huge_pages: list[Observation],
) -> None:
    counts: dict[str, set[int]] = {}
    for one in without_huge_pages:
        if one.samples and one.prober == "caches" and one.pattern["pages"] == "4KiB":
            counts.setdefault(one.pattern["order"]["kind"], set()).add(len(one.samples))
    assert counts["strided"] == {3}
    assert min(counts["windows"]) > 5


@pytest.mark.parametrize("line", [128])
def test_a_line_of_another_length_is_found(line: int) -> None:
    machine = NoisyMachine((Cache(32 * KIB, 8, 1.2, line=line), Cache(MIB, 8, 4.0, line=line)))
    assert found(observe(machine))["cache.1.entry"].value == line


def test_a_line_between_distances_that_were_not_measured_has_bounds(
    server: list[Observation],
) -> None:
    """As after an early Ctrl-C: 32, 64 and 128 B lines would all look alike."""
    kept = [
        one
        for one in server
        if not 24 < one.pattern.get("order", {}).get("params", {}).get("distance", 0) < 128
    ]
    seen = found(kept)["cache.1.entry"]
    assert seen.status != IDENTIFIED
    assert seen.interval == (25, 128)


@pytest.mark.parametrize("policy", ["lru", "fifo"])
def test_lru_and_fifo_are_told_apart(policy: str) -> None:
    machine = NoisyMachine((Cache(32 * KIB, 8, 1.0, policy), Cache(MIB, 16, 4.0)), seed=3)
    assert found(observe(machine))["cache.1.policy"].value == policy


@pytest.mark.parametrize(("size", "ways"), [(256 * KIB, 4), (2 * MIB, 16)])
def test_the_second_caches_interval_holds_its_size(size: int, ways: int) -> None:
    levels = (Cache(32 * KIB, 8, 1.2), Cache(size, ways, 4.0), Cache(16 * MIB, 16, 14.0))
    capacity = found(observe(NoisyMachine(levels, seed=6)))["cache.2.capacity"]
    assert capacity.interval is not None
    low, high = capacity.interval
    assert capacity.status == IDENTIFIED
    assert low <= size <= high
    assert high < (3 if ways == 4 else 2.2) * low


def test_every_repetition_lies_on_pages_of_its_own(server: list[Observation]) -> None:
    chains = [one for one in server if one.samples]
    assert all(len(one.samples or ()) >= 2 for one in chains)


def test_the_first_tlb_is_found_to_an_entry(server_findings: dict[str, Finding]) -> None:
    assert server_findings["tlb.1.entries"].value == 96


def test_a_cache_that_ends_first_is_not_taken_for_a_tlb() -> None:
    machine = NoisyMachine((Cache(2 * KIB, 2, 1.0), Cache(MIB, 16, 4.0)), tlb=512)
    entries = found(observe(machine))["tlb.1.entries"]
    assert entries.status != IDENTIFIED
    assert "side by side" in entries.reason


def test_whole_pages_tell_the_second_caches_ways(server_findings: dict[str, Finding]) -> None:
    assert server_findings["tlb.page"].value == 2 * MIB
    low, high = server_findings["cache.2.ways"].interval or (0, 0)
    assert low <= 16 <= high


def test_split_pages_are_seen_and_refused() -> None:
    seen = found(observe(NoisyMachine(SERVER, tlb=96, split=True)))
    assert seen["tlb.page"].value == 4096
    assert seen["cache.2.ways"].status != IDENTIFIED
    assert "split" in seen["cache.2.ways"].reason


def test_pages_that_are_not_granted_are_a_reason(without_huge_pages: list[Observation]) -> None:
    seen = found(without_huge_pages)
    assert seen["tlb.page"].status != IDENTIFIED
    assert "granted no 2 MiB pages" in seen["cache.2.ways"].reason


def test_a_shared_last_cache_is_not_given_a_size() -> None:
    machine = NoisyMachine(SERVER, memory_bytes=32 * MIB)
    seen = found(observe(machine, GUEST))["cache.3.capacity"]
    assert seen.status != IDENTIFIED
    assert "a virtual machine" in seen.reason


def test_how_much_of_a_shared_last_cache_serves_is_found() -> None:
    machine = NoisyMachine(SERVER, memory_bytes=64 * MIB)
    seen = found(observe(machine, GUEST))["cache.3.share"]
    assert seen.status == IDENTIFIED
    assert seen.interval is not None
    assert seen.interval[0] <= 8 * MIB <= seen.interval[1]
    assert "while this was measured" in seen.reason


def test_no_share_is_claimed_of_a_last_cache_whose_end_is_not_seen() -> None:
    machine = NoisyMachine(SERVER, memory_bytes=10 * MIB)
    seen = found(observe(machine, GUEST))["cache.3.share"]
    assert seen.status != IDENTIFIED


def test_in_a_virtual_machine_an_unseen_thread_may_hold_half_of_the_second_cache() -> None:
    """What is left of 512 KiB beside another thread behaves as 256 KiB do."""
    left = (Cache(32 * KIB, 8, 1.0), Cache(256 * KIB, 8, 3.5), Cache(8 * MIB, 16, 12.0))
    observations = observe(NoisyMachine(left, huge_pages=False), GUEST)
    seen = found(observations)["cache.2.capacity"]
    assert seen.interval is not None
    assert seen.interval[0] <= 256 * KIB
    assert seen.interval[1] >= 512 * KIB
    assert "which a virtual machine does not see" in seen.reason


def test_a_last_cache_of_ones_own_is_found() -> None:
    machine = NoisyMachine(SERVER, memory_bytes=64 * MIB)
    seen = found(observe(machine))["cache.3.capacity"]
    assert seen.interval is not None
    assert seen.interval[0] <= 8 * MIB <= seen.interval[1]


def test_a_device_without_caches_has_none() -> None:
    flat = NoisyMachine((Cache(64, 1, 100.0),), memory_ns=100.0, tlb_ns=0.0, noise=0.03)
    assert [f for f in found(observe(flat)).values() if f.status == IDENTIFIED] == []


@pytest.mark.parametrize("seed", range(2))
def test_a_device_of_random_latency_has_no_structure(seed: int) -> None:
    flat = NoisyMachine((Cache(64, 1, 50.0),), memory_ns=50.0, tlb_ns=0.0, noise=0.5, seed=seed)
    assert [f.name for f in found(observe(flat)).values() if f.status == IDENTIFIED] == []


def test_findings_follow_from_the_saved_observations_alone(
    server: list[Observation], server_findings: dict[str, Finding]
) -> None:
    saved = json.dumps([encode(one) for one in server])
    loaded = [decode(Observation, one, "saved") for one in json.loads(saved)]
    assert json.dumps(encode_all(found(loaded))) == json.dumps(encode_all(server_findings))


def encode_all(findings: dict[str, Finding]) -> list[object]:
    return [encode(finding) for finding in findings.values()]


def test_ctrl_c_keeps_what_was_walked() -> None:
    machine = NoisyMachine(SERVER)
    original = machine.walk

    def walk(*arguments: object) -> object:
        if machine.walks == 3:
            raise KeyboardInterrupt
        return original(*arguments)  # type: ignore[arg-type]

    machine.walk = walk  # type: ignore[method-assign,assignment]
    session = Session(machine)
    batch = [Experiment("caches", "dense", {"lines": lines}) for lines in (16, 32, 64, 128)]
    session.conduct([lambda *_: batch], True, 5, 10.0)
    assert session.interrupted
    assert sum(len(one.samples or ()) for one in session.observations) == 3
