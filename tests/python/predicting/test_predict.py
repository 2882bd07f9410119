"""`nearfar predict`: programs natively and on a model, and what it says when they disagree."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conftest import Run, needs_front_end
from nearfar.errors import InputError, Interrupted, NearfarError
from nearfar.predicting import predict as module
from nearfar.predicting.accuracy import accuracy, machine_spread, spread
from nearfar.predicting.predict import PredictOptions, predict
from nearfar.predicting.programs import programs_of
from nearfar.predicting.running import Simulation, Told
from nearfar.results import PredictedProgram, PredictionResult

pytestmark = needs_front_end

TARGET = "model:ddr4-2666"
ADDS = """
#include "measured.h"
static uint64_t sum = 1;
static void set_up(void) {}
static uint64_t step(uint64_t i) {
  uint64_t found = sum;
  for (int at = 0; at < 1000; ++at) {
    found += i;
    __asm__ volatile("" : "+r"(found));
  }
  return sum = found;
}
MEASURED_MAIN(set_up, step)
"""
FAILS = '#include "measured.h"\nint main(void) { fprintf(stderr, "no luck\\n"); return 3; }\n'
SEES_THE_MODEL = ADDS.replace("(void) {}", '(void) { sum += getenv("LD_PRELOAD") != NULL; }')
SEES_TUNABLES = ADDS.replace(
    "(void) {}", '(void) { for (const char* c = getenv("GLIBC_TUNABLES"); *c; ++c) sum += *c; }'
)
ONLY_FAILS = {"fails": FAILS}

Make = Callable[..., str]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """A set of programs, by their sources."""

    def made(manifest: str = "", **sources: str) -> str:
        tables = [
            f'[{name}]\nabout = "a test"\nsteps = 1600\nwarm = 2\n'
            f"tuned = {json.dumps(name == 'adds')}\n"
            for name in sources
        ]
        for name, text in sources.items():
            (tmp_path / f"{name}.c").write_text(text)
        (tmp_path / "programs.toml").write_text("\n".join([*tables, manifest]))
        return str(tmp_path)

    return made


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of a few microseconds vary by more than is allowed, which is no subject here."""
    monkeypatch.setattr(module, "NOISY", math.inf)


def options(folder: str, **given: Any) -> PredictOptions:
    return PredictOptions(folder=folder, runs=3, **given)


def told(processor_ns: int) -> Told:
    return Told("1 steps\n", processor_ns, 0, 0, 0, 0)


@pytest.mark.usefixtures("quiet")
def test_a_program_is_timed_here_and_on_the_model(make: Make, nearfar: Run, tmp_path: Path) -> None:
    file, page = tmp_path / "out.json", tmp_path / "out.html"
    folder = make(adds=ADDS, other=ADDS)
    status, out, err = nearfar(
        "predict", TARGET, "--programs", folder, "--runs", "3", "--json", file, "--html", page
    )
    found = json.loads(file.read_text())
    adds = found["programs"][0]
    assert (status, err) == (0, "")
    assert "sampled, 1/16 of the steps, 3 native runs each, 4 KiB pages" in out
    assert (adds["steps"], adds["all_steps"], adds["tuned"]) == (100, 1600, True)
    assert len(adds["native_ns"]) == 3
    assert adds["ratio"] == pytest.approx(adds["predicted_ns"] / sorted(adds["native_ns"])[1])
    assert (found["all"]["programs"], found["untuned"]["programs"]) == (2, 1)
    assert found["untuned"]["worst_program"] == "other"
    assert "Predicted over measured time" in page.read_text()


@pytest.mark.usefixtures("quiet")
def test_a_prediction_is_the_same_each_time_and_follows_the_models_clock(make: Make) -> None:
    folder = make(adds=ADDS)

    def predicted(target: str) -> float:
        found = predict(target, options(folder)).programs[0].predicted_ns
        assert found is not None
        return found

    fast = predicted(f"{TARGET},cpu.clock=3GHz")
    assert fast == predicted(f"{TARGET},cpu.clock=3GHz")
    # 100,000 additions that wait for each other, an addition a cycle, and their loop.
    assert fast == pytest.approx(100_000 / 3, rel=0.15)
    assert predicted(f"{TARGET},cpu.clock=1500MHz") == pytest.approx(2 * fast, rel=0.02)


@pytest.mark.usefixtures("quiet")
def test_the_c_library_dispatches_alike_on_both_sides(make: Make) -> None:
    result = predict(TARGET, options(make(tunables=SEES_TUNABLES)))
    assert "-AVX512F" in result.tunables
    assert result.programs[0].problem is None


@pytest.mark.usefixtures("quiet")
def test_small_pages_are_small_whatever_the_machine_grants(make: Make) -> None:
    text = ADDS.replace("(void) {}", "(void) { sum += *(char*)memory_of(16 << 20); }")
    program = predict(TARGET, options(make(large=text))).programs[0]
    assert program.huge_bytes == 0
    assert (program.bytes or 0) > 16 << 20


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize(
    ("source", "problem"),
    [
        (FAILS, "fails natively, status 3: no luck"),
        (SEES_THE_MODEL, "differs on the model: found '102 steps, checksum"),
        ("int main(void) { return 0; }", "tells no processor_ns: its main() has to be"),
        ("nonsense", "does not compile: "),
    ],
    ids=["fails", "differs", "tells nothing", "no C"],
)
def test_a_program_that_cannot_be_compared_is_one_line_and_the_others_go_on(
    make: Make, nearfar: Run, source: str, problem: str
) -> None:
    folder = make(adds=ADDS, odd=source)
    status, out, err = nearfar("predict", TARGET, "--programs", folder, "--runs", "3")
    assert status == 1
    assert err.count("\n") == 1
    assert f"nearfar: odd: {problem}" in err
    assert "all programs: exp(mean |ln(predicted / measured)|)" in out
    assert " over 1, " in out


def test_where_no_program_can_be_compared_there_is_no_result(make: Make, nearfar: Run) -> None:
    status, out, err = nearfar("predict", TARGET, "--programs", make(**ONLY_FAILS), "--runs", "3")
    assert (status, out) == (1, "")
    assert err == (
        "nearfar: predict: none of 1 programs can be compared; "
        "fails: fails natively, status 3: no luck\n"
    )


def test_a_machine_too_noisy_to_compare_is_refused(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter(3 * [1000, 2000, 3000])
    monkeypatch.setattr(module, "native", lambda *_: told(next(times)))
    with pytest.raises(NearfarError, match=r"its 9 native runs are too noisy: .* 100.0 % apart"):
        predict(TARGET, options(make(adds=ADDS)))


def test_a_program_that_was_disturbed_is_run_until_it_is_steady(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = module.native
    times = iter([1000, 2000, 3000, 2000, 2000, 2010, 2020, 2000, 2000])

    def timed(words: Sequence[str], pages: str) -> Told:
        return replace(real(words, pages), processor_ns=next(times))

    monkeypatch.setattr(module, "native", timed)
    program = predict(TARGET, options(make(adds=ADDS))).programs[0]
    assert program.problem is None
    assert program.native_ns == (1000, 2000, 3000, 2000, 2000)
    assert program.measured_ns == 2000


@pytest.mark.usefixtures("quiet")
def test_native_runs_of_the_programs_take_turns(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []
    real = module.native

    def recorded(words: Sequence[str], pages: str) -> Told:
        ran.append(Path(words[0]).name)
        return real(words, pages)

    monkeypatch.setattr(module, "native", recorded)
    predict(TARGET, options(make(adds=ADDS, other=ADDS)))
    assert ran == ["adds", "other"] * 3


@pytest.mark.usefixtures("quiet")
def test_an_interrupted_prediction_goes_on_where_it_was(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make(adds=ADDS, other=ADDS)
    real = module._Prediction._add

    def interrupt(self: Any, name: str, future: Any) -> None:
        real(self, name, future)
        raise KeyboardInterrupt

    monkeypatch.setattr(module._Prediction, "_add", interrupt)
    with pytest.raises(Interrupted) as stopped:
        predict(TARGET, options(folder, jobs=1))
    before = stopped.value.result
    monkeypatch.setattr(module._Prediction, "_add", real)
    simulated: list[str] = []

    class Recorded(Simulation):
        def __init__(self, target: str, words: Sequence[str], pages: str) -> None:
            simulated.append(Path(words[0]).name)
            super().__init__(target, words, pages)

    monkeypatch.setattr(module, "Simulation", Recorded)
    monkeypatch.setattr(module, "native", None)  # all its runs are there
    whole = predict(TARGET, options(folder), before=before)
    assert before.interrupted
    assert [one.ratio is None for one in before.programs] == [False, True]
    assert simulated == ["other"]
    assert whole.programs[0] == before.programs[0]
    assert whole.programs[1].native_ns == before.programs[1].native_ns
    assert not whole.interrupted
    assert whole.all is not None
    assert whole.all.programs == 2


@pytest.mark.usefixtures("quiet")
def test_ctrl_c_says_how_to_go_on(
    make: Make, nearfar: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module._Prediction, "_refuse_noisy", interrupt)
    file = tmp_path / "kept.json"
    command = ("predict", TARGET, "--programs", make(adds=ADDS), "--json", file, "--quiet")
    status, _, err = nearfar(*command)
    assert status == 130
    assert f"0 of 1 programs finished; continue with: nearfar predict --resume {file}" in err
    assert len(json.loads(file.read_text())["programs"][0]["native_ns"]) == 7


@pytest.mark.usefixtures("quiet")
def test_a_prediction_of_another_machine_is_not_continued(make: Make) -> None:
    folder = make(adds=ADDS)
    whole = predict(TARGET, options(folder))
    with pytest.raises(InputError, match="resume: found a result of model_hash"):
        predict("model:ddr4-2400", options(folder), before=whole)


@pytest.mark.usefixtures("quiet")
def test_a_prediction_with_other_tools_is_not_continued(make: Make) -> None:
    folder = make(adds=ADDS)
    whole = predict(TARGET, options(folder))
    older = replace(whole.environment, version="0.0.1")
    for before, problem in (
        (replace(whole, environment=older), "nearfar 0.0.1"),
        (replace(whole, compiler="tcc 0.9"), "compiler tcc 0.9"),
        (replace(whole, qemu="1.0"), "qemu 1.0"),
        (replace(whole, pages="huge"), "pages huge"),
    ):
        with pytest.raises(InputError, match=f"resume: found a result of {problem}, expected"):
            predict(TARGET, options(folder), before=before)


@pytest.mark.parametrize(
    ("manifest", "problem"),
    [
        ("[x", "not TOML: "),
        ("", "found no program, expected a table of each"),
        ("[x]\nabuot = 'x'", "x: found unknown key abuot; did you mean about?"),
        ("[x]\nsteps = '1'", "x.steps: found '1', expected a whole number"),
        ("[x]\nsteps = 1", "x: about is missing"),
        ("[x]\nabout=''\nsteps=0\nwarm=0\ntuned=true", "x: expected steps of 1 or more"),
        ("[x]\nabout=''\nsteps=1\nwarm=0\ntuned=true", "x: there is no "),
        ("x = 1", "found x = 1, expected a table [x]"),
    ],
)
def test_a_wrong_manifest_is_named(
    make: Make, refused: Callable[..., str], manifest: str, problem: str
) -> None:
    assert f"programs.toml: {problem}" in refused("predict", TARGET, "--programs", make(manifest))


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--only", "trida"], "only: found 'trida', expected one of "),
        (["--only", "trida"], "did you mean triad?"),
        (["--runs", "2"], "runs: found 2, expected 3 or more"),
        (["--sample", "0"], "sample: found 0, expected 1 or more"),
        (["--programs", "/nowhere"], "/nowhere/programs.toml: "),
        (["--resume", "x.json"], "expected a TARGET, such as model:here.toml, or --resume RESULT"),
    ],
)
def test_a_wrong_option_is_one_line(
    refused: Callable[..., str], words: list[str], problem: str
) -> None:
    assert problem in refused("predict", TARGET, *words)


def predicted(name: str, *native_ns: float, ratio: float | None, tuned: bool) -> PredictedProgram:
    return PredictedProgram(name, "", tuned, "", 0, 1, 1, native_ns=native_ns, ratio=ratio)


def test_the_error_is_the_mean_factor_whichever_side_is_slower() -> None:
    programs = [
        predicted("slow", ratio=2.0, tuned=True),
        predicted("fast", ratio=0.5, tuned=True),
        predicted("right", ratio=1.0, tuned=True),
        predicted("unknown", ratio=None, tuned=True),
    ]
    found = accuracy(programs)
    assert found is not None
    assert (found.programs, found.worst) == (3, pytest.approx(2.0))
    assert found.error == pytest.approx(2 ** (2 / 3))
    assert accuracy(programs[3:]) is None


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize(("times", "noted"), [(1.0, False), (1.2, True)])
def test_instruction_counts_that_differ_are_noted(
    make: Make, monkeypatch: pytest.MonkeyPatch, times: float, noted: bool
) -> None:
    """As a machine with counters has them: what the model counts, or a fifth more."""
    real = module.native
    folder = make(adds=ADDS)
    counted = predict(TARGET, options(folder)).programs[0].instructions or 0
    assert counted > 200_000
    monkeypatch.setattr(
        module,
        "native",
        lambda *given: replace(real(*given), instructions=round(times * counted)),
    )
    notes = predict(TARGET, options(folder)).programs[0].notes
    assert any("instructions natively and" in note for note in notes) == noted


def test_a_machines_spread_is_the_error_of_its_own_runs() -> None:
    assert spread([90.0, 100.0, 110.0]) == pytest.approx(0.1)
    steady = predicted("a", 5.0, 5.0, ratio=None, tuned=True)
    uneven = predicted("b", 50.0, 100.0, 200.0, ratio=None, tuned=True)
    assert machine_spread([steady]) == pytest.approx(1.0)
    assert machine_spread([uneven]) == pytest.approx(2 ** (2 / 3))
    assert machine_spread([]) is None


def test_the_result_is_read_as_it_was_written(make: Make, tmp_path: Path) -> None:
    from nearfar.results import load, save

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "NOISY", math.inf)
        result = predict(TARGET, options(make(adds=ADDS)))
    save(result, tmp_path / "out.json")
    again = load(tmp_path / "out.json")
    assert isinstance(again, PredictionResult)
    assert again.to_dict() == result.to_dict()


def test_the_shipped_programs_are_of_many_kinds_and_eight_were_never_used_for_tuning() -> None:
    shipped = programs_of()
    assert len(shipped) >= 14
    assert sum(not one.tuned for one in shipped) >= 8
    assert {one.source.name for one in shipped} == {
        file.name for file in shipped[0].source.parent.glob("*.c")
    }


@pytest.mark.usefixtures("quiet")
def test_huge_pages_are_asked_for_and_what_was_granted_is_recorded(make: Make) -> None:
    text = ADDS.replace("(void) {}", "(void) { sum += *(char*)memory_of(64 << 20); }")
    program = predict(TARGET, options(make(large=text), pages="huge")).programs[0]
    granted = (program.huge_bytes or 0) / (program.bytes or 1)
    assert (program.bytes or 0) > 64 << 20
    assert granted > 0.9 or program.notes == (
        f"only {100 * granted:.0f} % of its memory lay on huge pages natively",
    )
