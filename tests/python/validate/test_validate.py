"""Validation: how points are scored, what they are compared with, that nothing is left out."""

from __future__ import annotations

import csv
import math
import statistics
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

import nearfar
from nearfar import InputError, Interrupted
from nearfar.measuring import Chase, Stream
from nearfar.results import ComparedSeries, ValidationResult, save
from nearfar.simulate.validation.accuracy import SHARE, abs_log, accuracy, ceiling, score
from nearfar.simulate.validation.datasets import DATASETS, GROUPS, choose
from nearfar.simulate.validation.tables import Tables, shipped
from nearfar.simulate.validation.validate import QUICK_POINTS, select
from standin import LOAD_NS, OVERWRITE_NS, STALL_EVERY, STALL_NS, STORE_NS, StandIn

MODEL = "model:optane-100"

positive = some.floats(1e-3, 1e9)


def validated(core: StandIn, against: str, **options: bool) -> dict[str, ComparedSeries]:
    validation = nearfar.validate(MODEL, against, core=core, **options)  # type: ignore[arg-type]
    return {series.name: series for series in validation.series}


# Scores


@given(positive)
def test_the_real_value_itself_is_exact(real: float) -> None:
    assert accuracy(real, real) == 1
    assert abs_log(real, real) == 0


@given(positive, some.floats(0, 10))
def test_accuracy_falls_with_the_relative_error_and_stops_at_zero(real: float, off: float) -> None:
    assert accuracy(real, real * (1 + off)) == pytest.approx(max(0, 1 - off), abs=1e-9)
    assert 0 <= accuracy(real, real / (1 + off)) <= 1


@given(positive, some.floats(1, 100))
def test_the_logarithm_treats_too_much_and_too_little_alike(real: float, factor: float) -> None:
    assert abs_log(real, real * factor) == pytest.approx(abs_log(real, real / factor), abs=1e-9)


def test_a_score_has_the_mean_the_worst_and_where_it_is() -> None:
    scored = score([(100, 100), (100, 150), (100, 90)])
    assert (scored.n, scored.worst, scored.worst_index) == (3, 0.5, 1)
    assert scored.mean == pytest.approx(0.8)
    expected = statistics.fmean([0, math.log(1.5), -math.log(0.9)])
    assert scored.mean_abs_log == pytest.approx(expected)


def test_a_model_that_gives_nothing_scores_zero_and_has_a_finite_logarithm() -> None:
    scored = score([(100, 0)])
    assert scored.mean == 0
    assert scored.mean_abs_log == pytest.approx(math.log(1000))


def test_a_share_is_judged_by_the_difference_and_may_be_zero() -> None:
    assert accuracy(0, 0.25, SHARE) == 0.75
    scored = score([(0, 0), (0.5, 0.25)], SHARE)
    assert (scored.mean, scored.worst, scored.mean_abs_log) == (0.875, 0.75, 0.125)
    assert ceiling(["a", "a"], [0, 0.5], SHARE) == 0.75


def test_the_ceiling_is_one_where_nothing_was_measured_twice() -> None:
    assert ceiling(["a", "b"], [1.0, 2.0]) == 1


def test_the_ceiling_predicts_the_median_of_each_key() -> None:
    assert ceiling(["a", "a", "a", "b"], [90, 100, 120, 7]) == pytest.approx(
        statistics.fmean([1 - 10 / 90, 1, 1 - 20 / 120, 1])
    )


@given(some.lists(some.tuples(some.integers(0, 3), positive), min_size=1, max_size=20))
def test_no_prediction_by_key_is_scored_above_one(rows: list[tuple[int, float]]) -> None:
    assert 0 <= ceiling([key for key, _ in rows], [real for _, real in rows]) <= 1


# What is compared


def test_every_row_of_the_pointer_chases_is_a_point_of_two_series(
    core: StandIn, reference: Path
) -> None:
    with (reference / "vans_ptr_chasing.csv").open() as file:
        rows = list(csv.DictReader(file))
    found = validated(core, "demo")
    chases = [series for name, series in found.items() if name.startswith("chase-")]
    assert sum(series.n for series in chases) == 2 * len(rows) == 930
    loads = sorted(p.real for s in chases if s.name.endswith("-load") for p in s.points)
    assert loads == sorted(float(row["read_ns_per_CL"]) for row in rows)


def test_points_are_compared_with_the_matching_pass_of_the_matching_machine(
    core: StandIn,
) -> None:
    found = validated(core, "chase-6dimm-64")
    assert {p.simulated for p in found["chase-6dimm-64-load"].points} == {LOAD_NS}
    assert {p.simulated for p in found["chase-6dimm-64-store"].points} == {STORE_NS}
    assert all("channels = 6\n" in asked["settings"] for asked in core.asked)
    assert {asked["fence_kind"] for asked in core.asked} == {"mfence"}
    assert {asked["region"] for asked in core.asked} == {
        p.x for p in found["chase-6dimm-64-load"].points
    }


def test_a_repeated_measurement_is_compared_each_time_but_run_once(core: StandIn) -> None:
    found = validated(core, "chase-6dimm-64")
    series = found["chase-6dimm-64-load"]
    assert series.n == 53
    assert len({p.x for p in series.points}) == 49
    runs = [(asked["region"], asked["seed"]) for asked in core.asked]
    assert len(runs) == len(set(runs))
    assert 0.99 < series.ceiling < 1


def test_small_regions_are_walked_in_several_orders_and_the_mean_is_compared(
    core: StandIn,
) -> None:
    validated(core, "chase-1dimm-64")
    seeds: dict[int, list[int]] = {}
    for asked in core.asked:
        seeds.setdefault(asked["region"], []).append(asked["seed"])
    assert seeds[4096] == [1, 2, 3, 4, 5, 6]
    assert seeds[1 << 20] == [1]
    core.slower_with_seed = True
    found = validated(core, "chase-1dimm-64")["chase-1dimm-64-load"]
    (point,) = [p for p in found.points if p.x == 4096]
    assert point.simulated == LOAD_NS * (1 + 2 + 3 + 4 + 5 + 6) / 6


def test_one_run_serves_the_load_and_the_store_curve(core: StandIn) -> None:
    validated(core, "chase-1dimm-4096")
    assert [asked["ops"] for asked in core.asked] == [["ntstore", "ntload"]] * 52


def test_the_overwrite_gives_four_figures(core: StandIn) -> None:
    points = {p.label: p for p in validated(core, "overwrite")["overwrite"].points}
    assert {label: point.simulated for label, point in points.items()} == {
        "median write": OVERWRITE_NS,
        "stall length": STALL_NS,
        "median interval": STALL_EVERY,
        "interval variation": 0,
    }
    assert points["median write"].real == pytest.approx(266.4)
    assert points["stall length"].real == pytest.approx(52125, abs=1)
    assert points["median interval"].real == 15982
    assert core.asked[0]["writes"] / points["median interval"].real > 100


def test_bandwidths_are_compared_in_gigabytes_a_second(core: StandIn) -> None:
    series = validated(core, "bandwidth-1dimm")["bandwidth-1dimm-ntload"]
    (point,) = [p for p in series.points if p.label == "256 B, random, 4 threads"]
    assert point.real == pytest.approx(6643.2 * 2**20 / 1e9)  # the table has MiB/s
    assert point.simulated == pytest.approx(4 * 64 / LOAD_NS)


def test_write_amplification_is_the_inverse_of_the_effective_write_ratio(core: StandIn) -> None:
    series = validated(core, "bandwidth-1dimm")["bandwidth-1dimm-amplification"]
    (point,) = [p for p in series.points if p.label == "ntstore, 64 B, random, 1 thread"]
    assert point.real == pytest.approx(1 / 0.2457)
    assert point.simulated == 2


def test_contention_is_a_ratio_to_the_undisturbed_read(core: StandIn) -> None:
    points = {p.label: p for p in validated(core, "contention")["contention"].points}
    assert points["read beside reads"].real == pytest.approx(823.5 / 813)
    assert points["read beside writes"].real == pytest.approx(2179 / 813)
    assert points["read beside reads"].simulated == 2
    assert points["read beside writes"].simulated == 3


def test_the_capacities_of_the_buffers_are_marked(core: StandIn) -> None:
    found = validated(core, "chase-1dimm-64,chase-6dimm-64")
    assert [mark.x for mark in found["chase-1dimm-64-load"].marks] == [16384, 16 << 20]
    assert [mark.x for mark in found["chase-6dimm-64-load"].marks] == [6 * 16384, 96 << 20]


@pytest.mark.parametrize("name", [name for name in DATASETS if not name.startswith("loaded-")])
def test_every_dataset_has_measurements_with_a_source_and_fits_the_machine(name: str) -> None:
    _, series = select(name, DATASETS[name].machine)
    assert series
    for one in series:
        assert one.source
        assert one.points
        assert all(point.real > 0 or point.unit == SHARE for point in one.points)
        for point in one.points:
            pattern = point.job.pattern
            if isinstance(pattern, Chase):
                assert pattern.footprint(pattern.region[0], 1) <= 256 << 30
            if isinstance(pattern, Stream):
                assert pattern.footprint(pattern.threads[0]) <= 256 << 30


def test_series_have_names_of_their_own() -> None:
    _, series = select("all", "nvdimm")
    names = [one.name for one in series]
    assert len(names) == len(set(names))


def test_a_quick_run_takes_the_ends_and_a_few_between(core: StandIn) -> None:
    whole = validated(core, "chase-1dimm-64")["chase-1dimm-64-load"]
    quick = validated(core, "chase-1dimm-64", quick=True)["chase-1dimm-64-load"]
    assert quick.n == QUICK_POINTS
    assert (quick.points[0], quick.points[-1]) == (whole.points[0], whole.points[-1])
    assert set(quick.points) <= set(whole.points)


def test_a_quick_overwrite_sees_fewer_stalls(core: StandIn) -> None:
    validated(core, "overwrite", quick=True)
    assert 10 < core.asked[0]["writes"] / 15982 < 30


# Choosing


def test_groups_stand_for_their_members_and_leave_out_other_machines() -> None:
    assert [d.name for d in choose(["demo"], "nvdimm")] == list(GROUPS["demo"])
    assert "dram-idle" not in [d.name for d in choose(["all"], "nvdimm")]
    assert {d.machine for d in choose(["all"], "dram")} == {"dram"}
    assert "dram-idle" in [d.name for d in choose(["all"], "dram")]
    assert [d.name for d in choose(["all"], "cxl")] == ["cxl"]
    assert [d.name for d in choose(["overwrite", "demo", "overwrite"], "nvdimm")].count(
        "overwrite"
    ) == 1


@pytest.mark.parametrize(
    ("names", "machine", "complaint"),
    [
        (["overwrites"], "nvdimm", "did you mean overwrite?"),
        (["dram-idle"], "nvdimm", "a machine of kind 'dram', this model is of kind 'nvdimm'"),
        (["demo"], "dram", "nothing in demo fits a dram machine"),
    ],
)
def test_a_choice_that_cannot_be_compared_is_refused(
    names: list[str], machine: str, complaint: str
) -> None:
    with pytest.raises(InputError) as error:
        choose(names, machine)
    assert complaint in str(error.value)


# Tables of one's own


def test_a_folder_of_tables_is_read_by_columns_whatever_the_files_are_called(
    core: StandIn, tmp_path: Path
) -> None:
    (tmp_path / "mine.csv").write_text(
        "dimms,region_B,block_B,write_ns_per_CL,read_ns_per_CL,remark\n1,4096,64,25,80,x\n"
    )
    (tmp_path / "notes.txt").write_text("not a table")
    found = validated(core, str(tmp_path))
    # What is stated in the program rather than in a table is there as always.
    assert set(found) == {"chase-1dimm-64-load", "chase-1dimm-64-store", "random-read"}
    assert found["chase-1dimm-64-load"].mean == pytest.approx(0.75)
    assert found["chase-1dimm-64-store"].mean == pytest.approx(0.8)


def test_a_folder_and_a_dataset_choose_from_it(core: StandIn, reference: Path) -> None:
    assert set(validated(core, f"{reference},overwrite")) == {"overwrite"}


def test_only_local_persistent_memory_of_a_sweep_is_compared(core: StandIn, tmp_path: Path) -> None:
    (tmp_path / "sweep.csv").write_text(
        "media,local_numa,interleaved_6dimm,operation,threads,access_size_B,stride_B,"
        "throughput_MiBps,ewr\n"
        "lpmem,1,0,Load,1,256,0,1000,\n"
        "ldram,1,0,Load,1,256,0,2000,\n"
        "lpmem,0,0,Load,1,256,0,3000,\n"
        "lpmem,1,0,Prefetch,1,256,0,4000,\n"
        "lpmem,1,0,NTStore,1,256,0,0.0,\n"
    )
    found = validated(core, f"{tmp_path},bandwidth-1dimm")
    assert [p.real for s in found.values() for p in s.points] == [pytest.approx(1048.576e6 / 1e9)]


CHASE = "dimms,region_B,block_B,write_ns_per_CL,read_ns_per_CL\n1,{},80\n"


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (
            "dimms,region_B,block_B,write_ns_per_CL,read_ns_per_CL\n1,4096,64,fast,80\n",
            "t.csv: write_ns_per_CL is 'fast', expected a number",
        ),
        (CHASE.format("4096,64,nan"), "write_ns_per_CL is 'nan', expected a number"),
        (CHASE.format("4096,64,0"), "write_ns_per_CL is '0', expected a number above 0"),
        (CHASE.format("4096,64,-5"), "write_ns_per_CL is '-5', expected a number above 0"),
        (CHASE.format("inf,64,70"), "region_B is 'inf', expected a number"),
        (CHASE.format("4096.5,64,70"), "region_B is '4096.5', expected a whole number from 0"),
        (
            "dimms,region_B,block_B,write_ns_per_CL,read_ns_per_CL\n1,4096,64\n",
            "t.csv:2: expected 5 cells",
        ),
        ("a,b\n1,2\n", "has no table for"),
    ],
)
def test_a_bad_table_is_one_clear_error(
    core: StandIn, tmp_path: Path, content: str, complaint: str
) -> None:
    (tmp_path / "t.csv").write_text(content)
    with pytest.raises(InputError) as error:
        validated(core, f"{tmp_path},chase-1dimm-64")
    assert complaint in str(error.value)


@pytest.mark.parametrize(
    ("dataset", "table", "column"),
    [
        ("bandwidth-1dimm", "optane_study_bandwidth", "ewr"),
        ("perma-6dimm", "perma_single", "threads"),
        ("replacement", "sec23_rmw_replacement_same_order", "Iteration"),
    ],
)
def test_a_cell_that_would_divide_by_zero_is_named(dataset: str, table: str, column: str) -> None:
    found = shipped().named(table)
    assert found is not None
    rows = [{**row, column: "0"} if row.get(column) else row for row in found.rows]
    with pytest.raises(InputError, match=rf"^{table}\.csv: {column} is '0', expected"):
        DATASETS[dataset].build(Tables([replace(found, rows=rows)], "here"))


@pytest.mark.parametrize("rows", ["", "98,70\n", "98,70\n198,50000\n298,70\n"])
def test_overwrites_without_stalls_are_one_clear_error(tmp_path: Path, rows: str) -> None:
    (tmp_path / "t.csv").write_text(f"iteration,ns\n{rows}")
    with pytest.raises(InputError, match=r"t\.csv: found \d ordinary writes and \d stalls"):
        select([str(tmp_path), "overwrite"], "nvdimm")


def test_a_saved_measurement_of_no_time_is_refused_before_anything_runs(
    core: StandIn, tmp_path: Path
) -> None:
    file = tmp_path / "chase.json"
    measured = nearfar.measure(MODEL, Chase(region="4KiB"), core=core)
    save(replace(measured, points=[replace(measured.points[0], ns_per_line=0.0)]), file)
    asked = len(core.asked)
    with pytest.raises(InputError, match=r"chase:.*: region 4096 B was measured as 0 ns, expected"):
        validated(core, str(file))
    assert len(core.asked) == asked


def test_an_empty_folder_is_refused(core: StandIn, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no CSV table in this folder"):
        validated(core, str(tmp_path))


# The document


def test_a_validation_shows_every_parameter_of_the_model_with_its_source(core: StandIn) -> None:
    validation = nearfar.validate(MODEL, "overwrite", quick=True, core=core)
    model = nearfar.load_model("optane-100")
    assert [parameter.key for parameter in validation.model.parameters] == list(model.values)
    assert all(parameter.source for parameter in validation.model.parameters)


def test_ctrl_c_keeps_the_finished_points(core: StandIn) -> None:
    core.interrupt_at = 3
    with pytest.raises(Interrupted) as stopped:
        nearfar.validate(MODEL, "chase-1dimm-4096", core=core)
    validation: ValidationResult = stopped.value.result
    assert validation.interrupted
    assert [series.n for series in validation.series] == [3, 3]
