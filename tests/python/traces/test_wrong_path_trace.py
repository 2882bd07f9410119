"""What a core loads after wrong guesses is the same in a run and in a replay of its trace."""

from __future__ import annotations

import json
from pathlib import Path

from conftest import Compile, Run, needs_front_end

pytestmark = needs_front_end

TARGET = "model:dram,cpu.l1.size=4KiB,cpu.l2.size=16KiB,cpu.l3.size=66KiB,cpu.l3.slices=3"

# Look-ups in chains, of which some are behind a call of the system and one behind the clock.
LOOKUPS = r"""
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
enum { ROWS = 1 << 15 };
static uint32_t heads[ROWS], next[ROWS], keys[ROWS];
static uint32_t seed = 7;
static uint32_t draw(void) { return (seed = seed * 1664525u + 1013904223u) >> 12; }
static uint32_t* head(uint32_t key) { return &heads[key * 2654435769u >> 17]; }
int main(void) {
  struct timespec now;
  uint64_t sum = 0;
  for (uint32_t i = 0; i < ROWS; ++i) {
    keys[i] = draw();
    next[i] = *head(keys[i]);
    *head(keys[i]) = i + 1;
  }
  for (int i = 0; i < 5000; ++i) {
    const uint32_t key = draw();
    for (uint32_t at = *head(key); at != 0; at = next[at - 1])
      if (keys[at - 1] == key) sum += at;
    if (i % 100 == 0) getppid();
    if (i == 2500) clock_gettime(CLOCK_MONOTONIC, &now);
  }
  printf("%lu\n", (unsigned long)sum);
  return 0;
}
"""


def test_a_replay_loads_on_wrong_paths_what_the_run_did(
    nearfar: Run, compiled: Compile, tmp_path: Path
) -> None:
    program = compiled("lookups", LOOKUPS)
    trace, ran, again = (tmp_path / name for name in ("p.nft", "ran.json", "again.json"))
    kept = ("--kind", "program", "-o", str(trace), "--json", str(ran))
    status, _, err = nearfar("trace", "record", TARGET, *kept, "--", str(program))
    assert status == 0, err
    status, _, err = nearfar("replay", TARGET, str(trace), "--json", str(again))
    assert status == 0, err
    of_run, of_replay = (json.loads(file.read_text()) for file in (ran, again))
    machine = of_run["processes"][0]["machine"]
    assert machine == of_replay["processes"][0]["machine"]
    assert machine["core"]["counts"]["loads_wrong_path"] > 1000

    off = TARGET + ",cpu.core.wrong_path=false"
    status, _, err = nearfar("replay", off, str(trace), "--json", str(again))
    assert status == 0, err
    without = json.loads(again.read_text())["processes"][0]["machine"]
    assert without["core"]["counts"]["loads_wrong_path"] == 0
    assert without["time_ns"] > machine["time_ns"]
