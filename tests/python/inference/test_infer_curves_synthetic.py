"""Synthetic buffers and queues: what was put in comes out of the curves, and no more."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Sequence

import numpy as np
import pytest

from curve_examples import synthetic
from nearfar.inference.curves.bits import way_span
from nearfar.inference.curves.edges import Rise, noise, rises
from nearfar.inference.curves.entry import Plateaus, power_of_two, read_entry, write_unit
from nearfar.inference.curves.hits import POLICIES, miss_rate
from nearfar.inference.curves.levels import fit
from nearfar.inference.curves.order import same_order
from nearfar.inference.curves.writes import combining_window, hinge

KIB, MIB = 1 << 10, 1 << 20


def play(policy: str, entries: int, walk: Sequence[int]) -> int:
    """Misses of a plainly written buffer, for comparison."""
    held: OrderedDict[int, None] = OrderedDict()
    order: deque[int] = deque()
    misses = 0
    for entry in walk:
        if entry in held:
            if policy == "lru":
                held.move_to_end(entry)
            continue
        misses += 1
        if len(held) == entries:
            if policy == "fifo":
                del held[order.popleft()]
            else:
                held.popitem(last=False)
        held[entry] = None
        order.append(entry)
    return misses


@pytest.mark.parametrize("policy", ["fifo", "lru"])
@pytest.mark.parametrize(("touches", "entries", "ratio"), [(4, 64, 1.5), (16, 40, 3.0)])
def test_miss_rates_are_those_of_a_buffer_played_touch_by_touch(
    policy: str, touches: int, entries: int, ratio: float
) -> None:
    rng = np.random.default_rng(5)
    region = round(entries * ratio)
    walk = [
        int(entry) + n * region
        for n in range(80)
        for entry in rng.permutation(region * touches) // touches
    ]
    expected = play(policy, entries, walk) / len(walk)
    assert miss_rate(policy, touches, entries, np.array([ratio]))[0] == pytest.approx(
        expected, rel=0.025
    )


@pytest.mark.parametrize("policy", POLICIES)
def test_miss_rates_grow_from_one_in_so_many_touches_to_all(policy: str) -> None:
    rates = miss_rate(policy, 4, 64, np.geomspace(0.1, 1000, 60))
    assert rates[0] == pytest.approx(0.25, abs=0.02)
    assert rates[-1] == pytest.approx(1.0, abs=0.01)
    assert np.all(np.diff(rates) > -0.01)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("policy", ["fifo", "lru"])
def test_two_levels_of_any_capacity_are_recovered(seed: int, policy: str) -> None:
    rng = np.random.default_rng(100 + seed)
    first = int(rng.integers(16, 200)) * 256
    second = int(rng.integers(first // 256, 8 * first // 256)) * 4096
    region, time = synthetic([first, second], [256, 4096], [policy, policy], seed)
    edges = rises(region, time)
    assert len(edges) == 2
    found = fit(region, time, 64, edges, [256, 4096])
    for level, truth, entry in zip(found.levels, (first, second), (256, 4096), strict=True):
        assert level.capacity == pytest.approx(truth, rel=0.07)
        assert level.low - entry <= truth <= level.high + entry
        assert policy in level.possible


@pytest.mark.parametrize("seed", range(3))
def test_random_replacement_is_told_from_the_others(seed: int) -> None:
    region, time = synthetic([64 * KIB], [256], ["random"], seed)
    found = fit(region, time, 64, rises(region, time), [256])
    assert found.levels[0].possible == ("random",)


def test_first_rise_dates_the_edge_where_change_points_would_land_in_the_ramp() -> None:
    region, time = synthetic([32 * KIB], [256], ["lru"], 1)
    (rise,) = rises(region, time)
    assert 0.9 * 32 * KIB < rise.last < 1.1 * 32 * KIB
    steepest = region[np.argmax(np.diff(time))]
    split = min(
        range(2, len(time) - 2),
        key=lambda at: at * np.var(time[:at]) + (len(time) - at) * np.var(time[at:]),
    )
    assert max(steepest, region[split]) > 1.2 * rise.last


def test_noise_is_that_of_single_points_not_of_the_curve() -> None:
    region, time = synthetic([16 * KIB], [256], ["fifo"], 3, spread=0.01)
    assert noise(region, time) == pytest.approx(0.01, rel=0.4)


def test_entries_follow_from_the_cost_of_overflowing_by_block_size() -> None:
    for entry in (256, 1024, 4096):
        levels = [
            Plateaus(block, 100, 100 + 70 * 64 * max(0.0, 1 / block - 1 / entry), 0.1)
            for block in (64, 256, 1024, 4096)
        ]
        size = read_entry(levels)
        assert size is not None
        assert size.low <= entry <= size.high


def test_one_block_size_says_nothing_about_entries() -> None:
    assert read_entry([Plateaus(64, 100, 200, 1)]) is None
    assert write_unit([(64, 100.0, 1.0)]) is None


@pytest.mark.parametrize(
    ("low", "high", "only"),
    [(250, 260, 256), (200, 520, None), (300, 500, None), (256, 256, 256), (65, 256, None)],
)
def test_a_power_of_two_counts_only_when_it_is_alone(
    low: float, high: float, only: int | None
) -> None:
    assert power_of_two(low, high) == only


@pytest.mark.parametrize("lines", [4, 8, 16])
def test_a_hinge_is_found_at_any_queue_size(lines: int) -> None:
    count = np.arange(1, 33)
    time = 180 + 5 * count + 25 * np.maximum(0, count - lines)
    rng = np.random.default_rng(lines)
    found = hinge(count * 64.0, time / count * (1 + 0.003 * rng.standard_normal(32)))
    assert found is not None
    assert found.value == pytest.approx(lines, abs=0.5)


@pytest.mark.parametrize("window", [20, 60])
def test_a_combining_window_is_found_at_any_size(window: int) -> None:
    region = np.unique(np.geomspace(1 * KIB, 1 * MIB, 40) // 256 * 256)
    rng = np.random.default_rng(window)
    cost = []
    for size in region:
        lines = int(size) // 64
        waiting: list[tuple[int, int]] = []
        written = total = 0
        for n in range(max(4, 8_000 // lines)):
            for line in rng.permutation(lines):
                unit = (n * lines + int(line)) // 4
                waiting.append((unit, total))
                total += 1
                if len(waiting) > window:
                    oldest = waiting[0][0]
                    waiting = [one for one in waiting if one[0] != oldest]
                    written += 1
        cost.append(110 * written / total)
    found = combining_window(region, np.array(cost), 256)
    assert found is not None
    assert found.value == pytest.approx(window, rel=0.1)


def edge(last: float) -> Rise:
    return Rise(last, 1.25 * last, 0, 1, 2, 3)


def test_the_lowest_bit_that_moves_nothing_is_the_size_of_a_way() -> None:
    held = {bit: edge(8 * MIB if bit < 20 else 16 * MIB) for bit in range(8, 22)}
    way = way_span(edge(16 * MIB), held)
    assert way is not None
    assert (way.span, way.exact) == (1 * MIB, True)


def test_bits_that_move_the_edge_in_no_order_are_no_field() -> None:
    held = {bit: edge(8 * MIB if bit in (8, 15) else 16 * MIB) for bit in range(8, 22)}
    assert way_span(edge(16 * MIB), held) is None


def test_all_bits_moving_the_edge_leaves_the_way_unknown() -> None:
    held = {bit: edge(8 * MIB) for bit in range(8, 22)}
    assert way_span(edge(16 * MIB), held) is None


def test_random_replacement_loses_a_few_blocks_at_first() -> None:
    rng = np.random.default_rng(6)
    ways, blocks = 16, range(1, 80)
    lost = []
    for count in blocks:
        total = 0
        for _ in range(60):
            slots: list[int] = []
            for touch in range(2 * count):
                block = touch % count
                if block in slots:
                    continue
                total += touch >= count
                if len(slots) < ways:
                    slots.append(block)
                else:
                    slots[int(rng.integers(ways))] = block
        lost.append(total / 60 / count)
    step = same_order(list(blocks), lost)
    assert step is not None
    assert step.random
    assert step.low <= ways <= step.high
