"""The hybrid CXL device: DRAM in front of flash, behind a link."""

from __future__ import annotations

import functools

import pytest

import nearfar
from nearfar.measuring.patterns import Stream
from nearfar.results.schema import Point

MIB = 1 << 20
LINK_NS = 160 + 160 + 6 * 3.05  # there and back, a slot out and five back
PAGE = 4096


@functools.cache
def read(overrides: str, *, area: int, outstanding: int, lines: int, op: str = "ntload") -> Point:
    """Random lines, sent to the device without a core in between."""
    pattern = Stream(
        op=op, agent="none", stride="random", access=64, area=area, outstanding=outstanding,
        lines=lines,
    )  # fmt: skip
    return nearfar.measure(f"model:cxl-hybrid{overrides}", pattern).points[0]


def hits() -> Point:
    return read("", area=PAGE, outstanding=1, lines=4000)


def misses(outstanding: int = 1) -> Point:
    """A cache of a quarter of a thousandth of what is read."""
    small = ",near.capacity=256KiB"
    return read(small, area=1024 * MIB, outstanding=outstanding, lines=2000)


def test_the_link_adds_its_latencies_and_its_slots() -> None:
    count = hits().counters
    passed = count["link.time_ps"] / count["link.reads"]
    inside = count["near.read_time_ps"] / count["near.reads"]
    assert (passed - inside) / 1e3 == pytest.approx(LINK_NS, abs=0.01)


def test_a_hit_is_the_link_and_two_reads_of_the_devices_dram() -> None:
    """A tag, then the data, both in open rows or not: CL and burst 20 ns, tRCD 16.2, tRP 16.2."""
    point = hits()
    assert point.counters["near.read_misses"] == 1
    assert point.p50_ns is not None
    assert 2 * 19.9 + 10 < point.p50_ns - LINK_NS < 2 * 52.5 + 10


def test_a_miss_is_a_look_up_and_a_read_of_the_flash() -> None:
    read_ns, flash_ns = misses().p50_ns, 8120
    assert misses().counters["near.read_hits"] <= 2
    assert read_ns is not None
    assert flash_ns < read_ns - LINK_NS < flash_ns + 200


def test_misses_fetch_pages_and_no_more_than_a_million_a_second() -> None:
    point = misses(outstanding=64)
    assert point.counters["near.fetches"] == 64 * point.counters["near.read_misses"]
    assert 0.85e6 < point.gb_per_s * 1e9 / 64 < 1.02e6  # dies that are asked twice take longer


def test_hits_have_the_links_bandwidth() -> None:
    assert read("", area=PAGE, outstanding=64, lines=20_000).gb_per_s == pytest.approx(
        64 / (5 * 3.05), rel=0.01
    )


def test_written_data_go_to_the_flash_in_pages_when_they_are_evicted() -> None:
    small = ",near.capacity=256KiB"
    point = read(small, area=1024 * MIB, outstanding=16, lines=1000, op="ntstore")
    count = point.counters
    assert count["near.write_backs"] % 64 == 0
    evicted = count["near.write_misses"] - 64
    assert evicted - 16 <= count["near.write_backs"] // 64 <= evicted  # the last are on their way


def test_its_cache_is_ddr5() -> None:
    """A near memory of two subchannels is as large as both, and both take their half."""
    count = read("", area=256 * 1024, outstanding=16, lines=4000).counters
    halves = [count[f"near.channel.{half}.dram.reads"] for half in (0, 1)]
    assert min(halves) > 0.45 * sum(halves)
