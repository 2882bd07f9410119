"""A model fitted to a probe of a random DIMM is that DIMM, as far as the probe sees it."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

import nearfar
from nearfar import load_model
from nearfar.cli import fit as cli
from nearfar.cli.main import main
from nearfar.errors import InputError
from nearfar.fitting.fit import Fit, Options, fit
from nearfar.fitting.given import read
from nearfar.fitting.holding import split
from nearfar.fitting.replayed import probe_series
from nearfar.model import Model
from nearfar.model.schema import KEYS
from nearfar.report.documents import page
from nearfar.report.fit import fit_text
from nearfar.results import ProbeResult, save
from nearfar.results.findings import identified

_BUFFER = "nvdimm.buffer"
STRUCTURE = (
    *("channels", "imc.interleave", "imc.wpq.lines", "nvdimm.levels", "nvdimm.lsq.lines"),
    *(f"{_BUFFER}.{n}.{key}" for n in (1, 2) for key in ("entries", "entry", "ways", "policy")),
    *("nvdimm.lsq.drain_on_fence", "nvdimm.wear.block"),
)


@pytest.mark.parametrize("key", STRUCTURE)
def test_a_key_of_the_structure_is_the_devices(
    key: str, device: Model, fitted_model: Model
) -> None:
    assert fitted_model[key] == device[key]


def test_the_interval_of_every_fitted_time_holds_the_devices_value(
    device: Model, fitted: Fit
) -> None:
    for one in fitted.result.parameters:
        if one.stage == "times" and one.interval is not None:
            low, high = (KEYS[one.key].read_text(text) for text in one.interval)
            assert low <= device[one.key] <= high, one


def test_a_parameter_that_no_observation_sees_keeps_the_bases_value(
    fitted: Fit, fitted_model: Model
) -> None:
    kept = {one.key: one for one in fitted.result.kept}
    assert kept["nvdimm.media.read_interval"].reason == "no observation changes with it"
    assert fitted_model["nvdimm.media.read_interval"] == 35_000


def test_each_fitted_value_names_its_observations_in_the_sources(fitted_model: Model) -> None:
    assert fitted_model.values["imc.wpq.lines"].source == "wpq.lines: exact"
    assert "result:reads-" in fitted_model.values["nvdimm.media.read_latency"].source


def test_a_chase_through_all_modules_is_predicted(device: Model, fitted_model: Model) -> None:
    """The probe reads one module at a time, without a core in between."""
    pattern = nearfar.Chase(region="64KiB", block="64B", lines=4096)
    seen, said = (
        nearfar.measure(model, pattern).points[0].ns_per_line for model in (device, fitted_model)
    )
    assert said == pytest.approx(seen, rel=0.05)


def test_the_number_of_processes_changes_nothing(probed: ProbeResult) -> None:
    options = Options(budget=900)
    assert (
        fit(probed, options=options).text == fit(probed, options=replace(options, processes=1)).text
    )


def test_an_interrupted_fit_goes_on_where_it_was(probed: ProbeResult, tmp_path: Path) -> None:
    record = tmp_path / "model.toml.partial"
    options = Options(budget=900, record=record, processes=1)

    def stop(done: int, _: int) -> None:
        if done >= 50:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(probed, options=options, progress=stop)
    kept = len(record.read_text(encoding="utf-8").splitlines()) - 1
    ran: list[int] = []
    went_on = fit(probed, options=options, progress=lambda done, _: ran.append(done))
    whole: list[int] = []
    alone = replace(options, record=None)
    assert went_on.text == fit(probed, options=alone, progress=lambda d, _: whole.append(d)).text
    assert len(ran) == len(whole) - kept


def test_what_was_simulated_is_kept_until_the_model_is_written(
    fitted: Fit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    record, model = tmp_path / "model.toml.partial", tmp_path / "model.toml"

    def recorded(*_: object, options: Options, **__: object) -> Fit:
        assert options.record == record
        record.write_text("{}\n")
        return fitted

    def full(path: str, _: str) -> None:
        raise InputError(f"{path}: cannot write: no space left on device")

    monkeypatch.setattr(sys.modules[fit.__module__], "fit", recorded)
    command = ["fit", "probe.json", "-o", str(model), "--quiet"]
    with monkeypatch.context() as patch:
        patch.setattr(cli, "write_output", full)
        assert main(command) == 2
    assert "no space left" in capsys.readouterr().err
    assert record.exists()
    assert main(command) == 0
    assert model.read_text(encoding="utf-8") == fitted.text
    assert not record.exists()


def test_sources_of_one_name_are_numbered_whatever_the_others_are_called(
    probed: ProbeResult, tmp_path: Path
) -> None:
    files = [tmp_path / name for name in ("a/dimm-2.json", "a/dimm.json", "b/dimm.json")]
    for file in files:
        file.parent.mkdir(exist_ok=True)
        save(probed, file)
    given = read(files, load_model("nvdimm"))
    assert given.sources == ("dimm-2", "dimm", "dimm-3")


def test_a_series_held_out_is_not_looked_at_and_stands_beside_the_others(
    probed: ProbeResult,
) -> None:
    options = Options(hold_out=("result:overwrites", "result:stores"), budget=600)
    result = fit(probed, options=options).result
    held = [one.name for one in result.series if one.held_out]
    assert sorted(held) == ["result:overwrites", "result:stores"]
    assert "nvdimm.media.write_partition" in {one.key for one in result.kept}
    assert result.training is not None
    assert result.hold_out is not None
    assert result.over_fits == (result.hold_out < result.training - 0.03)


def test_every_series_is_held_out_in_one_fold_and_predicted_by_a_fit_without_it(
    probed: ProbeResult,
) -> None:
    result = fit(probed, options=Options(folds=2, budget=300)).result
    held = [name for one in result.folds for name in one.held_out]
    assert sorted(held) == sorted(one.name for one in result.series)
    assert not any(one.held_out for one in result.series)
    alone = fit(probed, options=Options(hold_out=result.folds[1].held_out, budget=300)).result
    assert (alone.training, alone.hold_out) == (result.folds[1].training, result.folds[1].hold_out)
    lowest, highest = sorted(one.hold_out for one in result.folds)
    assert result.hold_out is not None
    assert lowest <= result.hold_out <= highest
    for shown in (fit_text(result), page([result])):
        assert f"{result.folds[0].hold_out:.3f}" in shown


def test_what_a_series_alone_shows_of_the_structure_is_held_out_with_it(
    probed: ProbeResult,
) -> None:
    given = read([probed], load_model("nvdimm"))
    for series, alone in (("overwrites", "migration.block"), ("stores", "lsq.lines")):
        held = [one for one in given.series if one.name == f"result:{series}"]
        left = {one.name for one in given.findings(held)}
        assert alone not in left
        assert {one.name for one in given.findings()} > left > {"buffer.1.entries", "wpq.lines"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (Options(folds=1), "folds: found 1, expected 2 to "),
        (Options(folds=99), "folds: found 99, expected 2 to "),
        (Options(folds=2, hold_out=("25%",)), "expected no hold-out beside it"),
        (Options(hold_out=("result:reeds-first",)), "did you mean result:reads-first"),
        (Options(hold_out=("130%",)), "expected a share such as 25%"),
        (Options(keep=("nvdimm.rwm.line",)), "unknown key 'nvdimm.rwm.line'"),
        (Options(base="ddr4-2666"), "expected an nvdimm one"),
        (Options(base="nvdim"), "did you mean nvdimm"),
        (Options(only=("overwrites",)), "did you mean overwrite"),
    ],
)
def test_an_option_that_cannot_be_used_is_one_line(
    probed: ProbeResult, options: Options, message: str
) -> None:
    with pytest.raises(InputError, match=message) as error:
        fit(probed, options=options)
    assert "\n" not in str(error.value)


def test_findings_that_contradict_each_other_are_refused(probed: ProbeResult) -> None:
    other = replace(
        probed, observations=(), findings=(identified("wpq.lines", 9, "another device", ()),)
    )
    with pytest.raises(InputError, match=r"wpq.lines is 7 and 9; .* two devices"):
        fit(probed, other)


def test_a_folder_of_several_datasets_needs_a_choice() -> None:
    with pytest.raises(InputError, match=r"found \d+ datasets.*expected --only"):
        fit("reference")


def test_a_dataset_of_another_kind_of_machine_is_refused() -> None:
    with pytest.raises(InputError, match="cxl is of a cxl machine, but the base nvdimm is nvdimm"):
        fit("reference", options=Options(only=("cxl",)))


def test_findings_that_fix_nothing_are_refused(probed: ProbeResult) -> None:
    useless = replace(probed, observations=(), findings=(identified("ict.value", "no", "", ()),))
    with pytest.raises(InputError, match="found nothing that fixes a parameter of nvdimm"):
        fit(useless)


def test_the_page_of_a_fit_shows_what_was_fitted_and_what_each_value_rests_on(fitted: Fit) -> None:
    shown = page([fitted.result])
    assert "A model fitted to result" in shown
    assert "<h2>Fitted</h2>" in shown
    assert "<h2>Held out</h2>" not in shown
    for one in fitted.result.parameters:
        assert f"<th scope=row>{one.key}<td>{one.value}" in shown


@pytest.mark.parametrize("name", ["page.html", "page.csv"])
def test_a_page_from_the_web_is_refused_as_what_it_is(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_text("<!doctype html>\n<title>A device</title>\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"page\.\w+:1: found HTML or XML, expected what") as error:
        fit(file)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "found an empty file"),
        (b"\x89PNG\r\n\x1a\n\0\0", "found binary data"),
        (b"hello world\n", "found 'hello world', expected what"),
        (b"colour,shape\nred,round\n", "no dataset of `nearfar validate --list` has such a table"),
    ],
)
def test_a_file_that_holds_no_measurements_is_refused(
    content: bytes, message: str, tmp_path: Path
) -> None:
    file = tmp_path / "device.csv"
    file.write_bytes(content)
    with pytest.raises(InputError, match=message):
        fit(file)


def test_probes_of_two_devices_are_refused(probed: ProbeResult) -> None:
    assert probed.environment is not None
    other = replace(probed, environment=replace(probed.environment, model_hash="0123456789ab"))
    with pytest.raises(InputError, match="found two devices, expected one: result is of model"):
        fit(probed, other)


def test_series_of_the_same_runs_are_held_out_together(probed: ProbeResult) -> None:
    series = probe_series(probed, "p")
    trained, held = split(series, ["p:reads-first"])
    assert [one.name for one in held] == ["p:reads-steady", "p:reads-first"]
    jobs = {point.job for one in held for point in one.points}
    assert not any(point.job in jobs for one in trained for point in one.points)


def test_too_few_points_leave_the_times_at_the_bases_and_say_so(
    probed: ProbeResult, device: Model
) -> None:
    point = nearfar.measure(device, nearfar.Chase(region="4KiB", block="1KiB", lines=256))
    structure_alone = replace(probed, observations=())
    result = fit(structure_alone, point).result
    assert {one.stage for one in result.parameters} == {"structure"}
    kept = {one.key: one.reason for one in result.kept}
    assert kept["nvdimm.media.read_latency"].startswith("1 points are too few, expected 3")


def test_two_points_without_structure_are_refused(device: Model) -> None:
    point = nearfar.measure(device, nearfar.Stream(op="ntload", lines=256, area="1MiB"))
    with pytest.raises(InputError, match="found 1 points and no structure, expected 3 points"):
        fit(point)


def test_more_parameters_than_points_are_told_apart_by_nothing(device: Model) -> None:
    pattern = nearfar.Chase(region="64B,4KiB,64KiB", block="64B", op="ntload", lines=256)
    result = fit(nearfar.measure(device, pattern)).result
    assert any(one.reason.startswith("3 points are too few to tell") for one in result.kept)
