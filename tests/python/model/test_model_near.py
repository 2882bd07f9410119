"""Near memory: in a model or not, derived where not given, refused where it makes no sense."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from nearfar import measure
from nearfar.errors import InputError
from nearfar.measuring.core import load_core
from nearfar.measuring.patterns import Stream
from nearfar.model import load, load_target
from nearfar.results.schema import Point

GIB = 1 << 30


def test_a_machine_has_no_near_memory_unless_its_model_has_one() -> None:
    keys = [key for key in load("optane-100").values if key.startswith("near.")]
    assert keys == ["near.kind"]


def test_near_memory_stands_in_front_of_any_memory() -> None:
    for name in ("optane-100", "ddr4-2666", "cxl-expander"):
        lines = load(name).override("near.kind=cache").export().splitlines()
        assert "near.line = 64" in lines
        assert "near.dram.timing.cl = 19" in lines


def test_the_preset_is_the_published_socket() -> None:
    model = load("optane-memory-mode")
    assert model["near.capacity"] == 6 * 32 * GIB
    assert int(model["capacity"]) * int(model["channels"]) == 6 * 256 * GIB
    assert (model["near.line"], model["near.ways"]) == (64, 1)


@pytest.mark.parametrize(
    ("overrides", "capacity"),
    [
        ("", 8 * GIB),
        ("near.channels=3", 24 * GIB),
        ("near.ways=3", 8 * GIB - 128),  # 2^33 = 128 modulo 3 * 64
    ],
)
def test_near_memory_is_as_large_as_its_dram(overrides: str, capacity: int) -> None:
    target = ",".join(["model:optane-100", "near.kind=cache", *filter(None, [overrides])])
    assert load_target(target)["near.capacity"] == capacity


def test_tags_among_the_data_leave_less_room() -> None:
    capacity = load_target("model:optane-100,near.kind=cache,near.tags=data")["near.capacity"]
    assert isinstance(capacity, int)
    assert capacity + capacity // 8 <= 8 * GIB < capacity + capacity // 8 + 256


def test_near_dram_is_ddr4_or_ddr5() -> None:
    ddr4, ddr5 = (
        load_target(f"model:optane-100,near.kind=cache,near.dram.speed_bin={bin_}")
        for bin_ in ("DDR4-2666V", "DDR5-4800B,near.dram.density_gbit=16")
    )
    assert "near.dram.subchannels" not in ddr4.values
    assert ddr5["near.dram.subchannels"] == 2
    assert ddr5["near.capacity"] == 16 * GIB


MODE = "model:optane-memory-mode,"


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("model:optane-100,near.ways=2", "near.ways in a model with near.kind = 'none'"),
        (MODE + "near.channels=0", "found 0, expected 1 to 6"),
        (MODE + "near.capacity=193GiB", "at most the near DRAM (192 GiB)"),
        (MODE + "near.tags=data,near.capacity=192GiB", "(192 GiB) with 24 GiB of tags in it"),
        (MODE + "nvdimm.media.capacity=16GiB", "at most the 96 GiB of far memory that it caches"),
        (MODE + "near.app_direct=1400GiB", "at most the 136 GiB of far memory that it caches"),
        (MODE + "near.app_direct=2TiB", "near.app_direct = 2 TiB with capacity = 256 GiB"),
        (MODE + "near.app_direct=96B", "expected a multiple of near.line"),
        (MODE + "near.capacity=100B", "expected whole sets of lines"),
        (MODE + "near.line=48B", "found '48B', expected 64 B to 4 KiB, a power of two"),
        (MODE + "near.line=4KiB,near.interleave=1KiB", "a divisor of near.interleave"),
        (MODE + "near.line=4KiB,imc.interleave=1KiB", "a divisor of imc.interleave"),
        (MODE + "near.inclusive=false,near.prefetch=next_line", "keeps nothing it reads"),
        (MODE + "near.dram.timing.rc=1", "near.dram.timing.ras + near.dram.timing.rp"),
        (MODE + "near.dram.refresh.banks=same", "in a DDR4 channel, expected a speed bin of DDR5"),
        (MODE + "near.dram.sped_bin=x", "did you mean near.dram.speed_bin?"),
        ("model:cxl-expander,link.place=far", "expected memory, there being no near memory"),
    ],
)
def test_a_senseless_model_is_refused_in_one_line(target: str, expected: str) -> None:
    with pytest.raises(InputError) as caught:
        load_target(target)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_error_in_a_model_file_names_its_line(tmp_path: Path) -> None:
    file = tmp_path / "m.toml"
    file.write_text('base = "optane-100"\n[near]\nkind = "cache"\ncapacity = "9 GiB"\n')
    with pytest.raises(InputError, match=r"m\.toml:4: .*at most the near DRAM \(8 GiB\)"):
        load(str(file))


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("model:optane-memory-mode,near.channels=0", "near.channels=0: found 0, expected 1 to 6"),
        ("model:optane-memory-mode,near.kind=none", "in a model with near.kind = 'none'"),
        ("model:optane-100,near.kind=cache,capacity=4GiB", "of far memory that it caches"),
        ("model:cxl-expander,link.kind=none", "in a model with link.kind = 'none'"),
        ("model:cxl-hybrid,near.kind=none", "in a model with near.kind = 'none'"),
    ],
)
def test_absent_memory_ends_the_command(
    refused: Callable[..., str], target: str, expected: str
) -> None:
    assert expected in refused("measure", target, "chase", "--region", "4KiB")


def at_random(target: str, outstanding: int, op: str = "ntload") -> Point:
    """Single lines of a GiB, sent to the memory without a core in between."""
    pattern = Stream(
        op=op, agent="none", stride="random", access=64, outstanding=outstanding, area=1 << 30,
        lines=4000,
    )  # fmt: skip
    return measure(target, pattern).points[0]


FAR = "model:optane-100,near.kind=cache,near.capacity=1MiB"


@pytest.mark.parametrize("dram", ["", ",near.dram.speed_bin=DDR5-4800B,near.dram.density_gbit=16"])
def test_throughput_times_latency_is_the_number_of_outstanding_requests(dram: str) -> None:
    point = at_random(FAR + dram, 16)
    mean_ns = point.counters["near.read_time_ps"] / point.counters["near.reads"] / 1e3
    assert point.gb_per_s / 64 * mean_ns == pytest.approx(16, rel=0.03)


def test_a_full_near_memory_refuses_and_keeps_the_pace_of_its_places() -> None:
    """Four places: a read holds one from the look-up to the fill, whatever waits outside."""
    held = at_random(f"{FAR},near.queue.read=4", 4)
    waiting = at_random(f"{FAR},near.queue.read=4", 32)
    assert held.counters["near.refusals"] == 0
    assert waiting.counters["near.refusals"] > 0
    assert waiting.counters["near.reads"] == held.counters["near.reads"]
    assert waiting.gb_per_s == pytest.approx(held.gb_per_s, rel=0.05)


def test_a_slow_far_memory_holds_the_writes_of_near_memory_back() -> None:
    """Every write throws a dirty line out, so writes go at the pace of the media: 110 ns each."""
    small = "model:optane-100,near.kind=cache,near.capacity=4KiB,near.queue.write=8"
    point = at_random(small, 32, op="ntstore")
    assert point.counters["near.refusals"] > 0
    assert point.counters["near.write_backs"] > 0.98 * point.counters["near.writes"]
    assert 64 / point.gb_per_s == pytest.approx(110, rel=0.2)


def latency_ns(target: str, regions: str) -> float:
    core = load_core()
    chase = core.ChasePattern(
        region=1 << 20, ops=["ntload"], repeat=regions == "repeat", lines=20_000
    )
    points = core.measure(load_target(target).export(), chase, seed=1)
    return float(points[0]["elapsed_ps"]) / points[0]["lines"] / 1000


def test_a_hit_costs_a_dram_access_and_a_miss_one_of_far_memory_besides() -> None:
    dram = latency_ns("model:ddr4-2666", "repeat")
    far = latency_ns("model:optane-100", "fresh")
    mode = "model:optane-100,near.kind=cache,near.dram.width=8"
    assert dram < latency_ns(mode, "repeat") < dram + 10
    assert far + 15 < latency_ns(mode, "fresh") < far + dram


@pytest.mark.parametrize("place", ["memory", "far"])
def test_a_link_may_stand_on_either_side(place: str) -> None:
    """Before near memory it delays everything, behind it only misses."""
    plain = "model:ddr4-2666,near.kind=cache,near.capacity=16MiB"
    linked = f"{plain},link.kind=cxl,link.place={place}"
    hits = latency_ns(linked, "repeat") - latency_ns(plain, "repeat")
    misses = latency_ns(linked, "fresh") - latency_ns(plain, "fresh")
    assert misses > 300
    assert hits > 300 if place == "memory" else hits < 1
