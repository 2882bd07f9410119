"""What curves say: published tables of real hardware, synthetic buffers, and curves of nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import nearfar
from curve_examples import read, synthetic
from nearfar.errors import InputError
from nearfar.inference.curves.edges import rises
from nearfar.inference.curves.findings import infer_curves
from nearfar.inference.curves.results import observations as from_result
from nearfar.inference.curves.tables import observations
from nearfar.inference.curves.wear import stalls
from nearfar.inference.curves.writes import combining_window, hinge
from nearfar.results import Finding, Observation

KIB, MIB = 1 << 10, 1 << 20


def by_name(findings: Sequence[Finding]) -> dict[str, Finding]:
    assert len({one.name for one in findings}) == len(findings)
    return {one.name: one for one in findings}


def values(findings: Sequence[Finding]) -> dict[str, object]:
    return {one.name: one.value for one in findings if one.status == "identified"}


def covers(one: Finding, truth: float) -> bool:
    assert one.interval is not None
    return one.interval[0] <= truth <= one.interval[1]


# Real hardware


@pytest.fixture(scope="module")
def lens() -> list[Observation]:
    folder = Path(__file__).resolve().parents[3] / "reference"
    return read("vans_ptr_chasing", folder=folder)


@pytest.fixture(scope="module")
def lens_findings(lens: list[Observation]) -> dict[str, Finding]:
    return by_name(infer_curves(lens))


@pytest.fixture(scope="module")
def six_modules(lens: list[Observation]) -> list[Observation]:
    return [one for one in lens if one.pattern["modules"] == 6]


@pytest.fixture(scope="module")
def six_findings(six_modules: list[Observation]) -> Sequence[Finding]:
    return infer_curves(six_modules)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("levels", 2),
        ("buffer.1.capacity", 16 * KIB),
        ("buffer.1.entry", 256),
        ("buffer.1.entries", 64),
        ("buffer.2.capacity", 16 * MIB),
        ("buffer.2.entry", 4 * KIB),
        ("buffer.2.entries", 4096),
        ("wpq.lines", 8),
        ("lsq.lines", 64),
    ],
)
def test_the_micro_2020_chase_shows_the_structure_its_authors_found(
    lens_findings: dict[str, Finding], name: str, value: int
) -> None:
    assert lens_findings[name].value == value
    assert covers(lens_findings[name], value)


@pytest.mark.parametrize("name", ["buffer.1.capacity", "buffer.2.capacity"])
def test_capacities_of_the_published_chase_are_narrow(
    lens_findings: dict[str, Finding], name: str
) -> None:
    interval = lens_findings[name].interval
    assert interval is not None
    assert interval[1] / interval[0] < 1.15


def test_the_published_chase_rejects_random_replacement_in_the_first_buffer_and_no_more(
    lens_findings: dict[str, Finding],
) -> None:
    policy = lens_findings["buffer.1.policy"]
    assert policy.status == "not_identifiable"
    assert policy.reason.startswith("fifo or lru (")


def test_latencies_of_the_published_chase_are_those_of_its_levels(
    lens_findings: dict[str, Finding],
) -> None:
    """180 ns is one miss in four; 311 ns no hit in the first; 378 ns no hit at all."""
    hit, second, memory = (
        lens_findings[name].value
        for name in ("buffer.1.latency", "buffer.2.latency", "memory.latency")
    )
    assert isinstance(hit, float)
    assert isinstance(second, float)
    assert isinstance(memory, float)
    assert hit + (second - hit) / 4 == pytest.approx(179, rel=0.02)
    assert second == pytest.approx(311, rel=0.01)
    assert memory == pytest.approx(379, rel=0.01)


def test_six_modules_together_hold_six_times_as_much_and_are_not_divided(
    six_findings: Sequence[Finding],
) -> None:
    found = by_name(six_findings)
    capacity = found["buffer.1.capacity"]
    assert covers(capacity, 6 * 16 * KIB)
    assert "over all 6 modules together, not divided" in capacity.reason
    assert found["wpq.lines"].status == found["lsq.lines"].status == "not_identifiable"


def test_held_address_bits_show_ways_and_sets(reference: Path) -> None:
    """Sec'23 holds one bit at a time; NVLeak found 256 sets of 16 ways by other means."""
    found = values(infer_curves(read("sec23_rmw_assoc", folder=reference)))
    assert found["buffer.1.capacity"] == 16 * KIB
    assert found["buffer.2.capacity"] == 16 * MIB
    assert found["buffer.2.ways"] == 16
    assert "buffer.1.latency" not in found  # cycles of an unknown clock


def test_tables_of_one_device_complete_each_other(reference: Path) -> None:
    names = ("vans_ptr_chasing", "sec23_rmw_assoc", "sec23_rmw_replacement_same_order")
    found = values(infer_curves(read(*names, folder=reference)))
    assert (found["buffer.1.ways"], found["buffer.1.sets"]) == (64, 1)
    assert (found["buffer.2.ways"], found["buffer.2.sets"]) == (16, 256)


@pytest.mark.parametrize(("table", "level", "ways"), [("rmw", 1, 64), ("ait", 2, 16)])
def test_a_reread_in_the_same_order_shows_the_ways_but_not_fifo_from_lru(
    reference: Path, table: str, level: int, ways: int
) -> None:
    name = f"sec23_{table}_replacement_same_order"
    found = by_name(infer_curves(read(name, folder=reference)))
    assert found[f"buffer.{level}.ways"].value == ways
    assert covers(found[f"buffer.{level}.ways"], ways)
    assert found[f"buffer.{level}.policy"].status == "not_identifiable"
    assert "not random" in found[f"buffer.{level}.policy"].reason


def test_overwrites_show_the_migration_and_leave_shorter_stalls_out(reference: Path) -> None:
    found = by_name(infer_curves(read("vans_overwrite256", folder=reference)))
    assert found["migration"].value == "yes"
    assert found["migration.period"].value == 15982
    assert found["migration.stall"].value == pytest.approx(52_100, rel=0.01)
    assert found["migration.block"].status == "not_identifiable"


def test_published_distributions_give_period_and_refuse_cycles(reference: Path) -> None:
    gaps = by_name(infer_curves(read("sec23_wearlevel_write_gap_dist", folder=reference)))
    assert gaps["migration.period"].value == pytest.approx(9493, rel=0.001)
    lengths = by_name(infer_curves(read("sec23_wearlevel_write_lat_dist", folder=reference)))
    assert lengths["migration.stall"].status == "not_identifiable"
    assert "clock" in lengths["migration.stall"].reason


# Nothing


def shuffled(seen: Sequence[Observation], seed: int) -> list[Observation]:
    """The same values at other places."""
    rng = np.random.default_rng(seed)
    groups: dict[str, list[int]] = {}
    for at, one in enumerate(seen):
        groups.setdefault(f"{one.prober} {one.pattern['block_bytes']}", []).append(at)
    mixed = list(seen)
    for members in groups.values():
        for at, source in zip(members, rng.permutation(members), strict=True):
            mixed[at] = replace(seen[at], ns_per_access=seen[int(source)].ns_per_access)
    return mixed


@pytest.mark.parametrize("seed", range(5))
def test_shuffled_labels_give_nothing(lens: list[Observation], seed: int) -> None:
    one_module = [one for one in lens if one.pattern["modules"] == 1]
    found = values(infer_curves(shuffled(one_module, seed)))
    assert found in ({}, {"levels": 0})


REGIONS = np.array([2.0**p * f for p in range(6, 27) for f in (1.0, 1.25, 1.5, 1.75)]) // 64 * 64
REGIONS = np.unique(REGIONS)


@pytest.mark.parametrize("spread", [0.0, 0.002, 0.02, 0.2])
def test_a_flat_curve_has_no_edge(spread: float) -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        flat = 100 * np.exp(spread * rng.standard_normal(len(REGIONS)))
        assert rises(REGIONS, flat) == []


def test_a_steady_slope_is_no_edge_and_has_no_plateau() -> None:
    slope = 100 * (1 + 0.002 * np.arange(len(REGIONS)))
    assert rises(REGIONS, slope) == []


def test_one_outlier_is_no_edge() -> None:
    values_ = np.full(len(REGIONS), 100.0) + np.random.default_rng(2).normal(0, 0.3, len(REGIONS))
    values_[40] = 300
    assert rises(REGIONS, values_) == []


def test_level_stores_and_steady_overwrites_give_nothing() -> None:
    rng = np.random.default_rng(3)
    level = 50 * (1 + 0.01 * rng.standard_normal(len(REGIONS)))
    assert hinge(REGIONS, level) is None
    assert combining_window(REGIONS, level, 256) is None
    assert stalls(list(range(5000)), list(rng.lognormal(5, 0.5, 5000))) is None


def test_a_curve_that_scatters_hides_any_level() -> None:
    rng = np.random.default_rng(4)
    rows = [
        {"region_bytes": f"{r:.0f}", "block_bytes": "64", "op": "load", "ns_per_line": f"{v}"}
        for r, v in zip(REGIONS, rng.lognormal(5, 0.5, len(REGIONS)), strict=True)
    ]
    found = by_name(infer_curves(observations("own", list(rows[0]), rows)))
    assert found["levels"].status == "not_identifiable"


# Measured on the model


def test_a_chase_on_the_model_shows_what_the_same_chase_shows_on_hardware() -> None:
    """Two block sizes below the unit of writes leave it open; the store curve itself does not."""
    regions = tuple(sorted({int(1024 * 2 ** (p / 2)) // 256 * 256 for p in range(25)}))
    seen = []
    for block in (64, 256):
        chase = nearfar.Chase(
            region=regions, block=block, op="ntstore,ntload", lines=16384, whole=False
        )
        seen += from_result(f"m{block}", nearfar.measure("model:optane-100", chase))
    found = by_name(infer_curves(seen))
    assert found["buffer.1.entry"].value == 256
    assert covers(found["buffer.1.capacity"], 16 * KIB)
    assert found["lsq.lines"].value == 64


# Tables


def test_the_same_observations_give_the_same_findings(
    six_modules: list[Observation], six_findings: Sequence[Finding]
) -> None:
    assert infer_curves(six_modules) == six_findings


def test_own_curves_are_read_by_their_columns() -> None:
    region, time = synthetic([16 * KIB], [256], ["lru"], 9)
    rows = [
        {"region_bytes": f"{r:.0f}", "block_bytes": "64", "op": "load", "ns_per_line": f"{v}"}
        for r, v in zip(region, time, strict=True)
    ]
    found = by_name(infer_curves(observations("own", list(rows[0]), rows)))
    assert covers(found["buffer.1.capacity"], 16 * KIB)
    assert found["buffer.1.capacity"].evidence[0].startswith("own-load.")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ns_per_line": "fast"}, "own.csv:2: ns_per_line is 'fast', expected a number from 0"),
        ({"ns_per_line": "nan"}, "own.csv:2: ns_per_line is 'nan', expected a number from 0"),
        ({"ns_per_line": "0"}, "own.csv:2: the time is 0, expected more"),
        ({"region_bytes": "100"}, "own.csv:2: region_bytes is '100', expected bytes, a multiple"),
        ({"op": "laod"}, "own.csv:2: op is 'laod', expected one of load"),
        ({"held_bits": "a"}, "own.csv:2: found bits 'a', expected 12 or 12-19"),
    ],
)
def test_a_wrong_cell_is_one_clear_line(change: dict[str, str], message: str) -> None:
    row = {"region_bytes": "64", "block_bytes": "64", "op": "load", "ns_per_line": "5", **change}
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        observations("own", list(row), [row])


def test_unknown_columns_name_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"found columns a, b, expected .* region_bytes"):
        observations("own", ["a", "b"], [{"a": "1", "b": "2"}])
