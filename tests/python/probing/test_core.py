"""What the loops of the prober `core` say, and when they say nothing."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from host_standin import HostStandIn
from nearfar.inference.core import KIND, PROBER, findings
from nearfar.measuring import machine
from nearfar.measuring.host.target import Host
from nearfar.probing import core
from nearfar.probing.findings import findings_of
from nearfar.probing.probers import HOST, Asked, fitting
from nearfar.results import Finding, Observation
from nearfar.results.decode import decode, encode

CLOCK = 4.0
CYCLE = 1 / CLOCK
MISS = 100.0
WINDOW, STORES, MISSES = 224, 56, 12


def loop_ns(asked: dict[str, object]) -> float:
    """A round's time on a made-up core of 4 GHz."""
    count = int(str(asked["count"]))
    plain = {
        "add_chain": CYCLE,
        "adds": CYCLE / 4,
        "multiply_chain": 3 * CYCLE,
        "multiplies": CYCLE,
        "loads": CYCLE / 2,
        "steady_branches": 2 * CYCLE,
        "random_branches": 2 * CYCLE + 4.0,
        "lines": 6.4,
    }
    name = str(asked["name"])
    if name in plain:
        return plain[name]
    if name == "chains":
        return MISS * max(1.0, count / MISSES)
    return MISS if count + 2 <= {"nops": WINDOW, "stores": STORES}[name] else 2 * MISS


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> HostStandIn:
    stand_in = HostStandIn()
    stand_in.ns = loop_ns
    monkeypatch.setattr(core, "load_host_core", lambda: stand_in)
    monkeypatch.setattr(machine, "free_memory", lambda _: 8 << 30)
    return stand_in


def played(quick: bool = True) -> list[Observation]:
    seen, interrupted = core.play(Asked(Host(), [PROBER], quick, [], lambda _: None))
    assert not interrupted
    return seen


def found(seen: list[Observation]) -> dict[str, Finding]:
    """What follows, and that it is the same from a saved file."""
    saved = json.loads(json.dumps([encode(one) for one in seen]))
    again = findings_of([decode(Observation, one, "saved") for one in saved])
    assert [encode(one) for one in again] == [encode(one) for one in findings_of(seen)]
    return {finding.name: finding for finding in again}


def within(finding: Finding, truth: float) -> bool:
    assert finding.interval is not None
    low, high = finding.interval
    return low <= truth <= high


def changed(
    seen: list[Observation], name: str, of: Callable[[int, float], list[float]]
) -> list[Observation]:
    """The observations with other samples of one loop, by count and ns."""
    made = []
    for one in seen:
        samples = one.samples or ()
        if one.pattern["name"] == name:
            samples = of(int(one.pattern["count"]), samples[0])
        made.append(
            Observation(one.id, one.prober, one.pattern, one.accesses, samples=tuple(samples))
        )
    return made


@pytest.mark.usefixtures("host")
def test_a_quiet_core_is_found_as_it_is() -> None:
    seen = found(played())
    assert {name: one.value for name, one in seen.items() if name.count(".") == 1} == {
        "core.clock": 4.0,
        "core.adds": 4.0,
        "core.multiplies": 1.0,
        "core.loads": 2.0,
        "core.mispredict": 8.0,
        "core.window": 220,
        "core.stores": 52,
        "core.misses": 12.0,
        "core.bandwidth": 10.0,
    }
    assert seen["core.multiply.latency"].value == 3.0


@pytest.mark.usefixtures("host")
def test_the_intervals_of_the_windows_hold_what_the_core_has() -> None:
    seen = found(played())
    assert within(seen["core.window"], WINDOW)
    assert within(seen["core.stores"], STORES)


@pytest.mark.usefixtures("host")
def test_what_l2_waits_for_is_never_claimed() -> None:
    finding = found(played())["core.l2.misses"]
    assert finding.status == "not_identifiable"
    assert "wait in L1 first" in finding.reason


@pytest.mark.usefixtures("host")
def test_a_clock_that_moves_takes_all_rates_with_it() -> None:
    seen = found(changed(played(), "add_chain", lambda _, ns: [ns, ns, 1.2 * ns]))
    assert "repetitions differ by 20%" in seen["core.clock"].reason
    for name in ("core.clock", "core.adds", "core.multiplies", "core.multiply.latency"):
        assert seen[name].status == "not_identifiable"
    assert seen["core.mispredict"].status == "identified", "it is a time, not a rate"


@pytest.mark.usefixtures("host")
def test_additions_that_are_not_executed_tell_no_clock() -> None:
    """Five a cycle in one chain: so a core that adds constants while it renames registers."""
    seen = found(changed(played(), "add_chain", lambda _, ns: [ns / 5] * 3))
    assert "as long as 15 dependent additions, expected at most 8" in seen["core.clock"].reason
    for name in ("core.clock", "core.adds", "core.multiplies", "core.multiply.latency"):
        assert seen[name].status == "not_identifiable"


@pytest.mark.usefixtures("host")
def test_the_longest_multiplication_that_cores_have_tells_the_clock() -> None:
    seen = found(changed(played(), "multiply_chain", lambda _, __: [6 * CYCLE] * 3))
    assert (seen["core.clock"].value, seen["core.multiply.latency"].value) == (4.0, 6.0)


@pytest.mark.usefixtures("host")
def test_the_interval_of_a_rate_is_that_of_the_repetitions() -> None:
    seen = found(changed(played(), "adds", lambda _, ns: [ns, ns, 1.04 * ns]))
    assert seen["core.adds"].interval == pytest.approx((4 / 1.04, 4.0), abs=1e-3)


@pytest.mark.usefixtures("host")
def test_branches_that_may_have_been_learnt_say_nothing() -> None:
    seen = found(changed(played(), "random_branches", lambda _, __: [0.6, 0.6]))
    assert "may have been learnt" in seen["core.mispredict"].reason


@pytest.mark.usefixtures("host")
def test_steady_branches_that_vary_tell_no_misprediction() -> None:
    """Else the least that one takes would be negative, which no result may hold."""
    seen = found(changed(played(), "steady_branches", lambda _, ns: [ns, ns, 20 * ns]))
    assert "repetitions differ by" in seen["core.mispredict"].reason


@pytest.mark.usefixtures("host")
def test_a_window_that_never_fills_is_not_identifiable() -> None:
    seen = found(changed(played(), "nops", lambda _, __: [MISS, MISS]))
    assert seen["core.window"].status == "not_identifiable"
    assert "overlap still" in seen["core.window"].reason


@pytest.mark.usefixtures("host")
def test_a_window_in_noise_is_not_identifiable() -> None:
    def noisy(count: int, ns: float) -> list[float]:
        return [2 * MISS if count == 64 else MISS if count == 512 else ns]

    seen = found(changed(played(), "nops", noisy))
    assert seen["core.window"].status == "not_identifiable"
    assert "too noisy" in seen["core.window"].reason


@pytest.mark.usefixtures("host")
def test_one_disturbed_repetition_does_not_move_a_window() -> None:
    calm = played()
    seen = found(changed(calm, "nops", lambda _, ns: [3 * ns, ns, ns]))
    assert seen["core.window"].value == found(calm)["core.window"].value


@pytest.mark.usefixtures("host")
@pytest.mark.parametrize(("loop", "name"), [("nops", "core.window"), ("stores", "core.stores")])
def test_repetitions_whose_lines_lay_in_a_cache_do_not_widen_a_window(loop: str, name: str) -> None:
    calm = played()
    seen = found(changed(calm, loop, lambda _, ns: [0.6 * ns, *[ns] * 6, 0.7 * ns]))
    assert seen[name].value == found(calm)[name].value


@pytest.mark.usefixtures("host")
def test_one_short_repetition_of_a_single_chain_does_not_hide_misses() -> None:
    calm = played()
    seen = found(
        changed(calm, "chains", lambda count, ns: [ns * 0.6 if count == 1 else ns, *[ns] * 4])
    )
    assert seen["core.misses"].value == found(calm)["core.misses"].value


@pytest.mark.usefixtures("host")
def test_misses_that_more_chains_would_add_to_are_not_identifiable() -> None:
    seen = found(changed(played(), "chains", lambda _, __: [MISS, MISS]))
    assert "more chains would move more" in seen["core.misses"].reason


@pytest.mark.usefixtures("host")
def test_every_finding_has_a_word_when_the_probe_ended_early() -> None:
    seen = played()
    names = {one.name for one in findings(seen)}
    for kept in range(1, len(seen)):
        assert {one.name for one in findings(seen[:kept])} == names


def test_chains_are_laid_once(host: HostStandIn) -> None:
    played()
    laid = [one["linked"] for one in host.asked if one["name"] in ("nops", "stores", "chains")]
    assert laid == [False] + [True] * (len(laid) - 1)


def test_ctrl_c_keeps_what_was_observed(host: HostStandIn) -> None:
    host.interrupt_at = 7
    seen, interrupted = core.play(Asked(Host(), [PROBER], True, [], lambda _: None))
    assert interrupted
    assert [one.pattern["kind"] for one in seen] == [KIND]


def test_the_prober_fits_this_machine_and_no_model() -> None:
    assert PROBER in [one.name for one in fitting(HOST)]
    assert PROBER not in [one.name for one in fitting("model")]
