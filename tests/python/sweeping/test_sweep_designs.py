"""Which key matters, and the points that make a figure small."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import swept
from nearfar.errors import InputError
from nearfar.model import Model
from nearfar.results import MeasureResult
from nearfar.sweeping.designs import Design
from nearfar.sweeping.ranges import parse_range
from nearfar.sweeping.show import read_sweep
from nearfar.sweeping.study import Goal, Study, parse_goal
from nearfar.sweeping.sweep import SweepOptions, sweep

pytest.importorskip("SALib")
pytest.importorskip("optuna")

Run = Callable[..., tuple[int, str, str]]
Refused = Callable[..., str]


@dataclass(frozen=True)
class Formula(swept.Told):
    """10 a + b + 0 c, of the three numbers of its text, plus 1."""

    def run(self, model: Model) -> MeasureResult:
        a, b, _ = map(float, self.text.split()[1:])
        return swept.told_result(model, 1 + 10 * a + b)


@dataclass(frozen=True)
class Bowl(swept.Told):
    """Least where its number is 70."""

    def run(self, model: Model) -> MeasureResult:
        return swept.told_result(model, 1 + (float(self.text.split()[1]) - 70) ** 2)


def abc(design: Design | None) -> Study:
    ranges = {key: parse_range(key, "0.0..1.0") for key in ("a", "b", "c")}
    return Study("abc", (swept.TARGET,), ("says {a} {b} {c}",), ranges, design=design)


def test_morris_gives_a_linear_function_its_coefficients(tmp_path: Path) -> None:
    sweep(abc(Design("morris", 8)), tmp_path / "m.db", Formula)
    found = read_sweep(tmp_path / "m.db", figures=["ns_per_line"]).sensitivity
    assert {one.key: round(one.values["mu_star"], 3) for one in found} == {"a": 10, "b": 1, "c": 0}
    assert all(one.values["sigma"] < 1e-3 for one in found)


def test_sobol_gives_each_key_its_part_of_the_variance(tmp_path: Path) -> None:
    sweep(abc(Design("sobol", 256)), tmp_path / "s.db", Formula)
    found = read_sweep(tmp_path / "s.db", figures=["ns_per_line"]).sensitivity
    # Of 10 a + b with a and b uniform: 100 / 101 and 1 / 101.
    parts = {one.key: one.values for one in found}
    for key, part in (("a", 100 / 101), ("b", 1 / 101), ("c", 0.0)):
        for index in ("S1", "ST"):
            assert abs(parts[key][index] - part) <= 3 * parts[key][f"{index}_conf"] + 1e-9


def test_sensitivity_is_refused_on_a_grid_and_before_all_points_are_there(
    refused: Refused, tmp_path: Path
) -> None:
    grid = tmp_path / "g.db"
    sweep(swept.study(n="1..3"), grid, swept.Told)
    assert "is no design" in refused("sweep", "show", str(grid), "--sensitivity")
    failing = Study(
        *("f", (swept.TARGET,), ("fails {a} {b}",)),
        {key: parse_range(key, "1..3") for key in ("a", "b")},
        design=Design("morris", 4),
    )
    sweep(failing, tmp_path / "f.db", Halves)
    said = refused("sweep", "show", str(tmp_path / "f.db"), "--sensitivity")
    assert "expected all of the design" in said


@dataclass(frozen=True)
class Halves(swept.Told):
    """Fails at some points."""

    def run(self, model: Model) -> MeasureResult:
        a, b = self.text.split()[1:]
        return swept.Told(f"fails {a if a == '2' else b}").run(model)


def test_a_design_on_the_command_line_shows_which_key_matters(nearfar: Run, tmp_path: Path) -> None:
    store = str(tmp_path / "d.db")
    words = (
        *("--set", "nvdimm.media.read_latency=100ns..300ns"),
        *("--set", "nvdimm.wear.writes=1000..9000"),
    )
    work = "measure chase --region 1MiB --op ntload --lines 1024"
    status, _, err = nearfar(
        "sweep", "model:optane-100", *words, "--for", work, "--design", "morris:4", "--store", store
    )
    assert status == 0, err
    _, out, _ = nearfar("sweep", "show", store, "--sensitivity", "--figure", "ns_per_line")
    lines = out.partition("sensitivity, morris:4\n")[2].splitlines()
    assert [line.split()[1] for line in lines[1:]] == [
        "nvdimm.media.read_latency",
        "nvdimm.wear.writes",
    ]


def bowl(budget: int, n: str = "1..1000") -> Study:
    return Study(
        *("bowl", (swept.TARGET,), ("says {n}",), {"n": parse_range("n", n)}),
        goal=Goal("ns_per_line", budget),
    )


def test_minimising_comes_close_within_its_budget(tmp_path: Path) -> None:
    tally = sweep(bowl(60, "0.0..1000.0"), tmp_path / "b.db", Bowl)
    assert tally.computed + tally.found == 60
    points = read_sweep(tmp_path / "b.db").points
    best = min(points, key=lambda one: one.figures["ns_per_line"])
    # A grid of 60 points is 17 apart, so at worst 8.5 from the least.
    assert abs(float(best.settings["n"]) - 70) < 8.5


@pytest.mark.parametrize("jobs", [1, 2])
def test_minimising_takes_the_same_points_whatever_runs_them_and_goes_on(
    tmp_path: Path, jobs: int
) -> None:
    store = tmp_path / f"{jobs}.db"
    sweep(bowl(20), tmp_path / "one.db", Bowl, SweepOptions(jobs=1))
    sweep(bowl(20), store, Bowl, SweepOptions(jobs=jobs))
    one, other = (read_sweep(path).points for path in (tmp_path / "one.db", store))
    assert [point.settings for point in one] == [point.settings for point in other]
    assert sweep(bowl(20), store, Bowl).computed == 0


@pytest.mark.parametrize(
    ("within", "goal"),
    [
        ("60", Goal("f", 60)),
        ("90s", Goal("f", None, 90)),
        ("1.5h", Goal("f", None, 5400)),
        ("20 min", Goal("f", None, 1200)),
    ],
)
def test_a_budget_is_a_number_of_points_or_a_time(within: str, goal: Goal) -> None:
    assert parse_goal("f", within) == goal


@pytest.mark.parametrize("within", ["0", "-3", "1.5", "0s", "20m", "long", ""])
def test_a_budget_that_cannot_be_is_refused(within: str) -> None:
    with pytest.raises(InputError, match=r"within: found .*, expected a number of points, or a"):
        parse_goal("f", within)


def test_a_budget_of_time_ends_with_the_round_in_which_it_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _tick(monkeypatch)
    study = replace(bowl(1), goal=Goal("ns_per_line", None, 3.0))
    sweep(study, tmp_path / "t.db", Bowl, SweepOptions(jobs=1))
    assert len(read_sweep(tmp_path / "t.db").points) == 2 * 8


def _tick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second from each look to the next: at the start, and before each round."""
    clock = iter(range(1000))
    monkeypatch.setattr("nearfar.sweeping.minimise.monotonic", lambda: float(next(clock)))


def test_a_sweep_with_a_budget_of_time_goes_on_from_the_points_that_it_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _tick(monkeypatch)
    store = tmp_path / "g.db"
    sweep(bowl(24), store, Bowl)
    words = replace(bowl(1), name="longer", goal=Goal("ns_per_line", None, 1.5))
    tally = sweep(words, store, Bowl)
    assert (tally.computed, tally.found) == (0, 8)


def test_what_cannot_be_minimised_is_refused(tmp_path: Path) -> None:
    store = tmp_path / "r.db"
    with pytest.raises(InputError, match="expected a list or a range"):
        sweep(bowl(9, "1..9:random4"), store, Bowl)
    two = Study("two", (swept.TARGET,) * 2, ("says 1",), {}, goal=Goal("ns_per_line", 3))
    with pytest.raises(InputError, match="found 2 targets, works and seeds"):
        sweep(two, store, Bowl)
    assert not store.exists()
    other = Study(
        *("o", (swept.TARGET,), ("says {n}",), {"n": parse_range("n", "1..9")}),
        goal=Goal("ns_a_line", 9),
    )
    with pytest.raises(InputError, match="found no figure ns_a_line"):
        sweep(other, store, Bowl)
