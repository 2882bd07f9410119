"""Families of bandwidth-latency curves: what is asked for, played on a model and on a machine."""

from __future__ import annotations

import json
from typing import Any

import pytest

import nearfar.measuring as measuring
from host_standin import HostStandIn
from nearfar import InputError
from nearfar.cli.main import main
from nearfar.measuring import Contention, Effort, Loaded, machine, run
from nearfar.report.pages.measure import measurement_body
from nearfar.report.text import result_text
from nearfar.results import MeasureResult, Point, parse, to_json

MODEL = (
    "model:ddr4-2666,channels=1,cpu.cores=4,cpu.l2.size=64KiB,cpu.l3.size=176KiB,cpu.l3.slices=1"
)
SMALL: dict[str, Any] = {"area": "8MiB", "lines": 200}


@pytest.fixture(scope="module")
def family() -> MeasureResult:
    return measuring.measure(MODEL, Loaded(reads="50%,75%,100%", points=5, **SMALL))


def curves(result: MeasureResult) -> dict[int, list[Point]]:
    found: dict[int, list[Point]] = {}
    for point in result.points:
        assert point.reads_percent is not None
        found.setdefault(point.reads_percent, []).append(point)
    return found


def total(point: Point) -> float:
    assert point.total_gb_per_s is not None
    return point.total_gb_per_s


# The pattern


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"reads": "40%"}, "reads: found 40%, expected 50% or more"),
        ({"reads": "75%,75%"}, "reads: found 75% twice"),
        ({"reads": "101%"}, "reads: found '101%', expected 0% to 100%"),
        ({"reads": ""}, "reads: a value is missing"),
        ({"points": 2}, "points: found 2, expected at least 3"),
        ({"op": "load"}, "op: "),
        ({"area": 512}, "area: found 512 B, expected at least 1024 B"),
    ],
)
def test_a_family_that_cannot_be_measured_is_refused(given: Any, complaint: str) -> None:
    with pytest.raises(InputError, match="^" + complaint.replace("(", r"\(")):
        Loaded(**given)


@pytest.mark.parametrize("percent", [50, 60, 75, 99, 100])
def test_a_cached_store_counts_as_a_read_and_a_write_of_the_traffic(percent: int) -> None:
    stores, accesses = Loaded().mix(percent)
    assert accesses / (accesses + stores) == pytest.approx(percent / 100)
    assert Loaded().traffic(percent) == pytest.approx(64 * (1 + stores / accesses))


@pytest.mark.parametrize("percent", [0, 30, 100])
def test_a_non_temporal_store_counts_as_a_write_alone(percent: int) -> None:
    pattern = Loaded(op="ntstore", reads=percent)
    assert pattern.mix(percent) == (100 - percent, 100)
    assert pattern.traffic(percent) == 64


def test_pauses_offer_even_parts_of_the_bandwidth_without_a_pause() -> None:
    pauses = Loaded(points=6).pauses_ns(100.0, 100, threads=8)
    assert [8 * 64 / pause for pause in pauses] == pytest.approx([100, 75, 50, 25])


# On a model


def test_every_share_goes_from_unpaced_to_idle(family: MeasureResult) -> None:
    assert list(curves(family)) == [50, 75, 100]
    for points in curves(family).values():
        assert len(points) == 5
        assert points[0].delay_ns == 0
        assert points[-1].delay_ns is None
        pauses = [point.delay_ns for point in points[:-1]]
        assert pauses == sorted(pauses, key=lambda pause: pause or 0)


def test_longer_pauses_leave_less_bandwidth_and_the_reader_alone_the_least(
    family: MeasureResult,
) -> None:
    for points in curves(family).values():
        found = [total(point) for point in points]
        assert found == sorted(found, reverse=True)
        assert points[-1].ns_per_line < points[0].ns_per_line


def test_what_was_read_and_written_makes_the_total(family: MeasureResult) -> None:
    for point in family.points:
        assert point.read_gb_per_s is not None
        assert point.write_gb_per_s is not None
        assert point.read_gb_per_s + point.write_gb_per_s == pytest.approx(total(point))
        assert total(point) >= 0.98 * point.gb_per_s


def test_loads_alone_write_nothing(family: MeasureResult) -> None:
    assert all(point.write_gb_per_s == 0 for point in curves(family)[100])


@pytest.mark.parametrize("percent", [50, 75])
def test_generators_move_the_share_of_reads_that_was_asked_for(
    family: MeasureResult, percent: int
) -> None:
    unpaced = curves(family)[percent][0]
    assert unpaced.read_gb_per_s is not None
    others = unpaced.read_gb_per_s - unpaced.gb_per_s
    assert others / (total(unpaced) - unpaced.gb_per_s) == pytest.approx(percent / 100, abs=0.05)


def test_the_same_seed_gives_the_same_points_and_another_one_others(
    family: MeasureResult,
) -> None:
    pattern: dict[str, Any] = {"reads": "75%", "points": 5, **SMALL}
    again = measuring.measure(MODEL, Loaded(**pattern))
    assert again.points == tuple(curves(family)[75])
    assert measuring.measure(MODEL, Loaded(**pattern, seed=2)).points != again.points


def test_non_temporal_stores_make_shares_below_a_half() -> None:
    result = measuring.measure(MODEL, Loaded(op="ntstore", reads="25%", points=3, **SMALL))
    unpaced = result.points[0]
    assert unpaced.write_gb_per_s is not None
    assert unpaced.write_gb_per_s / total(unpaced) == pytest.approx(0.75, abs=0.07)


@pytest.mark.parametrize("model", ["optane-100", "cxl-expander", "optane-memory-mode"])
def test_every_kind_of_memory_has_a_family(model: str) -> None:
    pattern = Loaded(reads="100%", points=3, threads=2, **SMALL)
    unpaced, paced, idle = measuring.measure(f"model:{model}", pattern).points
    assert total(unpaced) > total(paced) > total(idle) > 0
    assert idle.ns_per_line <= unpaced.ns_per_line


def test_areas_beyond_the_memory_are_refused_before_anything_runs() -> None:
    with pytest.raises(InputError, match=r"^area: 8589934592 B for each of 4 threads reaches"):
        measuring.measure(MODEL, Loaded(area="8GiB"))


def test_a_delay_below_the_latency_slows_threads_that_load_one_at_a_time() -> None:
    pattern = Contention(other="load", threads=2, delay="0ns,20ns,40ns", area="8MiB", reads=500)
    moved = [point.other_gb_per_s or 0 for point in measuring.measure(MODEL, pattern).points]
    ns = [2 * 64 / rate for rate in moved]
    assert ns[1] - ns[0] == pytest.approx(20, rel=0.25)
    assert ns[2] - ns[0] == pytest.approx(40, rel=0.25)


# On a machine


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> HostStandIn:
    """A machine of four processors whose answers a test can foretell."""
    core = HostStandIn()
    monkeypatch.setattr(run, "load_host_core", lambda: core)
    monkeypatch.setattr(machine, "processors", lambda: [2, 3, 1, 0])
    monkeypatch.setattr(machine, "free_memory", lambda _: 1 << 40)
    return core


def on_host(**given: Any) -> MeasureResult:
    return measuring.measure("host", Loaded(**given), effort=Effort(least=2, most=2))


def test_a_machine_has_generators_on_all_other_processors_and_none_when_idle(
    host: HostStandIn,
) -> None:
    on_host(reads="75%", points=4)
    asked = [one for one in host.asked if one.get("kind") == "loaded"]
    assert {tuple(one["cpus"]) for one in asked} == {(2, 3, 1, 0), (2,)}
    assert {(one["stores"], one["accesses"]) for one in asked} == {(25, 75)}


def test_a_machine_is_paced_by_what_it_does_without_a_pause(host: HostStandIn) -> None:
    host.moved = lambda asked: 0.3 if not asked["pause_ns"] else 3 / asked["pause_ns"]
    points = on_host(reads="100%", points=4).points
    reader = 64 / 100.0
    assert [point.delay_ns for point in points] == [
        0,
        pytest.approx(3 * 64 / (0.3 * 64 + reader)),
        pytest.approx(2 * 3 * 64 / (0.3 * 64 + reader)),
        None,
    ]
    assert [total(point) for point in points] == pytest.approx(
        [19.2 + reader, 19.2 + 2 * reader, (19.2 + 3 * reader) / 2, reader], rel=0.05
    )


def test_a_machine_counts_a_cached_store_as_read_and_written(host: HostStandIn) -> None:
    host.moved = lambda _: 0.5
    unpaced = on_host(reads="50%", points=3).points[0]
    assert unpaced.write_gb_per_s == pytest.approx(64 * 0.5)
    assert unpaced.read_gb_per_s == pytest.approx(64 * 0.5 + unpaced.gb_per_s)


@pytest.mark.usefixtures("host")
def test_a_machine_of_one_processor_has_none_for_a_generator(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(machine, "processors", lambda: [0])
    with pytest.raises(InputError, match=r"^loaded: found one processor"):
        on_host()


@pytest.mark.skipif(len(machine.processors()) < 2, reason="needs two processors")
def test_this_machine_has_a_family(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--reads", "75%", "--points", "3", "--area", "16MiB", "--lines", "2000"]
    assert main(["measure", "host", "loaded", *options, "--seconds", "0", "--json", "-"]) == 0
    points = json.loads(capsys.readouterr().out)["points"]
    assert [point["reads_percent"] for point in points] == [75, 75, 75]
    assert points[0]["write_gb_per_s"] > 0
    assert points[2]["total_gb_per_s"] == pytest.approx(points[2]["gb_per_s"])
    assert "delay_ns" not in points[2]


# Reports


def test_a_family_survives_its_file(family: MeasureResult) -> None:
    assert parse(json.loads(to_json(family))) == family


def test_text_names_the_share_the_pause_and_all_that_moved(family: MeasureResult) -> None:
    text = result_text(family)
    assert "total GB/s" in text
    assert "other GB/s" not in text
    assert "75 %" in text
    assert sum(" idle " in line for line in text.splitlines()) == 3


def test_the_page_has_one_colour_for_each_share(family: MeasureResult) -> None:
    body, targets = measurement_body(family)
    for share in (50, 75, 100):
        assert f"{share} % reads" in body
    colours = {target[3] for target in targets[0]}
    assert len(colours) == 3
