"""Of a long program a window is measured: so much skipped, so much to warm up, so much counted."""

from __future__ import annotations

import os
from collections.abc import Callable

from conftest import Compile, needs_front_end
from nearfar.report.run import run_text
from running import simulated

pytestmark = needs_front_end

# Goes around an area that fits into L2: all its misses are in the first round.
ROUNDS = """
static volatile char area[128 << 10];
int main(void) {
  for (int round = 0; round < 20; ++round)
    for (long i = 0; i < sizeof area; i += 64) area[i] += 1;
  return 7;
}
"""


def test_skipped_and_warm_up_instructions_do_not_count(compiled: Compile) -> None:
    program = compiled("rounds", ROUNDS)

    def counted(*options: str) -> tuple[int, int, list[str], str]:
        out, err, ran = simulated("model:ddr4-2666", [program], os.environ, *options)
        assert (out, err, ran.exit_code) == ("", "", 7)
        machine = ran.processes[0].machine
        assert machine is not None
        assert machine.core.counts["instructions"] == ran.counts["instructions"]
        lines = sum(machine.over_time.far_reads)
        return ran.counts["instructions"], lines, list(ran.notes), run_text(ran)

    whole, all_lines, _, text = counted()
    assert all_lines > 2048
    assert "measured:" not in text
    # The last of the rounds, which end with the program: 2048 times some instructions each.
    begin = whole - 40_000
    cold, cold_lines, notes, text = counted("--skip", str(begin), "--run", "20k")
    assert abs(cold - 20_000) < 100  # whole blocks
    assert 2000 < cold_lines < 2600
    assert notes == []
    assert f"measured: of each program the 20,000 instructions behind {begin:,} skipped" in text
    warm, warm_lines, notes, _ = counted(
        "--skip", str(begin - 20_000), "--warm", "20k", "--run", "20k"
    )
    assert abs(warm - 20_000) < 100
    assert warm_lines < 200
    assert notes == []
    none, no_lines, notes, _ = counted("--skip", "1k", "--warm", "1G")
    assert (none, no_lines) == (0, 0)
    assert len(notes) == 1
    assert notes[0].startswith("1 of 1 programs ended before the window; the longest has ")


def test_a_window_that_makes_no_sense_is_refused(refused: Callable[..., str]) -> None:
    def said(*options: str) -> str:
        return refused("run", "model:ddr4-2666", *options, "--", "true")

    assert "found 'much', expected a number such as '100 M'" in said("--skip", "much")
    assert "found unit 'X', expected a number in k, M, G" in said("--warm", "3X")
    assert "found '0.5', expected a whole number" in said("--run", "0.5")
    assert said("--run", "0") == "run: found 0, expected at least 1"
    assert "roi: goes with none of skip, warm and run" in said("--roi", "--skip", "1")
