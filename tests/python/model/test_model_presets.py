"""The shipped presets: complete, sourced, and the JEDEC table's own numbers."""

from __future__ import annotations

import pickle

import pytest

import nearfar
from nearfar.errors import InputError
from nearfar.model import Model, jedec, load, presets, switches
from nearfar.model.key import Kind
from nearfar.model.resolve import BY_DEFAULT
from nearfar.model.schema import (
    DRAM_CHANNELS,
    KEYS,
    in_levels,
    in_near,
    of_standard,
    on_link,
    present,
)

DDR4 = ["ddr4-2400", "ddr4-2666", "ddr4-2933", "ddr4-3200"]
DDR5 = ["ddr5-4800", "ddr5-5600"]
SERVERS = ["xeon-5218-ddr4-2933", "xeon-8460y-ddr5-4800"]


def test_every_preset_is_listed() -> None:
    bases = ["aep-sample", "cxl", "cxl-expander", "cxl-hybrid", *DDR4, *DDR5, "dram", "memory-mode"]
    others = ["nvdimm", "optane-100", "optane-100-remote", "optane-200", "optane-memory-mode"]
    others += ["optane-tiered", *SERVERS]
    assert presets() == [*bases, *others]


@pytest.mark.parametrize("name", presets())
def test_a_preset_has_every_key_of_its_machine(name: str) -> None:
    model = load(name)
    levels = int(model["nvdimm.levels"]) if model["machine"] == "nvdimm" else 0
    standards = {prefix: model.values.get(f"{prefix}.standard") for prefix in DRAM_CHANNELS}
    names = {prefix: entry and entry.value for prefix, entry in standards.items()}
    expected = [
        key
        for key in KEYS
        if present(key, model["machine"])
        and in_levels(key, levels)
        and on_link(key, model["link.kind"])
        and of_standard(key, names)
        and in_near(key, model["near.kind"])
    ]
    assert list(model.values) == expected
    assert model.description


@pytest.mark.parametrize("name", presets())
def test_every_timing_constant_of_a_preset_names_its_source(name: str) -> None:
    """Of mechanisms that are off a preset need say nothing."""
    physical = (Kind.TIME, Kind.CLOCK, Kind.POWER, Kind.ENERGY)
    values = {key: entry.value for key, entry in load(name).values.items()}
    unsourced = [
        key
        for key, entry in load(name).values.items()
        if switches.off(key, values) is None
        and (entry.key.kind in physical or ".timing." in key or ".wear." in key)
        and entry.source in ("", BY_DEFAULT)
    ]
    assert unsourced == []


@pytest.mark.parametrize("name", presets())
def test_sources_are_quoted_for_the_values_of_the_preset(name: str) -> None:
    """A citation beside a default would vouch for a number that no source has."""
    model = load(name)
    sizes = [k for k, e in model.values.items() if k not in model.given and e.source == ""]
    assert sizes == []


# JESD79-4 in clocks: the 8 Gbit x8 device of each preset's speed bin.
JESD79 = {
    "ddr4-2400": "833 17 16 17 17 39 56 4 6 4 6 26 3 9 18 9 421 9363 8 6 7 433 768",
    "ddr4-2666": "750 19 18 19 19 43 62 4 7 4 7 28 4 10 20 10 467 10400 8 7 8 480 1024",
    "ddr4-2933": "682 21 20 21 21 47 68 4 8 4 8 31 4 11 22 11 514 11436 9 8 9 528 1024",
    "ddr4-3200": "625 22 20 22 22 52 74 4 8 4 8 34 4 12 24 12 560 12480 10 8 9 576 1024",
}
COLUMNS = (
    "cl cwl rcd rp ras rc ccd_s ccd_l rrd_s rrd_l faw wtr_s wtr_l wr rtp rfc refi xp cke ckesr "
    "xs dllk"
)


@pytest.mark.parametrize("name", DDR4)
def test_a_speed_grade_has_the_timing_of_its_standard(name: str) -> None:
    model = load(name)
    timing = [model[f"dram.timing.{column}"] for column in COLUMNS.split()]
    assert [model["dram.clock"], *timing] == [int(number) for number in JESD79[name].split()]


# JESD79-5 in clocks: the 16 Gbit x8 device of each preset's speed bin.
JESD79_5 = {
    "ddr5-4800": (
        "416 40 38 39 39 77 116 8 12 8 12 32 6 24 72 18 708 9375 18 18 36 708 1536 48 24 2 312 72"
    ),
    "ddr5-5600": (
        "357 46 44 45 45 90 135 8 14 8 14 32 7 28 84 21 824 10924 21 21 42 824 1792 56 28 2 364 84"
    ),
}


@pytest.mark.parametrize("name", DDR5)
def test_a_ddr5_speed_grade_has_the_timing_of_its_standard(name: str) -> None:
    model = load(name)
    columns = f"{COLUMNS} ccd_l_wr ccd_l_wr2 ppd rfc_sb refsb_rd".split()
    timing = [model[f"dram.timing.{column}"] for column in columns]
    assert [model["dram.clock"], *timing] == [int(number) for number in JESD79_5[name].split()]


@pytest.mark.parametrize(
    ("bin_", "primary"),
    [
        ("DDR5-4800A", (34, 32, 34, 34)),
        ("DDR5-4800C", (42, 40, 42, 42)),
        ("DDR5-5600A", (40, 38, 40, 40)),
        ("DDR5-5600C", (50, 48, 50, 50)),
    ],
)
def test_the_write_latency_of_ddr5_is_two_clocks_below_the_reads(
    bin_: str, primary: tuple[int, ...]
) -> None:
    model = load("ddr5-4800").override({"dram.speed_bin": bin_})
    assert tuple(model[f"dram.timing.{name}"] for name in ("cl", "cwl", "rcd", "rp")) == primary


def test_fine_granularity_halves_the_interval_and_shortens_the_refresh() -> None:
    model = load("ddr5-4800").override({"dram.refresh.granularity": "2x"})
    assert (model["dram.timing.refi"], model["dram.timing.rfc"]) == (4687, 384)
    assert model["dram.timing.xs"] == 708


@pytest.mark.parametrize("width", jedec.WIDTHS)
@pytest.mark.parametrize(
    ("name", "density"),
    [(name, gbit) for name in (*DDR4, *DDR5) for gbit in jedec.DENSITIES[name[:4].upper()]],
)
def test_the_geometry_of_a_device_holds_its_density(name: str, width: int, density: int) -> None:
    model = load(name).override(
        {"dram.width": width, "dram.density_gbit": density, "dram.ranks": 2}
    )
    cells = 1
    for part in ("bank_groups", "banks", "rows", "columns", "width"):
        cells *= int(model[f"dram.{part}"])
    assert cells == density << 30
    assert model["capacity"] == 2 * (density << 30) // 8 * (64 // width)


@pytest.mark.parametrize(
    ("width", "faw", "rrd_s", "rrd_l"), [(4, 16, 4, 7), (8, 28, 4, 7), (16, 40, 8, 9)]
)
def test_activate_spacing_depends_on_the_page(width: int, faw: int, rrd_s: int, rrd_l: int) -> None:
    model = load("ddr4-2666").override({"dram.width": width})
    found = tuple(model[f"dram.timing.{name}"] for name in ("faw", "rrd_s", "rrd_l"))
    assert found == (faw, rrd_s, rrd_l)


def test_rounding_forgives_the_error_of_the_rounded_clock() -> None:
    assert jedec.clocks(5000, 833) == 6  # 6.002 clocks of 833 ps, 6 of the true 833.3
    assert jedec.clocks(5000, 750) == 7
    assert jedec.clocks(15000, 750) == 20
    assert jedec.clocks(15020, 750) == 21
    assert jedec.clocks(5000, 416, "DDR5") == 12
    assert jedec.clocks(5015, 416, "DDR5") == 13


def test_a_timing_can_be_overridden_and_dependent_timings_follow() -> None:
    model = load("ddr4-2666").override("dram.timing.rcd=20", "dram.timing.ras=50")
    assert model["dram.timing.rcd"] == 20
    assert model["dram.timing.rc"] == 50 + 19
    assert model["dram.timing.rp"] == 19
    assert model.values["dram.timing.rcd"].source == "override"
    slower = load("ddr4-2666").override("dram.timing.rfc=560")
    assert slower["dram.timing.xs"] == 560 + 13


def test_a_slower_clock_changes_timings_in_nanoseconds_and_not_those_in_clocks() -> None:
    model = load("ddr4-2666").override("dram.clock=1000 ps")
    assert model["dram.timing.ras"] == 32
    assert model["dram.timing.cl"] == 19


def test_the_optane_preset_names_the_values_that_studies_disagree_on() -> None:
    model = load("optane-100")
    for key in ("nvdimm.buffer.1.entries", "nvdimm.buffer.2.fill", "nvdimm.wear.block"):
        assert model.alternatives[key]


def test_the_optane_preset_has_the_stable_facts() -> None:
    model = load("optane-100")
    assert model["imc.wpq.lines"] == 8
    assert model["imc.interleave"] == 4096
    assert model["nvdimm.lsq.lines"] == 64
    assert model["nvdimm.rmw.entry"] == 256
    assert int(model["nvdimm.ait.entries"]) * int(model["nvdimm.ait.entry"]) == 16 << 20


def test_an_unknown_preset_is_answered_with_the_nearest() -> None:
    with pytest.raises(InputError, match="did you mean optane-100"):
        load("optane100")


@pytest.mark.parametrize("name", presets())
def test_a_model_survives_pickling(name: str) -> None:
    model = load(name).override(channels=2)
    copy = pickle.loads(pickle.dumps(model))
    assert isinstance(copy, Model)
    assert (copy.name, copy.export()) == (model.name, model.export())


@pytest.mark.parametrize("name", [*DDR4, *DDR5])
def test_the_presets_of_one_server_have_one_core(name: str) -> None:
    """Both kinds are measured on the same machine; see models/parts/cascade-lake.toml."""
    assert load(name).tree()["cpu"] == load("optane-100").tree()["cpu"]


@pytest.mark.parametrize("name", presets())
def test_the_core_runs_what_a_preset_exports(name: str) -> None:
    """A key that the core reads and the schema lacks would be an error here."""
    result = nearfar.measure(
        load(name).override(channels=2), nearfar.Chase(region="4KiB", lines=64)
    )
    assert result.points[0].lines == 64
