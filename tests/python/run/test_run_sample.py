"""A long program is estimated from windows all over it, between which nothing is simulated."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import Compile, needs_front_end
from nearfar.report.documents import page as page_of
from nearfar.report.run import run_text
from nearfar.results import RunResult, load, save
from nearfar.results.compared_runs import run_samples
from nearfar.results.totals import cycles
from running import simulated

pytestmark = needs_front_end

# Three kinds of work in turn, which take different times: in L1, in L3, and branches at random.
TURNS = """
#include <stdint.h>
#include <stdio.h>
static uint64_t x = 88172645463325252u, area[1 << 18];
static uint64_t draw(void) { x ^= x << 13; x ^= x >> 7; x ^= x << 17; return x; }
int main(void) {
  uint64_t sum = 0;
  for (int turn = 0; turn < 40; ++turn) {
    for (int i = 0; i < 12000; ++i) sum += area[i & 511] ^ i;
    for (int i = 0; i < 3000; ++i) sum += area[draw() & ((1 << 18) - 1)];
    for (int i = 0; i < 3000; ++i) if (draw() & 1) sum += 3; else sum ^= 7;
  }
  printf("%lu\\n", (unsigned long)sum);
  return 5;
}
"""
LENGTHS = ("--warm", "6k", "--run", "2k")


def cpi_of(ran: RunResult) -> float:
    """Of everything that was simulated."""
    machines = [one.machine for one in ran.processes if one.machine is not None]
    return sum(cycles(machines).values()) / ran.counts["instructions"]


def test_a_sample_estimates_what_the_whole_program_takes(compiled: Compile, tmp_path: Path) -> None:
    program = compiled("turns", TURNS, "-O2")
    printed, _, whole = simulated("model:ddr4-2666", [program], os.environ)
    out, err, ran = simulated(
        "model:ddr4-2666,seed=3", [program], os.environ, "--sample", "20", *LENGTHS
    )
    assert (out, err, ran.exit_code) == (printed, "", 5)
    found = ran.sampled
    assert found is not None
    # Counted block by block where nothing is simulated, to the very instruction.
    assert found.instructions == pytest.approx(whole.counts["instructions"], rel=1e-3)
    assert found.cpi is not None
    assert found.cpi_interval is not None
    low, high = found.cpi_interval
    assert low < cpi_of(whole) < high
    assert (high - low) / found.cpi < 0.5
    windows = ran.processes[0].sampled
    assert windows is not None
    expected = found.instructions / (20 * 2000)
    assert expected - 2 <= len(windows.windows) <= expected + 1
    for window in windows.windows:
        assert window.period_at <= window.at <= window.period_at + window.period
        assert 2000 <= window.instructions < 2100
    # Most has not been simulated, and the machine's own figures are of what has.
    assert ran.counts["instructions"] < 0.4 * found.instructions
    assert ran.sample == {"every": 20, "warm": 6000, "run": 2000}
    text = run_text(ran)
    assert f"sampled: {len(windows.windows)} windows of 2,000 instructions, one of 20" in text
    assert "with 95 % confidence" in text
    save(ran, tmp_path / "ran.json")
    again = load(tmp_path / "ran.json")
    assert isinstance(again, RunResult)
    assert again.sampled == found
    figures = {one.label: one for one in run_samples(again)}
    assert figures["cycles"].value == found.cpi
    assert figures["cycles"].interval == found.cpi_interval
    assert "with 95 % confidence" in page_of([again])


def test_a_sample_takes_few_windows_of_a_short_program_and_more_periods_of_a_long_one(
    compiled: Compile,
) -> None:
    program = compiled("turns", TURNS, "-O2")
    _, _, ran = simulated(
        "model:ddr4-2666", [program], os.environ, "--sample", "auto", "--warm", "500", "--run",
        "300",
    )  # fmt: skip
    windows = ran.processes[0].sampled
    assert windows is not None
    periods = [window.period for window in windows.windows]
    assert periods == sorted(periods)
    assert periods[0] == 16 * 800
    assert {after / before for before, after in itertools.pairwise(periods)} == {1, 2}
    assert ran.sample == {"every": 0, "warm": 500, "run": 300}


def test_a_program_shorter_than_a_window_has_no_estimate(compiled: Compile) -> None:
    program = compiled("short", "int main(void) { return 3; }")
    _, _, ran = simulated("model:ddr4-2666", [program], os.environ, "--sample", "100")
    assert ran.exit_code == 3
    assert ran.sampled is None
    assert any("ended before the second window" in note for note in ran.notes)
    assert "with 95 % confidence" not in run_text(ran)


def test_every_process_of_a_sampled_run_is_a_sample_of_its_own(compiled: Compile) -> None:
    source = TURNS.replace("#include <stdio.h>", "#include <stdio.h>\n#include <unistd.h>\n"
                           "#include <sys/wait.h>").replace(
        "uint64_t sum = 0;", "uint64_t sum = 0; int child = fork();"
    ).replace("return 5;", "if (child) wait(0); return child ? 5 : 6;")  # fmt: skip
    program = compiled("forking", source, "-O2")
    _, _, ran = simulated("model:ddr4-2666", [program], os.environ, "--sample", "50", *LENGTHS)
    assert ran.exit_code == 5
    samples = [one.sampled for one in ran.processes if one.sampled is not None]
    assert len(samples) == 2
    assert ran.sampled is not None
    assert ran.sampled.instructions == sum(one.instructions for one in samples)
    assert all(one.cpi == pytest.approx(ran.sampled.cpi, rel=0.3) for one in samples)


def refused(*words: str | Path) -> str:
    """The one line that says why, of a command that ends with status 2."""
    command = [sys.executable, "-m", "nearfar", "run", "model:ddr4-2666", *map(str, words)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    return ran.stderr


def test_a_program_of_several_threads_is_refused(compiled: Compile) -> None:
    source = """
    #include <pthread.h>
    static void *nothing(void *p) { return p; }
    int main(void) { pthread_t t; pthread_create(&t, 0, nothing, 0); pthread_join(t, 0); }
    """
    program = compiled("two", source, "-pthread")
    line = refused("--sample", "auto", "--", program)
    assert line.count("\n") == 1
    assert "two: begins a second thread; expected a program of one thread" in line


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--sample", "often"), "often"),
        (("--sample", "0"), "sample: found 0, expected at least 1"),
        (("--sample", "10", "--run", "0"), "run: found 0, expected at least 1"),
        (("--sample", "10", "--skip", "5"), "skip: does not go with sample"),
        (("--sample", "10", "--roi"), "roi: does not go with sample"),
        (("--sample", "10", "--core", "count"), "core: found count"),
    ],
)
def test_what_cannot_be_sampled_is_refused(options: tuple[str, ...], expected: str) -> None:
    assert expected in refused(*options, "--", "true")
