"""What a sweep computes, keeps, finds again and refuses."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import swept
from nearfar.cli.works import parse_work
from nearfar.errors import InputError, NearfarError
from nearfar.results import MeasureResult, parse
from nearfar.sweeping.points import Expander
from nearfar.sweeping.ranges import parse_range
from nearfar.sweeping.show import read_result, read_sweep
from nearfar.sweeping.study import Study
from nearfar.sweeping.sweep import SweepOptions, sweep
from swept import Told

Run = Callable[..., tuple[int, str, str]]
Refused = Callable[..., str]
CHASE = "measure chase --region 4KiB --lines 64"
SPACE = ("--set", "nvdimm.rmw.entries=64,128", "--set", "channels=1..2", "--for", CHASE)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_point_of_a_sweep_has_the_result_of_its_command(nearfar: Run) -> None:
    assert nearfar("sweep", "model:optane-100", *SPACE, "--store", "a.db")[0] == 0
    found = read_sweep("a.db", whole=True)
    assert len(found.points) == 4
    for point in found.points:
        changes = ",".join(f"{key}={value}" for key, value in point.settings.items())
        words = ("measure", f"model:optane-100,{changes}", *CHASE.split()[1:])
        _, alone, _ = nearfar(*words, "--json", "-")
        assert read_result("a.db", point.id) == alone
        document = parse(point.result)
        assert isinstance(document, MeasureResult)
        assert point.figures["ns_per_line"] == document.points[0].ns_per_line


def test_what_was_computed_is_found_and_not_computed_again(nearfar: Run) -> None:
    words = ("sweep", "model:optane-100", *SPACE, "--store", "a.db")
    assert "4 of 4 points, 4 computed now, 0 found" in nearfar(*words)[1]
    assert "4 of 4 points, 0 computed now, 4 found" in nearfar(*words)[1]
    wider = ("--set", "nvdimm.rmw.entries=64,128,256", "--set", "channels=1..2", "--for", CHASE)
    out = nearfar("sweep", "model:optane-100", *wider, "--store", "a.db")[1]
    assert "6 of 6 points, 2 computed now, 4 found" in out
    assert "4 computed now" in nearfar(*words, "--again")[1]


def test_the_same_machine_is_the_same_point_however_it_is_written() -> None:
    def hashes(target: str, work: str, **ranges: str) -> set[str]:
        found = {key.replace("_", "."): parse_range(key, text) for key, text in ranges.items()}
        points, _ = Expander(
            Study("s", (target,), (work,), found), parse_work
        ).expand(Study("s", (target,), (work,), found).cells())  # fmt: skip
        return {point.hash for point in points}

    one = hashes("model:optane-100,channels=2", CHASE)
    assert hashes("model:optane-100", CHASE, channels="2") == one
    assert (
        hashes("model:optane-100", "measure chase --lines 64 --region 4096B", channels="2") == one
    )
    assert hashes("model:optane-100", CHASE, channels="1") != one
    assert hashes("model:optane-100,channels=2", CHASE + " --seed 2") != one


def test_a_changed_input_file_makes_another_point(here: Path) -> None:
    trace = here / "t.trc"
    study = Study("t", ("model:ddr4-2666",), (f"replay {trace} --format ramulator",))

    def address() -> str:
        return Expander(study, parse_work).expand(study.cells())[0][0].hash

    trace.write_text("R 0x40\n")
    before = address()
    assert address() == before
    trace.write_text("R 0x80\nR 0x1000\n")
    assert address() != before


def test_a_point_that_fails_is_kept_with_its_line_and_the_rest_goes_on(tmp_path: Path) -> None:
    store = tmp_path / "f.db"
    study = swept.study(work="fails {n}", n="1..4")
    tally = sweep(study, store, Told)
    assert (tally.computed, tally.failed, tally.first_error) == (4, 1, "two is no number of mine")
    assert swept.figures(store) == [1.0, 3.0, 4.0]
    assert [one.error for one in read_sweep(store).of_state("failed")] == [tally.first_error]
    again = sweep(study, store, Told)
    assert (again.computed, again.found, again.failed) == (0, 4, 1)
    assert sweep(study, store, Told, SweepOptions(retry=True)).computed == 1


def test_a_failed_point_ends_the_command_with_status_1(nearfar: Run) -> None:
    Path("t.trc").write_text("R 0x40\nnonsense\n")
    words = ("--for", "replay t.trc --format ramulator", "--for", CHASE, "--store", "f.db")
    status, out, err = nearfar("sweep", "model:ddr4-2666", *words)
    assert status == 1
    assert "2 of 2 points, 2 computed now, 0 found, 1 failed" in out
    assert "t.trc:2" in err
    _, shown, _ = nearfar("sweep", "show", "f.db", "--failed")
    assert "t.trc:2" in shown


def test_a_program_that_fails_is_a_failed_point_with_its_result(nearfar: Run) -> None:
    status, _, err = nearfar("sweep", "model:ddr4-2666", "--for", "run -- false", "--store", "p.db")
    if "QEMU" in err or "plug-in" in err:
        pytest.skip(err)
    assert status == 1
    assert "false: exit status 1" in err
    (point,) = read_sweep("p.db", whole=True).points
    assert (point.state, point.result["exit_code"]) == ("failed", 1)


def test_a_point_that_ends_its_worker_again_and_again_fails(tmp_path: Path) -> None:
    store = tmp_path / "k.db"
    tally = sweep(swept.study(work="kills {n}", n="1..6"), store, Told, SweepOptions(jobs=2))
    assert (tally.computed, tally.failed) == (6, 1)
    assert "ended by SIGKILL" in tally.first_error
    assert swept.figures(store) == [1.0, 3.0, 4.0, 5.0, 6.0]


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_the_store_has_the_same_bytes_for_any_number_of_workers(tmp_path: Path, jobs: int) -> None:
    study = swept.study(n="1..9", seed="1,2")
    sweep(study, tmp_path / "one.db", Told, SweepOptions(jobs=1))
    sweep(study, tmp_path / "more.db", Told, SweepOptions(jobs=jobs))
    assert swept.rows(tmp_path / "one.db") == swept.rows(tmp_path / "more.db")
    assert swept.results(tmp_path / "one.db") == swept.results(tmp_path / "more.db")
    assert len(swept.results(tmp_path / "one.db")) == 18


def test_seeds_make_a_point_each(nearfar: Run) -> None:
    words = ("--for", CHASE, "--seeds", "1..3", "--store", "s.db")
    assert nearfar("sweep", "model:optane-100", *words)[0] == 0
    found = read_sweep("s.db", whole=True)
    assert found.keys == ("seed",)
    assert [one.result["environment"]["seed"] for one in found.points] == [1, 2, 3]


def test_a_result_file_that_is_gone_is_computed_again(tmp_path: Path) -> None:
    store = tmp_path / "g.db"
    study = swept.study(n="1..3")
    sweep(study, store, Told)
    before = swept.results(store)
    next(store.with_suffix(".results").rglob("*.json")).unlink()
    assert sweep(study, store, Told).computed == 1
    assert swept.results(store) == before


REFUSED = [
    (("--set", "nvdimm.rmw.entrys=1,2", "--for", CHASE), "nvdimm.rmw.entrys", "did you mean"),
    (("--set", "channels=1,99", "--for", CHASE), "point channels=99: ", "expected"),
    (("--set", "channels=1,2", "--set", "channels=3", "--for", CHASE), "channels twice", ""),
    (("--set", "channels", "--for", CHASE), "expected KEY=RANGE", ""),
    (("--for", "measure chase --region {size}"), "{size}", "give --set size="),
    (("--for", "mesure chase"), "work: found 'mesure'", "did you mean measure"),
    (("--for", "measure chase --region 4KiB --json x"), "found --json", ""),
    (("--for", "measure chase --regoin 4KiB"), "--regoin", "did you mean --region"),
    (("--for", "replay none.trc"), "none.trc", "No such file"),
    (("--for", "measure chase --region 'x"), "No closing quotation", ""),
    ((), "found no work", "--for"),
    (("--for", CHASE, "--jobs", "0"), "--jobs: found 0", "expected at least 1"),
    (("--for", CHASE, "--on", "dusk:x"), "--on: found 'dusk:x'", "did you mean dask"),
    (("--for", CHASE, "--seeds", "1,x"), "--seeds", "whole numbers"),
    (("--for", CHASE, "--within", "3"), "--within: found without --minimise", ""),
]


@pytest.mark.parametrize(("words", "found", "more"), REFUSED, ids=[one[1] for one in REFUSED])
def test_bad_input_is_refused_before_anything_runs(
    refused: Refused, here: Path, words: tuple[str, ...], found: str, more: str
) -> None:
    said = refused("sweep", "model:optane-100", *words, "--store", "r.db")
    assert found in said
    assert more in said
    assert list(here.iterdir()) == []


def test_a_target_that_is_no_model_is_refused(refused: Refused) -> None:
    assert "model:" in refused("sweep", "optane-100", "--for", CHASE)
    assert "model" in refused("sweep", "host", "--for", CHASE, "--store", "h.db")
    assert "No such file" in refused("sweep", "none.toml")


def test_another_study_of_the_same_name_is_refused_until_it_is_to_replace_it(
    tmp_path: Path,
) -> None:
    store = tmp_path / "n.db"
    sweep(swept.study(n="1..3"), store, Told)
    other = swept.study(n="2..5")
    with pytest.raises(InputError, match="has another study of the name told"):
        sweep(other, store, Told)
    tally = sweep(other, store, Told, SweepOptions(replace=True))
    assert (tally.computed, tally.found) == (2, 2)
    assert len(read_sweep(store).points) == 4


def test_a_store_of_another_version_and_other_files_are_refused(tmp_path: Path) -> None:
    store = tmp_path / "v.db"
    sweep(swept.study(n="1..2"), store, Told)
    with sqlite3.connect(store) as db:
        db.execute("PRAGMA user_version = 7")
    with pytest.raises(InputError, match="found a store of version 7, expected 1"):
        read_sweep(store)
    text = tmp_path / "text.db"
    text.write_text("no database at all" * 100)
    with pytest.raises(InputError, match=r"text.db: is no database"):
        read_sweep(text)
    foreign = tmp_path / "foreign.db"
    with sqlite3.connect(foreign) as db:
        db.execute("CREATE TABLE t (x)")
    with pytest.raises(InputError, match="another kind of database"):
        sweep(swept.study(n="1..2"), foreign, Told)
    with pytest.raises(InputError, match="no such file"):
        read_sweep(tmp_path / "none.db")


def test_points_of_another_version_of_nearfar_are_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "v.db"
    study = swept.study(n="1..2")
    monkeypatch.setattr("nearfar.__version__", "0.0.9")
    assert sweep(study, store, Told).computed == 2
    monkeypatch.setattr("nearfar.__version__", "0.0.10")
    assert sweep(study, store, Told).computed == 2
    assert len(swept.rows(store)) == 4


def test_a_full_disk_ends_the_sweep_with_what_was_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "full.db"
    study = swept.study(n="1..5")
    write, written = Path.write_text, []

    def filling(path: Path, *given: Any, **options: Any) -> int:
        written.append(path)
        if len(written) > 2:
            raise OSError(28, "No space left on device", str(path))
        return write(path, *given, **options)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_text", filling)
        with pytest.raises(NearfarError, match="No space left on device; finished points are kept"):
            sweep(study, store, Told, SweepOptions(jobs=1))
    assert len(swept.rows(store)) == 2
    tally = sweep(study, store, Told)
    assert (tally.computed, tally.found) == (3, 2)
    assert [
        file
        for file in tmp_path.rglob("*")
        if file.is_file() and file.suffix not in (".db", ".json")
    ] == []


def test_a_database_that_cannot_grow_ends_the_sweep_with_what_was_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "full.db"
    study = swept.study(n="1..400")
    connect = sqlite3.connect

    def small(*given: Any, **options: Any) -> sqlite3.Connection:
        opened: sqlite3.Connection = connect(*given, **options)
        opened.execute("PRAGMA max_page_count = 40")
        return opened

    with monkeypatch.context() as patched:
        patched.setattr("nearfar.sweeping.store.sqlite3.connect", small)
        with pytest.raises(NearfarError) as ended:
            sweep(study, store, Told, SweepOptions(jobs=1))
    said = f"{store}: No space left on device; finished points are kept, and the same command"
    assert str(ended.value).startswith(said)
    kept = swept.rows(store)
    assert 0 < len(kept) < 400
    tally = sweep(study, store, Told)
    assert (tally.computed, tally.found) == (400 - len(kept), len(kept))
    assert kept.items() <= swept.rows(store).items()


def test_parquet_has_the_table_that_csv_has(nearfar: Run, refused: Refused) -> None:
    sweep(swept.study(work="fails {n}", n="1..3"), "p.db", Told)
    assert nearfar("sweep", "show", "p.db", "--parquet", "p.parquet", "--quiet")[0] == 0
    parquet = pytest.importorskip("pyarrow.parquet")
    read = parquet.read_table("p.parquet").to_pydict()
    lines = nearfar("sweep", "show", "p.db", "--csv", "-")[1].splitlines()
    assert list(read) == lines[0].split(",")
    assert read["n"] == ["1", "2", "3"]
    assert read["ns_per_line"] == [1.0, None, 3.0]
    assert read["state"] == ["done", "failed", "done"]
    assert "none" in refused("sweep", "show", "p.db", "--parquet", "none/p.parquet")


def test_a_store_of_several_studies_asks_for_one(nearfar: Run, refused: Refused) -> None:
    for name in ("one", "two"):
        sweep(swept.study(name, n="1..2"), "m.db", Told)
    assert "found 2 studies, expected --study with one of one, two" in refused(
        "sweep", "show", "m.db"
    )
    assert "did you mean two" in refused("sweep", "show", "m.db", "--study", "twoo")
    assert "two: 2 points" in nearfar("sweep", "show", "m.db", "--study", "two")[1]


def test_csv_has_every_point_and_json_the_whole_study(nearfar: Run) -> None:
    sweep(swept.study(work="fails {n}", n="1..3"), "c.db", Told)
    lines = nearfar("sweep", "show", "c.db", "--csv", "-")[1].splitlines()
    assert lines[0] == "point,target,work,n,ns_per_line,gb_per_s,state,error"
    assert [line.split(",")[3:] for line in lines[1:]] == [
        *(["1", "1.0", "1.0", "done", ""], ["2", "", "", "failed", "two is no number of mine"]),
        ["3", "3.0", "1.0", "done", ""],
    ]
    whole = json.loads(nearfar("sweep", "show", "c.db", "--json", "-")[1])
    assert parse(whole) == replace(read_sweep("c.db", whole=True))


def test_a_figure_is_shown_by_its_path_and_an_unknown_one_is_refused(
    nearfar: Run, refused: Refused
) -> None:
    sweep(swept.study(n="1..3"), "c.db", Told)
    out = nearfar("sweep", "show", "c.db", "--figure", "points.0.elapsed_ns")[1]
    assert "points.0.elapsed_ns" in out
    assert "did you mean ns_per_line" in refused("sweep", "show", "c.db", "--figure", "ns_per_lin")


def test_a_pareto_front_has_the_points_that_none_is_better_than(nearfar: Run) -> None:
    words = ("--set", "region=4KiB,1MiB", "--for", "measure chase --region {region} --lines 256")
    nearfar("sweep", "model:optane-100", *words, "--store", "p.db")
    out = nearfar("sweep", "show", "p.db", "--pareto", "ns_per_line,max:gb_per_s")[1]
    assert "1 point\n" in out
    assert "4KiB" in out


def test_a_fault_of_the_program_costs_its_point_and_not_the_sweep(tmp_path: Path) -> None:
    tally = sweep(swept.study(work="says {n}", n="1,x,3"), tmp_path / "i.db", Told)
    assert (tally.computed, tally.failed) == (3, 1)
    assert tally.first_error.startswith("internal error: ValueError: could not convert string")
