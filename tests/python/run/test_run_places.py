"""`nearfar run --place`: pages lie and move as a policy says; the result tells what it cost."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import Compile, Run, needs_front_end
from nearfar.errors import InputError
from nearfar.report.documents import page as page_of
from nearfar.report.run import run_text
from nearfar.results import RunResult, parse
from nearfar.simulate.programs.places import PLACES, POLICIES, check_place

TIERED = "model:optane-tiered"

# Writes to pages of which near memory holds a sixteenth, one after the other, so that every
# round brings in all of them.
ROUNDS = r"""
#include <stdlib.h>
static volatile char area[64 * 4096] __attribute__((aligned(4096)));
int main(int count, char** words) {
  (void)count;
  for (long round = atol(words[1]); round > 0; --round)
    for (long at = 0; at < 64 * 4096; at += 64) ++area[at];
  return 0;
}
"""

# Lines at random, of far more pages than near memory holds: memory is asked for each of them.
RANDOM = r"""
#include <stdlib.h>
static volatile char area[1024 * 4096] __attribute__((aligned(4096)));
int main(int count, char** words) {
  (void)count;
  unsigned long at = 1;
  for (long rounds = atol(words[1]); rounds > 0; --rounds) {
    at = at * 6364136223846793005UL + 1442695040888963407UL;
    ++area[(at >> 33) % sizeof area];
  }
  return 0;
}
"""


def test_every_policy_of_the_core_is_a_place() -> None:
    assert set(POLICIES) == {"cached", "flat", "oracle"}
    for family, names in POLICIES.items():
        assert names
        for name in names:
            check_place(f"{family}:{name}")
    for place in PLACES:
        check_place(place)


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("cached:s3-fif", "place: cached: found 's3-fif'"),
        ("oracle:static", "place: oracle: found 'static', expected one of fifo, lru, hot-cold"),
        ("flat:", "place: flat: found '', expected one of static"),
        ("policy:fifo", "place: found 'policy:fifo', expected one of near, far, interleave"),
        ("cahced:fifo", "did you mean cached:fifo?"),
    ],
)
def test_a_place_that_is_none_is_refused_with_the_nearest(place: str, said: str) -> None:
    with pytest.raises(InputError) as refused:
        check_place(place)
    assert said in str(refused.value)


def test_the_help_names_every_policy(nearfar: Run) -> None:
    status, out, _ = nearfar("run", "--help")
    assert status == 0
    shown = "".join(out.split())  # names are broken at hyphens
    for family, names in POLICIES.items():
        assert f"{family}:NAMEwith{','.join(names)}" in shown


def ran(
    compiled: Compile, folder: Path, rounds: int, *options: str, source: str = ROUNDS
) -> RunResult:
    program = compiled("rounds", source)
    out = folder / "ran.json"
    process = subprocess.run(
        [
            *(sys.executable, "-m", "nearfar", "run", TIERED, "--json", str(out)),
            *(*options, "--", str(program), str(rounds)),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert process.returncode == 0, process.stderr
    document: Any = parse(json.loads(out.read_text()))
    assert isinstance(document, RunResult)
    return document


@needs_front_end
def test_near_memory_as_a_cache_counts_faults_copies_and_hits(
    compiled: Compile, tmp_path: Path
) -> None:
    result = ran(compiled, tmp_path, 3, "--place", "cached:fifo", "--near", "64KiB")
    machine = result.processes[0].machine
    assert machine is not None
    cached = machine.memory.cached
    assert cached is not None
    # Two rounds at least find none of the 64 pages of which near memory holds 16 at most.
    assert cached.near_pages == 16
    assert cached.copies_in >= 2 * 64
    assert cached.copies_out >= 2 * 64
    # What came in and did not leave is there.
    came = cached.first_touches + cached.copies_in
    left = cached.copies_out + cached.clean_drops + cached.unmapped
    assert cached.faults == came
    assert came - left == cached.resident_pages <= 16
    assert machine.memory.near_bytes == cached.resident_pages * 4096
    assert machine.memory.pages_moved == cached.copies_in + cached.copies_out
    assert machine.memory.lines_moved == 64 * machine.memory.pages_moved
    # Accesses are those of all instructions, and some cross from a page into the next.
    touched = cached.hits + cached.faults
    assert touched >= result.counts["loads"] + result.counts["stores"]
    assert list(machine.hits["pages in near memory"]) == [cached.hits, touched]
    # Most of the time is theirs.
    assert machine.core.stack_ps["paging"] > sum(machine.core.stack_ps.values()) / 2
    text = run_text(result)
    assert f"{cached.faults:,} faults" in text
    assert f"{cached.copies_in:,} in, {cached.copies_out:,} out" in text
    assert "pages copied between tiers" in text
    assert "page faults, which copied" in page_of([result])


@needs_front_end
@pytest.mark.parametrize("place", ["oracle:fifo", "oracle:lru"])
def test_a_policy_that_thrashes_ends_soon_after_its_program(
    compiled: Compile, tmp_path: Path, place: str
) -> None:
    options = ("--place", place, "--near", "84KiB", "--core", "simple")
    result = ran(compiled, tmp_path, 3000, *options, source=RANDOM)
    machine = result.processes[0].machine
    assert machine is not None
    assert machine.memory.lines_moved == 64 * machine.memory.pages_moved
    assert machine.memory.held_blocks > 0
    assert machine.core.stack_ps["paging"] > 0
    assert "held up" in run_text(result)


@needs_front_end
def test_a_flat_placement_that_moves_nothing_fills_near_memory(
    compiled: Compile, tmp_path: Path
) -> None:
    result = ran(compiled, tmp_path, 1, "--place", "flat:static", "--near", "64KiB")
    machine = result.processes[0].machine
    assert machine is not None
    assert machine.memory.near_bytes == 64 << 10
    assert machine.memory.pages_moved == 0
    assert machine.memory.cached is None


# All pages once, then the last half of them at random: what was touched first is not what is hot.
LATE = r"""
#include <stdlib.h>
static volatile char area[1024 * 4096] __attribute__((aligned(4096)));
int main(int count, char** words) {
  (void)count;
  for (long page = 0; page < 1024; ++page) ++area[page * 4096];
  unsigned long at = 1;
  for (long rounds = atol(words[1]); rounds > 0; --rounds) {
    at = at * 6364136223846793005UL + 1442695040888963407UL;
    ++area[sizeof area / 2 + (at >> 33) % (sizeof area / 2)];
  }
  return 0;
}
"""


@needs_front_end
@pytest.mark.parametrize("policy", ["raminate", "payback"])
@pytest.mark.parametrize("detector", ["dirty", "accessed", "sampled"])
def test_a_placement_policy_exchanges_pages_on_the_simulated_machine_and_pays_for_its_scans(
    compiled: Compile, tmp_path: Path, policy: str, detector: str
) -> None:
    place = ("--place", f"flat:{policy}", "--near", "2MiB", "--core", "simple")
    how = ("--interval", "50us", "--pairs", "64", "--detector", detector)
    result = ran(compiled, tmp_path, 30000, *place, *how, source=LATE)
    machine = result.processes[0].machine
    assert machine is not None
    if policy == "raminate":
        assert machine.memory.pages_moved > 0
    assert machine.core.stack_ps["paging"] > 0


@needs_front_end
def test_ways_to_decide_that_a_model_does_not_have_are_refused_in_one_line(
    refused: Callable[..., str],
) -> None:
    told = refused("run", TIERED, "--place", "flat:raminate", "--detector", "dirt", "--", "true")
    assert "did you mean dirty?" in told
    told = refused("run", TIERED, "--place", "flat:raminate", "--pairs", "0", "--", "true")
    assert "run.pairs" in told
    told = refused("run", "model:optane-100", "--interval", "5ms", "--", "true")
    assert "expected near.kind = 'tier'" in told
