"""The studies of whole programs: what each says holds, on fewer steps or programs than it has."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import needs_front_end
from nearfar.cli.works import parse_work
from nearfar.errors import InputError
from nearfar.predicting.programs import programs_of
from nearfar.results import SweepResult
from nearfar.sweeping.ranges import values_range
from nearfar.sweeping.show import read_sweep, relative
from nearfar.sweeping.study_file import read_study
from nearfar.sweeping.sweep import sweep

Run = Callable[..., tuple[int, str, str]]


def figure(result: SweepResult, name: str, **settings: str) -> float:
    (found,) = (
        point.figures[name]
        for point in result.points
        if all(point.settings[key] == value for key, value in settings.items())
    )
    return found


def test_the_study_of_programs_has_each_of_the_set_on_both_memories() -> None:
    study = read_study("studies/programs.toml")
    assert list(study.ranges["program"].values) == [one.name for one in programs_of()]
    assert study.ranges["place"].values == ("near", "far")


# From the least that misses to the most.
SOME = ("interpreter", "btree", "hash_join", "pointer_chase")


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    study = read_study("studies/programs.toml")
    ranges = {**study.ranges, "program": values_range("program", SOME)}
    store = tmp_path_factory.mktemp("programs") / "programs.db"
    assert sweep(replace(study, ranges=ranges), store, parse_work).failed == 0
    return store


@needs_front_end
def test_programs_are_slower_on_optane_the_more_they_miss(programs: Path) -> None:
    result = read_sweep(programs)
    over = relative(result, "place", "far")
    misses = [
        figure(result, "misses_per_kilo_instruction", program=name, place="far") for name in SOME
    ]
    of_optane = [figure(over, "measured_ns", program=name, place="near") for name in SOME]
    assert misses == sorted(misses)
    assert of_optane == sorted(of_optane, reverse=True)
    for missed, time in zip(misses, of_optane, strict=True):
        assert time < 1
        assert missed >= 1 or time > 0.9
        assert missed <= 10 or time < 0.6
    assert all(figure(over, "measured_ns", program=name, place="far") == 1 for name in SOME)


@needs_front_end
def test_figures_over_those_of_one_value_are_shown(nearfar: Run, programs: Path) -> None:
    words = ("sweep", "show", str(programs), "--figure", "measured_ns", "--over", "place=far")
    status, out, _ = nearfar(*words)
    assert status == 0
    rows = [line.split() for line in out.splitlines()]
    ratios = {(row[1], row[2]): float(row[3]) for row in rows if row[1:2] and row[1] in SOME}
    assert ratios["hash_join", "far"] == 1
    assert 0 < ratios["hash_join", "near"] < 1


@needs_front_end
def test_figures_over_what_does_not_vary_are_refused(
    refused: Callable[..., str], programs: Path
) -> None:
    show = ("sweep", "show", str(programs), "--over")
    assert "did you mean place" in refused(*show, "plac=far")
    assert "did you mean far" in refused(*show, "place=fra")
    assert "expected KEY=VALUE" in refused(*show, "place")


@needs_front_end
def test_a_cache_of_pages_costs_little_of_what_optane_costs_where_software_is_free(
    tmp_path: Path,
) -> None:
    study = read_study("studies/kit.toml")
    # Before their ends, where they print what the kernel says of their pages.
    for name, length in (("blackscholes", "10M"), ("freqmine", "35M")):
        works = tuple(work.replace("--roi", f"--skip 5M --run {length}") for work in study.works)
        ranges = dict(study.ranges)
        ranges["program"] = replace(ranges["program"], values=(name,))
        store = tmp_path / f"{name}.db"
        assert sweep(replace(study, works=works, ranges=ranges), store, parse_work).failed == 0
        result = read_sweep(store)
        near, cached, far = (
            figure(result, "measured_ns", program=name, place=place)
            for place in study.ranges["place"].values
        )
        # The cache's copies lie in other banks of near memory than the pages would, which may save
        # a part in a million more than a small program's few copies take.
        assert 0.999 * near <= cached < far
        assert cached - near < 0.2 * (far - near)


@needs_front_end
def test_a_shipped_program_has_the_same_result_in_any_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = "run --roi -- program:interpreter 12000"
    study = replace(read_study("studies/programs.toml"), works=(work,), ranges={})
    sweep(study, tmp_path / "one.db", parse_work)
    monkeypatch.setenv("SOMETHING", "that moves what is below the stack" * 9)
    monkeypatch.setenv("PATH", os.environ["PATH"] + ":/nothing/there" * 9)
    monkeypatch.chdir(tmp_path)
    soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
    resource.setrlimit(resource.RLIMIT_STACK, (16 << 20, hard))
    try:
        sweep(study, tmp_path / "two.db", parse_work)
    finally:
        resource.setrlimit(resource.RLIMIT_STACK, (soft, hard))
    (one,), (two,) = (
        read_sweep(tmp_path / name, whole=True).points for name in ("one.db", "two.db")
    )
    assert one.result == two.result
    assert one.result["program"]["arguments"][0] == "./interpreter"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("program:hash_jion", "did you mean hash_join"),
        ("program:sett/hash_join", "did you mean set"),
        ("program:hash_join x", "expected a number"),
        ("program:hash_join 0", "expected a number"),
        ("program:hash_join 2 3", "expected a number"),
    ],
)
def test_a_program_that_does_not_ship_is_refused(words: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse_work(f"run -- {words}")
