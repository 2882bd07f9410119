"""What a fit takes from published tables, and the models that stand beneath one."""

from __future__ import annotations

from pathlib import Path

import pytest

from nearfar import load_model
from nearfar.cli.main import main
from nearfar.errors import InputError
from nearfar.fitting.given import read
from nearfar.fitting.holding import split
from nearfar.fitting.parameters import candidates
from nearfar.fitting.structure import structure
from nearfar.fitting.tabled import from_tables
from nearfar.fitting.write import model_text
from nearfar.results import FittedParameter
from nearfar.simulate.validation.datasets import kind_of

NVDIMM = load_model("nvdimm")
FAMILY = "read_percent,pause,bandwidth_gb_s,latency_ns\n" + "".join(
    f"{reads},{pause},{rate},{latency}\n"
    for reads in (50, 100)
    for pause, rate, latency in ((9000, 2.0, 90.0), (100, 40.0, 100.0), (0, 90.0, 180.0))
)


@pytest.fixture
def family(tmp_path: Path) -> Path:
    file = tmp_path / "mess_mine_cascadelake_local.csv"
    file.write_text(FAMILY, encoding="utf-8")
    return file


def test_a_family_of_bandwidth_latency_curves_is_one_dataset(family: Path) -> None:
    given = read([family], load_model("xeon-5218-ddr4-2933"))
    names = [one.name for one in given.series]
    assert names == [f"loaded-cascade-lake-{what}" for what in ("idle", "peak", "latency")]
    assert {point.real for point in given.series[1].points} == {90.0}
    assert not given.findings()


def test_a_family_of_dram_does_not_fit_a_dimms_base(family: Path) -> None:
    with pytest.raises(
        InputError, match=r"found loaded-cascade-lake, of a dram machine, but .* nvdimm"
    ):
        read([family], load_model("nvdimm"))


@pytest.mark.parametrize(
    ("base", "kind", "key"),
    [
        ("nvdimm", "nvdimm", "nvdimm.media.read_latency"),
        ("memory-mode", "nvdimm", "near.latency"),
        ("dram", "dram", "cpu.path.read_out"),
        ("cxl", "cxl", "link.response_latency"),
    ],
)
def test_a_base_is_a_machine_of_its_kind_with_times_to_fit(base: str, kind: str, key: str) -> None:
    model = load_model(base)
    assert kind_of(model) == kind
    assert key in {one.key for one in candidates(model, ())}


def test_the_power_budget_of_the_base_limits_no_rate() -> None:
    """A media access of either kind every time that the interval lets it start."""
    model = load_model("nvdimm")
    watts = (model["nvdimm.power_budget"] - model["nvdimm.power_static"]) / 1000
    for kind in ("read", "write"):
        energy = model[f"nvdimm.media.{kind}_energy"]
        assert energy / model[f"nvdimm.media.{kind}_interval"] < watts / 2


def test_a_source_that_holds_nothing_exits_with_2_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, model = tmp_path / "page.html", tmp_path / "model.toml"
    page.write_text("<html></html>\n", encoding="utf-8")
    assert main(["fit", str(page), "-o", str(model)]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"nearfar: {page}:1: found HTML or XML, expected")
    assert len(said.splitlines()) == 1
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]


def test_a_dataset_is_held_out_by_its_name() -> None:
    tabled = from_tables(Path("reference"), ["chase-1dimm-256", "chase-1dimm-1024"], NVDIMM)
    trained, held = split(tabled.series, ["chase-1dimm-1024"])
    assert {one.dataset for one in held} == {"chase-1dimm-1024"}
    assert {one.dataset for one in trained} == {"chase-1dimm-256"}


def test_a_published_table_shows_structure_and_ten_or_so_points_of_its_curves() -> None:
    tabled = from_tables(Path("reference"), ["chase-1dimm-64"], NVDIMM)
    found = {one.name: one.value for one in tabled.findings() if one.status == "identified"}
    assert found["buffer.1.entries"] == 64
    assert found["buffer.2.capacity"] == 16 << 20
    assert "modules" not in found
    assert [len(one.points) for one in tabled.series] == [12, 12]
    assert structure(tabled.findings(), NVDIMM)["nvdimm.buffer.2.entries"].value == 4096


def test_a_model_file_declares_each_table_once(tmp_path: Path) -> None:
    """In the schema's order keys of a table stand before and after those of its parts."""
    keys = {"nvdimm.levels": "2", "nvdimm.bus.line": "4 ns", "nvdimm.power_budget": "15 W"}
    fitted = [FittedParameter(key, value, "times", ("seen",)) for key, value in keys.items()]
    file = tmp_path / "fitted.toml"
    file.write_text(model_text("nvdimm", ("probe",), fitted, ()), encoding="utf-8")
    model = load_model(str(file))
    assert {key: model.values[key].source for key in keys} == dict.fromkeys(keys, "seen: found")
    assert (model["nvdimm.bus.line"], model["nvdimm.power_budget"]) == (4000, 15000)
