"""Study files, and what the studies that ship with nearfar show."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from nearfar.cli.works import parse_work
from nearfar.errors import InputError
from nearfar.results import SweepResult
from nearfar.sweeping.points import Expander
from nearfar.sweeping.show import read_sweep
from nearfar.sweeping.study_file import read_study, shipped
from nearfar.sweeping.sweep import sweep

GOOD = """description = "d"
targets = ["model:optane-100"]
for = "measure chase --region {region} --lines 64"
figures = ["ns_per_line"]
seeds = [1, 2]

[set]
region = "4KiB..16KiB:x2"
nvdimm.rmw.entries = [64, 128]
"""


def test_a_study_file_says_all_that_a_command_line_says(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(GOOD)
    study = read_study(str(file))
    assert (study.name, study.description, study.figures) == ("s", "d", ("ns_per_line",))
    cells = list(study.cells())
    assert len(cells) == 3 * 2 * 2
    assert cells[0].work == "measure chase --region 4KiB --lines 64 --seed 1"
    assert dict(cells[-1].settings) == {"nvdimm.rmw.entries": "128"}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("targets =", "target =", ":2: found 'target', expected one of"),
        ("4KiB..16KiB:x2", "4KiB..16KiB:x1", ":8: region: found"),
        ("[64, 128]", "[64, 64]", ":9: nvdimm.rmw.entries: found 64 twice"),
        ("rmw.entries", "rmw.entrys", ":9: found unknown key 'nvdimm.rmw.entrys'"),
        ("[1, 2]", '"many"', ":5: seeds: expected a whole number"),
        ("figures = [", "figures = [[1], ", ":4: figures: found no text"),
        ("seeds", "design", "design: found '[1, 2]'"),
        ("seeds = [1, 2]", 'minimise = "f"', ":5: minimise: expected within = NUMBER"),
        ("description = ", "description", "found no valid TOML"),
        ("targets = [", "targets = []#", "found no target"),
    ],
)
def test_what_is_wrong_in_a_study_file_is_named_by_its_line(
    refused: Callable[..., str], tmp_path: Path, old: str, new: str, said: str
) -> None:
    file = tmp_path / "s.toml"
    file.write_text(GOOD.replace(old, new))
    message = refused("sweep", str(file), "--store", str(tmp_path / "s.db"))
    assert message.startswith(str(file))
    assert said in message
    assert not (tmp_path / "s.db").exists()


def test_options_that_a_study_file_has_are_refused_beside_it(
    refused: Callable[..., str], tmp_path: Path
) -> None:
    file = tmp_path / "s.toml"
    file.write_text(GOOD)
    assert "--set: found beside a study's file" in refused(
        "sweep", str(file), "--set", "channels=1"
    )
    assert "expected one study" in refused("sweep", str(file), str(file))


@pytest.mark.parametrize("name", shipped())
def test_every_point_of_a_shipped_study_is_valid(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = read_study(f"studies/{name}.toml")
    monkeypatch.chdir(tmp_path)
    for work in study.works:  # programs are compiled in a checkout, and hashed here
        program = Path(work.partition(" -- ")[2].partition(" ")[0])
        if program.parts:
            program.parent.mkdir(parents=True, exist_ok=True)
            program.touch()
    points, _ = Expander(study, parse_work).expand(study.cells())
    assert points
    assert study.description


def test_a_study_that_is_not_there_is_refused() -> None:
    with pytest.raises(InputError, match="No such file"):
        read_study("studies/none.toml")


Curve = dict[str, float]  # region to ns a line


def curves(result: SweepResult, key: str, op: str) -> Mapping[str, Curve]:
    """The figure over regions, for each value of `key`."""
    found: dict[str, Curve] = {}
    for point in result.points:
        if f"--op {op} " in point.work:
            curve = found.setdefault(point.settings[key], {})
            curve[point.settings["region"]] = point.figures["ns_per_line"]
    return found


@pytest.fixture(scope="module")
def swept_study(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], SweepResult]:
    folder = tmp_path_factory.mktemp("studies")

    def result(name: str) -> SweepResult:
        store = folder / f"{name}.db"
        assert sweep(read_study(f"studies/{name}.toml"), store, parse_work).failed == 0
        return read_sweep(store)

    return result


@pytest.mark.parametrize("op", ["ntload", "ntstore"])
def test_the_capacity_of_the_media_does_not_change_the_latency_curves(
    swept_study: Callable[[str], SweepResult], op: str
) -> None:
    result = swept_study("media-capacity")
    found = curves(result, "nvdimm.media.capacity", op)
    assert list(found) == ["128GiB", "256GiB", "512GiB"]
    for curve in found.values():
        assert curve == pytest.approx(found["128GiB"], rel=0.01)
    # There are curves to compare: the buffers are in reach.
    assert max(found["128GiB"].values()) > 1.5 * min(found["128GiB"].values())


def knee(curve: Curve) -> int:
    """The place of the first region whose loads are a quarter slower than in the smallest."""
    values = list(curve.values())
    return next(at for at, value in enumerate(values) if value > 1.25 * values[0])


def test_more_dimms_buffer_loads_of_larger_regions(
    swept_study: Callable[[str], SweepResult],
) -> None:
    found = curves(swept_study("dimms"), "channels", "ntload")
    places = [knee(found[dimms]) for dimms in ("1", "2", "6")]
    assert places == sorted(places)
    assert places[0] < places[-1]
    for one, more in (("1", "2"), ("2", "6")):
        assert all(found[more][region] <= 1.01 * found[one][region] for region in found[one])


def test_stores_beyond_the_write_pending_queue_get_cheaper_with_more_dimms(
    swept_study: Callable[[str], SweepResult],
) -> None:
    found = curves(swept_study("dimms"), "channels", "ntstore")
    for region in ("16KiB", "64KiB", "256KiB", "1MiB", "4MiB", "16MiB"):
        one, two, six = (found[dimms][region] for dimms in ("1", "2", "6"))
        assert one > two > six
