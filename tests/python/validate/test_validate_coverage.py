"""Which published measurement is compared by what: nothing is dropped without a reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import Run
from nearfar.measuring import Stream
from nearfar.model import load
from nearfar.simulate.validation.coverage import UNEXPLAINED, coverage
from nearfar.simulate.validation.datasets import DATASETS, kind_of
from nearfar.simulate.validation.series import HardwarePoint
from nearfar.simulate.validation.tables import Tables, external, shipped
from nearfar.simulate.walk import Walk


def points(name: str, tables: Tables) -> list[HardwarePoint]:
    return [point for series in DATASETS[name].build(tables) for point in series.points]


def table(folder: Path, text: str) -> Tables:
    (folder / "t.csv").write_text(text)
    return external(folder)


def test_every_row_is_compared_or_has_a_reason() -> None:
    for one in coverage(shipped()).tables:
        left_out = sum(one.left_out.values())
        assert UNEXPLAINED not in one.left_out, one
        assert max(one.compared.values(), default=0) <= one.rows
        assert sum(one.compared.values()) + left_out >= one.rows


def test_every_single_figure_is_compared_or_has_a_reason() -> None:
    figures = coverage(shipped()).figures
    assert len(figures) > 100
    for figure in figures:
        assert bool(figure.compared) != bool(figure.reason), figure.name


def test_a_row_that_no_dataset_takes_is_called_unexplained(tmp_path: Path) -> None:
    (one,) = coverage(table(tmp_path, "a,b\n1,2\n")).tables
    assert one.left_out == {UNEXPLAINED: 1}


def test_the_list_names_the_datasets_that_are_run(nearfar: Run) -> None:
    status, out, err = nearfar("validate", "--list", "--json", "-")
    assert (status, err) == (0, "")
    listed = {one["name"]: one["points"] for one in json.loads(out)["datasets"]}
    tables = shipped()
    assert listed == {name: len(points(name, tables)) for name in DATASETS}


def test_a_target_is_needed_unless_the_list_is_asked_for(nearfar: Run) -> None:
    status, _, err = nearfar("validate")
    assert status == 2
    assert "expected a TARGET" in err
    status, out, _ = nearfar("validate", "--list")
    assert status == 0
    for name in DATASETS:
        assert f"\n{name} " in out


@pytest.mark.parametrize(
    ("model", "kind"),
    [("optane-100", "nvdimm"), ("ddr4-2666", "dram"), ("cxl-expander", "cxl")],
)
def test_a_model_is_compared_with_machines_of_its_kind(model: str, kind: str) -> None:
    assert kind_of(load(model)) == kind


# What the rows of tables become


FLUSH = "interleaved_6dimm,op_code,threads,access_size_B,clwb_every_B,sfence_every_B,"


def test_a_fence_interval_is_the_models_and_long_ones_are_none(tmp_path: Path) -> None:
    tables = table(
        tmp_path,
        FLUSH + "throughput_MiBps\n0,0,1,256,64,128,500\n0,1,4,4194304,64,4194304,500\n",
    )
    patterns = [point.job.pattern for point in points("flush-1dimm", tables)]
    assert isinstance(patterns[0], Stream)
    assert isinstance(patterns[1], Stream)
    assert (patterns[0].fence_every, patterns[0].access) == (128, (256,))
    assert patterns[0].strides_for(256) == (256,)
    assert (patterns[1].fence_every, patterns[1].stride) == (None, ("random",))


PLACED = "alloc_type,operation,threads,access_size_B,throughput_MiBps,date\n"


@pytest.mark.parametrize(
    ("allocation", "channels", "threads"), [(0, "6", 6), (2, "1", 1), (3, "3", 3), (4, "2", 2)]
)
def test_groups_that_share_no_dimm_are_run_once_and_multiplied(
    tmp_path: Path, allocation: int, channels: str, threads: int
) -> None:
    row = f"{allocation},NTStore,6,256,1000,2019-04-12\n"
    (point,) = points("placement", table(tmp_path, PLACED + row))
    assert dict(point.job.overrides)["channels"] == channels
    assert point.job.pattern.threads == (threads,)  # type: ignore[union-attr]
    assert point.scale * threads == 6
    assert point.simulated({(point.job, "gb_per_s"): 2.0}) == 2.0 * point.scale


def test_an_mfence_follows_each_access_on_the_days_that_show_one(tmp_path: Path) -> None:
    row = "0,Load,12,256,6010,2019-04-17\n0,Load,6,256,11495,2019-04-12\n"
    free, fenced = points("placement", table(tmp_path, PLACED + row))
    assert isinstance(free.job.pattern, Stream)
    assert free.job.pattern.fence_every is None
    assert isinstance(fenced.job.pattern, Stream)
    assert (fenced.job.pattern.fence_every, fenced.job.pattern.fence) == (256, "mfence")


# Walks


def test_held_bits_stay_zero_and_no_two_blocks_meet() -> None:
    walk = Walk.over(1 << 16, (8, 12, 13))
    addresses = [walk.address(block) for block in range(walk.blocks)]
    assert len(set(addresses)) == walk.blocks == 1024
    assert not any(address >> bit & 1 for address in addresses for bit in (8, 12, 13))


def test_bits_that_a_region_does_not_reach_are_no_difference() -> None:
    assert Walk.over(4096, (14,)) == Walk.over(4096)
    assert Walk.over(4096, (11,)) != Walk.over(4096)


def test_reads_between_passes_are_not_timed() -> None:
    walk = Walk(blocks=3, stride=256, random=False, between=2)
    times = [float(i % 5) for i in range(walk.length())]
    assert set(walk.timed(times)) == {0.0, 1.0, 2.0}
    assert len(walk.timed(times)) == walk.reads()[1]
