"""Patterns hold what was meant, and playing them asks the machine for exactly that."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

import nearfar
from nearfar import Chase, InputError, Interrupted, Overwrite, Stream
from nearfar.measuring import Contention, Pattern
from nearfar.measuring.stalls import intervals, stalls, variation
from standin import LOAD_NS, STALL_EVERY, STALL_NS, STORE_NS, StandIn

MODEL = "model:optane-100"


def played(core: StandIn, pattern: Pattern, target: str = MODEL) -> nearfar.MeasureResult:
    return nearfar.measure(target, pattern, core=core)


# Patterns


def test_sizes_may_be_text_numbers_or_lists() -> None:
    meant = Chase(region=(4096, 1 << 20))
    assert Chase(region="4KiB,1MiB") == meant
    assert Chase(region=["4 KiB", 1048576]) == meant
    assert Chase(region=4096).region == (4096,)
    assert Chase(region="4096").region == (4096,)


def test_a_pattern_survives_going_to_another_process() -> None:
    for pattern in (Chase(region="4KiB,8KiB", op="raw"), Overwrite(), Stream(stride="random")):
        assert pickle.loads(pickle.dumps(pattern)) == pattern
        assert hash(pickle.loads(pickle.dumps(pattern))) == hash(pattern)


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: Chase(region=0), "region: found 0 B, expected a size above zero"),
        (lambda: Chase(region="-4KiB"), "region: found -4096 B, expected a size above zero"),
        (lambda: Chase(region="100B"), "region: 100 B is not a multiple of 64 B, one cache line"),
        (lambda: Chase(region="4 kilo"), "region: found unit 'kilo'"),
        (lambda: Chase(region="4KiB,,8KiB"), "region: a value is missing in '4KiB,,8KiB'"),
        (lambda: Chase(region=64, block=128), "block: 128 B is larger than the region of 64 B"),
        (lambda: Chase(region=192, block=128), "region: 192 B is not a multiple of block, 128 B"),
        (lambda: Chase(op="ntlaod"), "op: found 'ntlaod', expected one of ntload, "),
        (lambda: Chase(op="ntlaod"), "; did you mean ntload?"),
        (lambda: Chase(regions="frsh"), "regions: found 'frsh'"),
        (lambda: Chase(fence="line"), "fence: found 'line'"),
        (lambda: Chase(fence_kind="lfence"), "fence-kind: found 'lfence'"),
        (lambda: Chase(threads=0), "threads: found 0, expected at least 1"),
        (lambda: Chase(lines=0), "lines: found 0, expected at least 1"),
        (lambda: Chase(seed=-1), "seed: found -1, expected at least 0"),
        (lambda: Overwrite(region=320), "region: 320 B is not a multiple of 256 B, one access"),
        (lambda: Overwrite(op="load"), "op: found 'load'"),
        (lambda: Stream(access=256, stride=128), "stride: 128 B is smaller than access, 256 B"),
        (lambda: Stream(access=256, area=64), "area: 64 B does not hold one access and stride"),
        (lambda: Stream(stride="randm"), "stride: found 'randm'"),
        (lambda: Stream(reads="101%"), "reads: found '101%', expected 0% to 100%"),
        (lambda: Stream(reads="most"), "reads: found 'most', expected 0% to 100%"),
        (lambda: Stream(fence_every=32), "fence-every: 32 B is not a multiple of 64 B"),
        (lambda: Stream(fence_kind="mfence"), "fence-kind: without fence-every there is no fence"),
        (lambda: Stream(agent="robot"), "agent: found 'robot', expected one of core, none"),
    ],
)
def test_a_pattern_that_cannot_be_played_cannot_be_made(make: Any, complaint: str) -> None:
    with pytest.raises(InputError) as error:
        make()
    assert complaint in str(error.value)
    assert "\n" not in str(error.value)


@given(region=some.integers(1, 4096), lines=some.integers(1, 10**6))
def test_lines_round_up_to_whole_regions_and_no_further(region: int, lines: int) -> None:
    touched = Chase(region=64 * region, lines=lines).lines_for(64 * region)
    assert touched % region == 0
    assert lines <= touched < lines + region


@given(block=some.integers(1, 64), blocks=some.integers(1, 4096), lines=some.integers(1, 10**6))
def test_a_walk_that_may_end_early_ends_at_a_whole_block(
    block: int, blocks: int, lines: int
) -> None:
    pattern = Chase(region=64 * block * blocks, block=64 * block, lines=lines, whole=False)
    touched = pattern.lines_for(64 * block * blocks)
    assert touched % block == 0
    assert touched >= lines
    assert touched < lines + max(block, block * blocks if lines >= block * blocks else 0)


@given(access=some.integers(1, 64), threads=some.integers(1, 48), lines=some.integers(1, 10**6))
def test_every_thread_of_a_stream_makes_as_many_whole_accesses(
    access: int, threads: int, lines: int
) -> None:
    touched = Stream(access=64 * access, lines=lines).lines_for(64 * access, threads)
    assert touched % (access * threads) == 0
    assert lines <= touched < lines + access * threads


# Playing them


def test_a_chase_asks_for_each_region_once_and_keeps_the_order_of_operations(
    core: StandIn,
) -> None:
    result = played(core, Chase(region="4KiB,1MiB", op="ntload,ntstore", lines=100, seed=7))
    assert [(p.region_bytes, p.op) for p in result.points] == [
        (4096, "ntload"),
        (4096, "ntstore"),
        (1 << 20, "ntload"),
        (1 << 20, "ntstore"),
    ]
    assert [asked["lines"] for asked in core.asked] == [128, 16384]
    assert {asked["seed"] for asked in core.asked} == {7}
    assert [p.ns_per_line for p in result.points[:2]] == [LOAD_NS, STORE_NS]


def test_read_after_write_is_a_pass_of_its_own(core: StandIn) -> None:
    result = played(core, Chase(op="raw,ntload"))
    assert [(asked["ops"], asked["raw"]) for asked in core.asked] == [
        (["ntload"], False),
        ([], True),
    ]
    assert [p.op for p in result.points] == ["raw", "ntload"]


def test_only_a_walk_that_may_end_early_is_cut(core: StandIn) -> None:
    played(core, Chase(region="1MiB", lines=64))
    played(core, Chase(region="1MiB", lines=64, whole=False))
    assert [(asked["lines"], asked["walk_lines"]) for asked in core.asked] == [(16384, 0), (64, 64)]


def test_a_point_has_the_arithmetic_of_its_run(core: StandIn) -> None:
    (point,) = played(core, Stream(op="load", threads=4, lines=4000, access=64)).points
    assert point.lines == 4000
    assert point.threads == 4
    assert point.elapsed_ns == LOAD_NS * 1000
    assert point.ns_per_line == LOAD_NS
    assert point.gb_per_s == pytest.approx(4 * 64 / LOAD_NS)
    assert (point.p50_ns, point.p99_ns, point.p999_ns, point.max_ns) == (100, 200, 300, 400)


def test_amplification_is_media_bytes_over_bytes_of_the_host(core: StandIn) -> None:
    loads, stores = played(core, Chase(op="ntload,ntstore", lines=640)).points
    assert loads.media_read_bytes == 128 * loads.lines
    assert loads.read_amplification == 2.0
    assert loads.write_amplification is None
    assert stores.write_amplification == 2.0
    assert stores.read_amplification is None


def test_hits_are_summed_over_the_channels(core: StandIn) -> None:
    (point,) = played(core, Chase()).points
    assert point.hits == {"rmw": 7}


def test_stores_have_no_percentiles_because_they_are_not_timed_singly(core: StandIn) -> None:
    (point,) = played(core, Chase(op="ntstore")).points
    assert point.p50_ns is None
    assert (
        "p50_ns"
        not in nearfar.MeasureResult.to_dict(played(core, Chase(op="ntstore")))["points"][0]
    )


def test_an_overwrite_keeps_every_sample_and_sums_up_its_stalls(core: StandIn) -> None:
    result = played(core, Overwrite(writes=10 * STALL_EVERY))
    assert result.samples is not None
    assert len(result.samples) == 10 * STALL_EVERY
    (point,) = result.points
    assert (point.stalls, point.stall_ns, point.stall_interval_writes) == (
        10,
        STALL_NS,
        STALL_EVERY,
    )
    ordered = sorted(result.samples)
    assert point.p50_ns == ordered[len(ordered) // 2]
    assert point.max_ns == ordered[-1] == STALL_NS
    assert point.p50_ns < STALL_NS


def test_a_stream_plays_every_combination(core: StandIn) -> None:
    pattern = Stream(op="load,ntstore", access="64B,256B", stride="random,1KiB", threads=(1, 4))
    points = played(core, pattern).points
    assert len(points) == 16
    assert {(p.op, p.access_bytes, p.stride_bytes, p.threads) for p in points} == {
        (op, access, stride, threads)
        for op in ("load", "ntstore")
        for access in (64, 256)
        for stride in ("random", 1024)
        for threads in (1, 4)
    }
    assert {asked["stride"] for asked in core.asked} == {0, 1024}


def test_without_a_mix_loads_read_everything_and_stores_nothing(core: StandIn) -> None:
    played(core, Stream(op="ntload,ntstore"))
    played(core, Stream(op="ntstore", reads="70%"))
    assert [asked["reads_percent"] for asked in core.asked] == [100, 0, 70]


def test_contention_gives_a_point_for_each_delay_with_the_bytes_of_the_others(
    core: StandIn,
) -> None:
    pattern = Contention(other="ntload", threads=3, delay="1us,0ns", reads=50)
    points = played(core, pattern).points
    assert [one["delay_ps"] for one in core.asked] == [1_000_000, 0]
    assert [one["threads"] for one in core.asked] == [3, 3]
    assert [point.delay_ns for point in points] == [1000, 0]
    assert [point.other_gb_per_s for point in points] == [5 * point.gb_per_s for point in points]


def test_contention_plays_beside_its_neighbour(core: StandIn) -> None:
    (point,) = played(core, Contention(other="ntstore", reads=50)).points
    assert point.ns_per_line == 3 * LOAD_NS
    assert core.asked[0]["other"] == "ntstore"


@pytest.mark.parametrize(
    "pattern",
    [
        Chase(region="512GiB"),
        Chase(region="200GiB", op="ntload,ntstore"),
        Chase(region="200GiB", regions="repeat", threads=2),
        Stream(threads=200),
        Overwrite(region="512GiB"),
        Contention(area="200GiB"),
    ],
)
def test_a_pattern_beyond_the_memory_is_refused_before_anything_runs(
    core: StandIn, pattern: Pattern
) -> None:
    with pytest.raises(
        InputError, match=r"beyond the 274877906944 B of memory of model:optane-100"
    ):
        played(core, pattern)
    assert core.asked == []
    assert played(core, pattern, f"{MODEL},channels=6").points


def test_the_same_pattern_gives_the_same_document(core: StandIn) -> None:
    first, second = (played(core, Chase(region="4KiB,8KiB")) for _ in range(2))
    assert first == second


def test_a_result_names_its_model_and_the_resolved_form(core: StandIn) -> None:
    plain = played(core, Chase())
    other = played(core, Chase(), f"{MODEL},nvdimm.rmw.entries=128")
    assert plain.target.spec == MODEL
    assert other.target.spec == f"{MODEL},nvdimm.rmw.entries=128"
    assert other.target.name == plain.target.name == "optane-100"
    assert plain.target.mode == "simulated"
    assert plain.environment.model_hash != other.environment.model_hash
    assert "nvdimm.buffer.1.entries = 128" in core.asked[1]["settings"]


def test_ctrl_c_keeps_the_finished_points(core: StandIn) -> None:
    core.interrupt_at = 2
    with pytest.raises(Interrupted) as stopped:
        played(core, Chase(region="4KiB,8KiB,16KiB"))
    result = stopped.value.result
    assert [p.region_bytes for p in result.points] == [4096, 8192]
    assert result.interrupted
    assert isinstance(stopped.value, KeyboardInterrupt)


def test_progress_is_told_after_each_piece(core: StandIn) -> None:
    told: list[tuple[int, int]] = []
    nearfar.measure(
        MODEL, Chase(region="4KiB,8KiB"), core=core, progress=lambda *args: told.append(args)
    )
    assert told == [(1, 2), (2, 2)]


# Stalls


def test_a_stall_is_slow_against_the_median_and_long_enough_for_a_migration() -> None:
    ordinary = [250.0] * 100
    minor = [9_000.0]
    assert stalls([*ordinary, *minor, *ordinary, 52_000.0]) == [201]
    assert stalls([3_000.0] * 100 + [52_000.0]) == []  # not 20 times the median


def test_intervals_lie_between_stalls_and_have_a_variation() -> None:
    assert intervals([10, 30, 60]) == [20, 30]
    assert variation([20, 20, 20]) == 0
    assert variation([10, 30]) == pytest.approx(200**0.5 / 20)
    assert variation([7]) == 0


def fenced_stores_ns(kind: str, lines_ahead: int = 64) -> float:
    pattern = Stream(
        op="store+clwb", access=64, stride="random", fence_every=64, fence_kind=kind, lines=4096
    )
    target = f"{MODEL},channels=6,cpu.fence.lines_ahead={lines_ahead}"
    (point,) = nearfar.measure(target, pattern).points
    return point.ns_per_line


def test_a_fence_keeps_the_next_store_from_asking_for_its_line() -> None:
    with_the_read = fenced_stores_ns("sfence") + 300  # ns, an idle read at least
    assert fenced_stores_ns("mfence") > with_the_read
    assert fenced_stores_ns("sfence", lines_ahead=0) > with_the_read


def test_past_one_sfence_two_stores_fetch_at_a_time() -> None:
    one, two = (fenced_stores_ns("sfence", lines_ahead=n) for n in (0, 1))
    assert two == pytest.approx(one / 2, rel=0.05)


def plain_stores(threads: int = 1, **keys: str | int) -> float:
    pattern = Stream(op="store", access=64, stride="random", lines=4096, threads=threads)
    overrides = "".join(f",{key.replace('_', '.', 1)}={value}" for key, value in keys.items())
    (point,) = nearfar.measure(f"{MODEL},channels=6{overrides}", pattern).points
    return point.gb_per_s


def test_cached_stores_wait_for_so_many_lines_at_once() -> None:
    assert plain_stores(cpu_store_lines=2) == pytest.approx(
        2 * plain_stores(cpu_store_lines=1), rel=0.1
    )


def test_a_second_thread_of_a_core_halves_the_share_of_the_first() -> None:
    alone, beside = (plain_stores(2, cpu_cores=cores, cpu_store_lines=2) for cores in (2, 1))
    assert beside == pytest.approx(alone / 2, rel=0.1)


def test_a_line_that_the_adjacent_line_prefetcher_brings_counts_among_a_stores() -> None:
    target = f"{MODEL},channels=6,cpu.store_lines=4,cpu.prefetch.adjacent="
    pattern = Stream(op="store", access=64, stride="random", lines=4096)
    off, on = (
        nearfar.measure(f"{target}{flag}", pattern).points[0].gb_per_s for flag in ("false", "true")
    )
    assert on == pytest.approx(off / 2, rel=0.1)
