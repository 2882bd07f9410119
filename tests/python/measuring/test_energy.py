"""Energy of whole machines: sums, and what a DIMM's power budget promises."""

from __future__ import annotations

import pytest

import nearfar
from nearfar.measuring import Chase, Pattern, Stream
from nearfar.measuring.energy import by_component, lines_moved, summary

MACHINES = ("ddr4-2666", "ddr5-4800", "optane-100", "cxl-expander")
PATTERNS = (
    Stream(op="ntload", threads=4, lines=40_000),
    Stream(op="ntload", access="64B", stride="random", threads=8, lines=40_000),
    Stream(op="ntstore", threads=4, lines=40_000),
    Stream(op="ntstore", reads="50%", threads=8, lines=40_000),
    Chase(region="64KiB", op="ntstore", lines=20_000),
    Chase(region="16KiB", regions="repeat", lines=20_000),
)


@pytest.mark.parametrize("machine", MACHINES)
def test_the_energy_of_a_point_is_the_sum_of_its_components(machine: str) -> None:
    (point,) = nearfar.measure(f"model:{machine}", PATTERNS[0]).points
    assert point.energy_pj == sum(point.energy.values())
    assert all(picojoules >= 0 for picojoules in point.energy.values())
    time_ps = point.counters["time_ps"]
    assert point.average_power_w == pytest.approx(point.energy_pj / time_ps)
    bits = lines_moved(point.counters) * 512
    assert bits >= point.lines * 512
    assert point.energy_pj_per_bit == pytest.approx(point.energy_pj / bits)


@pytest.mark.parametrize("pattern", PATTERNS, ids=str)
@pytest.mark.parametrize("budget", [12.5, 15.0, 18.0])
def test_a_dimm_stays_within_its_power_budget(budget: float, pattern: Pattern) -> None:
    target = f"model:optane-100,nvdimm.power_budget={budget}W"
    (point,) = nearfar.measure(target, pattern).points
    assert point.average_power_w is not None
    # One access and what it entails, under 1 uJ, may be ahead of what is paid for.
    assert point.average_power_w <= budget + 1e6 / point.counters["time_ps"]


@pytest.mark.parametrize("op", ["ntload", "ntstore"])
def test_the_budget_is_used_up_where_it_is_the_limit(op: str) -> None:
    pattern = Stream(op=op, threads=4, lines=100_000)
    (point,) = nearfar.measure("model:optane-100,nvdimm.power_budget=12.5W", pattern).points
    assert point.average_power_w == pytest.approx(12.5, rel=0.02)


def test_reads_slow_down_with_the_budget_as_measured() -> None:
    """OptaneStudy: 1.46 times slower at 12.5 W than at 15 W."""
    pattern = Stream(op="ntload", threads=4, lines=100_000)
    times = [
        nearfar.measure(f"model:optane-100,nvdimm.power_budget={budget}", pattern).points[0]
        for budget in ("12.5W", "15W")
    ]
    assert times[0].ns_per_line / times[1].ns_per_line == pytest.approx(1.46, rel=0.02)


def test_an_idle_power_below_that_of_the_dram_is_refused() -> None:
    with pytest.raises(nearfar.InputError, match=r"nvdimm\.power_static = 100 mW.*the standby of"):
        nearfar.measure("model:optane-100,nvdimm.power_static=100mW", PATTERNS[0])


def test_components_are_summed_over_channels() -> None:
    counters = {
        "channel.0.dram.energy.read_pj": 5,
        "channel.1.dram.energy.read_pj": 7,
        "channel.0.dimm.media.energy.write_pj": 3,
        "link.energy.wire_pj": 2,
        "channel.0.dram.reads": 2,
        "channel.0.dimm.dram.reads": 99,
        "channel.1.writes": 1,
        "time_ps": 17,
    }
    assert by_component(counters) == {"dimm.media.write": 3, "dram.read": 12, "link.wire": 2}
    assert lines_moved(counters) == 3
    assert summary(counters)["average_power_w"] == 1.0
    assert summary({"channel.0.reads": 4}) == {}


def test_a_link_that_is_up_draws_the_same_at_any_load() -> None:
    """5 pJ for each of the 128 bits of a slot of 667 ps, in both directions: 1.92 W."""
    for pattern in (Chase(region="64KiB", lines=5_000), PATTERNS[0]):
        (point,) = nearfar.measure("model:cxl-expander", pattern).points
        power = point.energy["link.wire"] / point.counters["time_ps"]
        assert power == pytest.approx(2 * 128 * 5 / 667, rel=1e-3)


def test_without_an_idle_share_a_link_costs_only_the_slots_that_it_carries() -> None:
    target = "model:cxl-expander,link.energy.idle=0,link.energy.bit=3pJ"
    (point,) = nearfar.measure(target, PATTERNS[0]).points
    slots = sum(point.counters[f"link.{way}_slots"] for way in ("request", "response"))
    assert point.energy["link.wire"] == slots * 128 * 3


def burst_pj(model: nearfar.Model, dram: str, standard_devices: int) -> float:
    """A read burst, from the data sheet: what it draws beyond standby, for as long as it takes."""

    def of(name: str) -> float:
        return float(str(model[f"{dram}.energy.{name}"]))

    microwatts = of("vdd") * (of("idd4r") - of("idd3n")) + of("vpp") * (of("ipp4r") - of("ipp3n"))
    clocks = int(model[f"{dram}.burst_length"]) // 2
    return standard_devices * microwatts / 1e6 * clocks * int(model[f"{dram}.clock"]) / 1e3


def test_a_miss_pays_for_near_memory_the_way_there_and_far_memory() -> None:
    """DDR4, eight devices a rank, in front of a link to DDR5, four devices a subchannel."""
    model = nearfar.load_model("cxl-expander").override(
        "near.kind=cache", "near.capacity=256KiB", "link.place=far", "link.energy.idle=0",
        "link.energy.bit=3pJ",
    )  # fmt: skip
    pattern = Stream(
        op="ntload", agent="none", stride="random", access=64, outstanding=8, area="1GiB",
        lines=2000,
    )  # fmt: skip
    (point,) = nearfar.measure(model, pattern).points
    count = point.counters
    assert count["near.fetches"] == count["near.read_misses"] > 0.99 * count["near.reads"]
    assert count["link.reads"] == count["near.fetches"]
    assert point.energy["link.wire"] == 6 * 128 * 3 * count["near.fetches"]
    near_reads = count["near.channel.0.dram.read_bursts"]
    assert count["near.channel.0.dram.energy.read_pj"] == pytest.approx(
        near_reads * burst_pj(model, "near.dram", 8), rel=1e-6
    )
    for half in (0, 1):
        assert count[f"channel.{half}.dram.energy.read_pj"] == pytest.approx(
            count[f"channel.{half}.dram.read_bursts"] * burst_pj(model, "dram", 4), rel=1e-6
        )
    forwarded = count["near.channel.0.dram.forwarded_reads"]  # from a fill that still waits
    assert near_reads + forwarded == count["near.probes"]
    assert sum(count[f"channel.{half}.dram.reads"] for half in (0, 1)) == count["near.fetches"]
