"""Bandwidth-latency families as a dataset: what is read from tables, and from a model's curve."""

from __future__ import annotations

from pathlib import Path

import pytest

import nearfar
from nearfar import InputError
from nearfar.cli.main import main
from nearfar.measuring import Loaded
from nearfar.results import Environment, MeasureResult, Point, Target
from nearfar.simulate.validation import quantities
from nearfar.simulate.validation.coverage import coverage
from nearfar.simulate.validation.datasets import loaded
from nearfar.simulate.validation.families import published
from nearfar.simulate.validation.series import Series
from nearfar.simulate.validation.tables import Tables, external

# A family in the layout of the Mess benchmark's results; the figures are made up.
ROWS = """read_percent,pause,bandwidth_gb_s,latency_ns
50,0,70,300
50,10,80,250
50,50,40,120
50,5000,0,90
100,0,100,200
100,50,60,110
100,5000,0,91
"""
SMALL = "model:xeon-5218-ddr4-2933,channels=1,cpu.cores=2,cpu.l3.size=1408KiB,cpu.l3.slices=1"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mess_here_cascadelake_local.csv").write_text(ROWS)
    return tmp_path


@pytest.fixture
def tables(folder: Path) -> Tables:
    return external(folder)


def by_name(found: list[Series]) -> dict[str, Series]:
    return {one.name.removeprefix("loaded-cascade-lake-"): one for one in found}


def test_each_share_has_its_idle_latency_and_its_highest_bandwidth(tables: Tables) -> None:
    found = by_name(loaded.series(tables, "cascadelake"))
    assert [point.real for point in found["idle"].points] == [90, 91]
    assert [point.real for point in found["peak"].points] == [80, 100]
    assert found["peak"].ordered


def test_latency_is_compared_up_to_85_per_cent_of_the_highest_bandwidth(tables: Tables) -> None:
    points = by_name(loaded.series(tables, "cascadelake"))["latency"].points
    assert [(point.curve, point.x, point.real) for point in points] == [
        ("50 % reads", 40, 120),
        ("100 % reads", 60, 110),
    ]


def test_a_share_is_one_run_of_the_model(tables: Tables) -> None:
    series = loaded.series(tables, "cascadelake")
    jobs = {job for one in series for point in one.points for job in point.jobs}
    patterns = [job.pattern for job in jobs]
    assert all(isinstance(pattern, Loaded) for pattern in patterns)
    assert sorted(pattern.reads for pattern in patterns if isinstance(pattern, Loaded)) == [
        (50,),
        (100,),
    ]


def test_a_table_of_another_server_is_not_taken(tables: Tables) -> None:
    assert loaded.series(tables, "spr") == []


def test_the_family_of_an_unknown_server_is_named_by_its_table(tmp_path: Path) -> None:
    (tmp_path / "mess_there.csv").write_text(ROWS)
    found = loaded.others(external(tmp_path))
    assert [one.name for one in found] == [
        f"loaded-other-mess_there-{what}" for what in ("idle", "peak", "latency")
    ]
    assert loaded.others(external(tmp_path))[0].points[0].real == 90


def test_every_row_of_a_family_is_behind_a_point(tables: Tables) -> None:
    (table,) = coverage(tables).tables
    assert table.compared == {"loaded-cascade-lake": 7}
    assert table.left_out == {}


def test_without_its_table_the_dataset_says_where_to_find_it() -> None:
    with pytest.raises(InputError, match=r"loaded-cascade-lake; it does not come with nearfar, na"):
        nearfar.validate(SMALL, "loaded-cascade-lake")


def test_a_cell_that_is_no_number_is_named(folder: Path) -> None:
    (folder / "mess_here_cascadelake_local.csv").write_text(ROWS.replace("300", "fast"))
    with pytest.raises(
        InputError, match=r"^mess_here_cascadelake_local\.csv: latency_ns is 'fast'"
    ):
        loaded.series(external(folder), "cascadelake")


def test_a_model_is_compared_with_a_family_from_a_folder(folder: Path) -> None:
    result = nearfar.validate(SMALL, ["loaded-cascade-lake", str(folder)], processes=1)
    series = {one.name.removeprefix("loaded-cascade-lake-"): one for one in result.series}
    idle, peak = series["idle"].points, series["peak"].points
    assert len(idle) == len(peak) == len(series["latency"].points) == 2
    assert all(70 < point.simulated < 110 for point in idle)
    assert all(0 < point.simulated < 24 for point in peak)  # of one channel


# As a page


def test_a_published_family_is_shown_as_a_measured_one(folder: Path) -> None:
    table, page = folder / "mess_here_cascadelake_local.csv", folder / "page.html"
    assert main(["report", str(table), "-o", str(page)]) == 0
    text = page.read_text()
    assert "50 % reads" in text
    assert "100 % reads" in text
    idle = published(table).points[3]
    assert (idle.total_gb_per_s, idle.delay_ns, idle.ns_per_line) == (0, None, 90)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a,b\n1,2\n", "found no column read_percent, expected a bandwidth-latency family"),
        (ROWS.replace("50,10,80", "150,10,80"), "found 150 % reads, 80.0 GB/s and 250.0 ns"),
    ],
)
def test_a_table_that_is_no_family_is_refused(
    tmp_path: Path, text: str, complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "t.csv").write_text(text)
    assert main(["report", str(tmp_path / "t.csv"), "-o", str(tmp_path / "page.html")]) == 2
    assert complaint in capsys.readouterr().err
    assert not (tmp_path / "page.html").exists()


# What is read from a curve


def curve(*points: tuple[float | None, float, float]) -> MeasureResult:
    """Of pause, total bandwidth and latency of each rate."""
    return MeasureResult(
        Target("model", "here", "model:here", "simulated"),
        Environment("0", 1),
        {"kind": "loaded"},
        [
            Point("load", 1, 1, ns, 1, 1, delay_ns=pause, total_gb_per_s=total)
            for pause, total, ns in points
        ],
    )


CURVE = curve((0, 70, 300), (10, 80, 200), (20, 40, 120), (None, 1, 90))


@pytest.mark.parametrize(
    ("gb_per_s", "latency"),
    [(40, 120), (60, 160), (80, 200), (75, 190), (0, 90), (90, 200)],
)
def test_latency_at_a_bandwidth_lies_between_the_rates_on_the_way_to_the_highest(
    gb_per_s: float, latency: float
) -> None:
    assert quantities.read(CURVE, f"latency_at:{gb_per_s}") == pytest.approx(latency)


def test_the_highest_bandwidth_need_not_be_that_without_a_pause() -> None:
    assert quantities.read(CURVE, "peak_total_gb_per_s") == 80


def test_idle_is_the_reader_alone() -> None:
    assert quantities.read(CURVE, "idle_ns") == 90
