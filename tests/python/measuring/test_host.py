"""A pattern on this machine: targets, what it asks the kernels for, how long it goes on."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

import nearfar.measuring as measuring
from host_standin import CHUNK_LINES, CHUNKS, HostStandIn
from nearfar import Chase, InputError, Interrupted, Overwrite, Stream
from nearfar.measuring import Contention, Effort, Host, WalkMemory, machine, run
from nearfar.measuring.host.target import parse_host
from nearfar.results import MeasureResult, parse, to_json

BRIEF = Effort(least=2, most=2)


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> HostStandIn:
    """A machine of four processors whose answers a test can foretell."""
    core = HostStandIn()
    monkeypatch.setattr(run, "load_host_core", lambda: core)
    monkeypatch.setattr(machine, "processors", lambda: [2, 3, 1, 0])
    monkeypatch.setattr(machine, "free_memory", lambda _: 1 << 30)
    return core


def played(
    pattern: Any, target: str = "host", effort: Effort = BRIEF, **more: Any
) -> MeasureResult:
    return measuring.measure(target, pattern, effort=effort, **more)


def measurements(core: HostStandIn) -> list[dict[str, Any]]:
    return [one for one in core.asked if "kind" in one]


# Targets


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("host", Host()),
        ("host:node=1", Host(node=1)),
        ("host:pages=2MiB", Host(pages="2MiB")),
        ("host:node=0,pages=1GiB", Host(node=0, pages="1GiB")),
        ("host:file=a/b", Host(file="a/b")),
    ],
)
def test_a_target_says_which_memory(text: str, meant: Host) -> None:
    assert parse_host(text) == meant
    assert meant.spec() == text
    assert pickle.loads(pickle.dumps(meant)) == meant


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("host:", "expected host[:node=N]"),
        ("host:pages=4kB", "found pages '4kB', expected one of 4KiB, 2MiB, 1GiB"),
        ("host:pagse=2MiB", "did you mean pages?"),
        ("host:node=one", "found node 'one', expected a whole number"),
        ("host:node", "'node' has no value"),
        ("host:file=", "'file' has no value"),
        ("host:node=0,node=1", "'node' is given twice"),
        ("host:file=a,pages=2MiB", "a file lies where it lies"),
        ("host:file=a,node=0", "a file lies where it lies"),
    ],
)
def test_an_unknown_target_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(InputError) as error:
        parse_host(text)
    assert complaint in str(error.value)
    assert "\n" not in str(error.value)


def test_only_a_named_file_may_be_destroyed(tmp_path: Path) -> None:
    file = tmp_path / "device"
    assert parse_host(f"host:file={file}", str(tmp_path / "x" / ".." / "device")).may_destroy()
    assert not parse_host(f"host:file={file}").may_destroy()
    for text in ("host", f"host:file={file}"):
        with pytest.raises(InputError, match="is not what is measured"):
            parse_host(text, str(tmp_path / "other"))


def test_a_model_holds_nothing_to_destroy() -> None:
    with pytest.raises(InputError, match="a model holds nothing"):
        measuring.measure("model:optane-100", Chase(), destructive="x")


# What is asked of the kernels


def test_a_chase_is_one_question_a_point_and_repetition(host: HostStandIn) -> None:
    result = played(Chase(region="4KiB,1MiB", op="ntload,ntstore", lines=100, seed=7))
    assert [(p.region_bytes, p.op, p.repetitions) for p in result.points] == [
        (region, op, 2) for region in (4096, 1 << 20) for op in ("ntload", "ntstore")
    ]
    asked = measurements(host)
    assert len(asked) == 8
    assert {(one["region"], one["lines"]) for one in asked} == {(4096, 128), (1 << 20, 16384)}
    assert {tuple(one["cpus"]) for one in asked} == {(2,)}
    assert {one["least_chunks"] for one in asked} == {0}


def test_every_repetition_gets_memory_of_its_own(host: HostStandIn) -> None:
    played(Chase(region="1MiB", lines=1, threads=(1, 3)), "host:node=0,pages=2MiB")
    assert sorted(one["bytes"] for one in host.mapped if one["node"] == 0) == [
        *[1 << 20] * 2,
        *[3 << 20] * 2,
    ]
    assert {one["pages"] for one in host.mapped if one["node"] == 0} == {"2MiB"}


def test_a_stride_spreads_the_blocks(host: HostStandIn) -> None:
    (point,) = played(Chase(region="4KiB", stride="4KiB", lines=1, regions="repeat")).points
    assert host.mapped[0]["bytes"] == 64 * 4096
    assert measurements(host)[0]["stride"] == 4096
    assert point.stride_bytes == 4096
    with pytest.raises(InputError, match="stride: 64 B is smaller than block, 128 B"):
        Chase(region=128, block=128, stride=64)


def test_repeated_walks_go_on_for_enough_chunks_unless_told_how_long(host: HostStandIn) -> None:
    played(Chase(region="4KiB", regions="repeat", successors="table"))
    asked = measurements(host)[0]
    assert asked["repeat"]
    assert asked["successors"] == "table"
    assert asked["least_chunks"] > 20


def test_a_stream_needs_no_more_memory_than_it_reaches(host: HostStandIn) -> None:
    played(Stream(access=64, stride="128B,random", area="64MiB", lines=1000))
    reached = {one["stride"]: one["area"] for one in measurements(host)}
    assert reached == {128: 128_000, 0: 64 << 20}


def test_lines_of_a_stream_are_those_of_all_threads(host: HostStandIn) -> None:
    played(Stream(access=64, threads=4, lines=1000, area="1MiB"))
    assert measurements(host)[0]["lines"] == 250
    assert measurements(host)[0]["cpus"] == [2, 3, 1, 0]


@pytest.mark.usefixtures("host")
def test_a_point_has_the_arithmetic_of_its_run() -> None:
    (point,) = played(Stream(access=64, threads=2, lines=1000, area="1MiB")).points
    assert point.ns_per_line == pytest.approx(100)
    assert point.gb_per_s == pytest.approx(2 * 64 / 100)
    assert point.lines == 2 * CHUNKS * CHUNK_LINES
    assert point.elapsed_ns == CHUNKS * CHUNK_LINES * 100
    assert point.nivcsw == 2
    assert point.interval_ns_per_line == pytest.approx((100, 100))


@pytest.mark.usefixtures("host")
def test_an_overwrite_keeps_every_sample() -> None:
    result = played(Overwrite(writes=1000))
    assert result.samples is not None
    assert len(result.samples) == 1000
    (point,) = result.points
    assert (point.lines, point.stalls, point.stall_ns) == (4000, 1, 60_000)
    assert (point.p50_ns, point.p99_ns, point.max_ns) == (100, 100, 60_000)


def test_contention_tells_how_many_bytes_the_other_thread_moved(host: HostStandIn) -> None:
    beside, alone = (
        played(Contention(other=other, area="1MiB")).points[0] for other in ("load", "none")
    )
    assert [one["cpus"] for one in measurements(host)] == [[2, 3]] * 2 + [[2]] * 2
    assert beside.other_gb_per_s == 5
    assert alone.threads == 1


def test_contention_is_a_point_for_each_delay_and_as_many_threads_as_were_asked_for(
    host: HostStandIn,
) -> None:
    pattern = Contention(other="ntload", threads=3, delay="1us,50ns,0ns", area="1MiB")
    result = played(pattern, effort=Effort(least=1, most=1))
    assert sorted(one["delay_ns"] for one in measurements(host)) == [0, 50, 1000]
    assert all(one["cpus"] == [2, 3, 1, 0] for one in measurements(host))
    assert [point.delay_ns for point in result.points] == [1000, 50, 0]
    assert host.mapped[0]["bytes"] == 4 << 20
    assert parse(json.loads(to_json(result))) == result


def test_only_a_stream_that_asks_for_a_mix_is_mixed(host: HostStandIn) -> None:
    brief = Effort(least=1, most=1)
    played(Stream(op="load,load+store,store", area="1MiB"), effort=brief)
    played(Stream(op="store", reads="70%", area="1MiB"), effort=brief)
    assert [one["reads_percent"] for one in measurements(host)] == [0, 0, 0, 70]


def test_a_stream_writes_a_line_of_each_value_over_the_one_held_before(host: HostStandIn) -> None:
    pattern = Stream(op="ntstore", value="0xF0,1234567812345678", held="aa", area="1MiB")
    result = played(pattern, effort=Effort(least=1, most=1))
    asked = {one["value"]: one["held"] for one in measurements(host)}
    assert asked == {b"\xf0" * 64: b"\xaa" * 64, bytes.fromhex("12345678") * 16: b"\xaa" * 64}
    assert [point.value for point in result.points] == ["0xf0", "0x1234567812345678"]
    assert result.pattern["held"] == "0xaa"


# How long it goes on


@pytest.mark.usefixtures("host")
def test_a_steady_figure_is_repeated_as_seldom_as_allowed() -> None:
    (point,) = played(Chase(lines=1), effort=Effort(least=5, most=25)).points
    assert point.repetitions == 5


def test_an_unsteady_figure_is_repeated_until_it_is_sure_or_the_limit_is_reached(
    host: HostStandIn,
) -> None:
    times = iter([100.0, 200.0] * 100)
    host.ns = lambda _: next(times)
    (point,) = played(Chase(lines=1), effort=Effort(least=5, most=9)).points
    assert point.repetitions == 9
    assert point.interval_ns_per_line == (100, 200)
    host.ns = lambda _: 100.0
    first = iter([300.0])
    host.ns = lambda _: next(first, 100.0)
    (point,) = played(Chase(lines=1), effort=Effort(least=5, most=50)).points
    assert 5 < (point.repetitions or 0) < 20
    assert point.ns_per_line == 100


@pytest.mark.usefixtures("host")
def test_without_time_every_point_is_still_measured_once() -> None:
    result = played(Chase(region="4KiB,8KiB,16KiB", lines=1), effort=Effort(seconds=0))
    assert [point.repetitions for point in result.points] == [1, 1, 1]


def test_repetitions_run_in_another_order_each_time_and_the_same_for_the_same_seed(
    host: HostStandIn,
) -> None:
    def order(seed: int) -> list[int]:
        host.asked.clear()
        regions = [4096 << i for i in range(6)]
        played(Chase(region=regions, lines=1, seed=seed), effort=Effort(least=3, most=3))
        return [one["region"] for one in measurements(host)]

    first = order(1)
    assert first == order(1)
    assert first != order(2)
    rounds = [first[0:6], first[6:12], first[12:18]]
    assert all(sorted(one) == sorted(rounds[0]) for one in rounds)
    assert rounds[0] != rounds[1]


def test_an_effort_that_makes_no_sense_is_refused() -> None:
    for wrong in ({"least": 0}, {"least": 5, "most": 4}, {"width": 0.0}, {"seconds": -1.0}):
        with pytest.raises(InputError, match="repetitions"):
            Effort(**wrong)  # type: ignore[arg-type]


def test_ctrl_c_keeps_the_measured_points(host: HostStandIn) -> None:
    host.interrupt_at = 4
    with pytest.raises(Interrupted) as stopped:
        played(Chase(region="4KiB,8KiB,16KiB", lines=1), effort=Effort(least=2, most=2))
    result = stopped.value.result
    assert result.interrupted
    assert sum(point.repetitions or 0 for point in result.points) == 4


@pytest.mark.usefixtures("host")
def test_progress_rises_to_its_end() -> None:
    told: list[tuple[int, int]] = []
    played(Chase(region="4KiB,8KiB", lines=1), progress=lambda *args: told.append(args))
    assert told == sorted(told)
    assert told[-1][0] == told[-1][1]


# What cannot be


@pytest.mark.parametrize(
    ("pattern", "target", "complaint"),
    [
        (Chase(region="2GiB"), "host", "beyond the 1073741824 B of memory free on host"),
        (Chase(region="2GiB"), "host:file=x", "free on host:file=x"),
        (Chase(region="512MiB", threads=3), "host", "beyond the 1073741824 B"),
        (Stream(stride="random"), "host", "area: 2147483648 B for each of 1 threads"),
        (Overwrite(region="2GiB"), "host", "region: an overwrite"),
        (Contention(area="1GiB"), "host", "beyond the 1073741824 B"),
        (Chase(threads=5), "host", "threads: 5 are more than the 4 processors of this machine"),
        (Chase(), "host:node=77", "no memory on node 77"),
        (Chase(agent="none"), "host", "agent: none is for models"),
        (Stream(outstanding=4, area="1MiB"), "host", "outstanding: a real core has its own"),
        (Chase(whole=False), "host", "a region is walked to its end"),
        (Contention(threads=4, area="1MiB"), "host", "threads: 5 are more than the 4 processors"),
    ],
)
def test_an_operation_that_the_machine_lacks_is_refused_before_anything_runs(
    host: HostStandIn, pattern: Any, target: str, complaint: str
) -> None:
    with pytest.raises(InputError) as error:
        played(pattern, target)
    assert complaint in str(error.value)
    assert measurements(host) == []
    assert host.mapped == []


@pytest.mark.parametrize(
    ("pattern", "complaint"),
    [
        (Chase(op="load+clflushopt"), "op: load+clflushopt is for host targets"),
        (Stream(op="load,store+clflushopt"), "op: store+clflushopt is for host targets"),
        (Overwrite(op="store+clflushopt"), "op: store+clflushopt is for host targets"),
        (Chase(fence_kind="cpuid"), "fence-kind: cpuid is for host targets"),
        (Chase(successors="table"), "successors: they are chosen on host targets"),
        (Stream(op="store", value="0xf0"), "value: a model's memory holds nothing"),
        (Stream(op="load", held="0xf0"), "value: a model's memory holds nothing"),
    ],
)
def test_an_option_of_real_machines_is_refused_on_a_model(pattern: Any, complaint: str) -> None:
    with pytest.raises(InputError, match="host targets") as error:
        measuring.measure("model:optane-100", pattern)
    assert complaint in str(error.value)


# Results


@pytest.mark.usefixtures("host")
def test_a_result_names_its_machine_and_survives_its_file() -> None:
    result = played(Chase(lines=1, seed=3), "host:pages=2MiB")
    assert (result.target.kind, result.target.mode) == ("host", "measured")
    assert result.target.spec == "host:pages=2MiB"
    assert result.environment.seed == 3
    assert result.environment.kernel
    assert result.environment.timer == (
        "time stamp counter at 2000.0 MHz; a reading costs 12.0 ns (10.0 to 20.0)"
    )
    names = [one.name for one in result.environment.preconditions or ()]
    assert {"prefetchers", "load", "timer"} < set(names)
    assert "direct access" not in names
    again = parse(json.loads(to_json(result)))
    assert again == result


@pytest.mark.parametrize(("synchronous", "state"), [(True, "ok"), (False, "bad")])
def test_a_file_says_whether_it_was_the_medium(
    host: HostStandIn, synchronous: bool, state: str
) -> None:
    host.synchronous = synchronous
    result = played(Chase(lines=1), "host:file=x", destructive="x")
    (found,) = [o for o in result.environment.preconditions or () if o.name == "direct access"]
    assert found.state == state
    assert host.asked[0] == {"capacity of": "x", "destructive": True}
    assert {one["destructive"] for one in host.mapped if one["path"] == "x"} == {True}


def test_a_walk_gives_the_nanoseconds_of_a_load(host: HostStandIn) -> None:
    host.walk_ns = lambda pages, count: 4.0 if pages == "2MiB" else 9.0 + count
    fast = WalkMemory("host:pages=2MiB", 1 << 20, core=host).walk([0, 64, 128])
    slow = WalkMemory(Host(), 1 << 20, core=host).walk([0, 64, 128])
    assert fast.ns_per_load == 4
    assert slow.chunk_ns_per_load == (12.0,) * CHUNKS
    assert slow.nivcsw == 1
