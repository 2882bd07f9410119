"""The bench of programs on two tiers reads what its programs print, and leaves nothing behind."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))

import tier  # noqa: E402  (found by the line above)
import tier_machine  # noqa: E402

MIB = 1 << 20


def test_times_are_told_by_operation() -> None:
    took = tier.parse("operations 2000\nwall 0.004\ncpu 0.001\nbytes 7\nsum 9\n")
    assert took == tier.Took(wall=pytest.approx(2.0), cpu=pytest.approx(0.5))


@pytest.mark.parametrize("output", ["", "operations 0\nwall 1\ncpu 1\n", "operations 5\n"])
def test_output_without_operations_is_refused(output: str) -> None:
    with pytest.raises(ValueError, match="not what a program of this bench prints"):
        tier.parse(output)


def test_every_ratio_compares_contenders_that_run() -> None:
    cases = tier.cases(quick=True)
    for target in tier.targets(cases):
        assert {target.contender, target.against} <= set(target.case.contenders)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes groups and swap devices")
def test_an_interruption_takes_down_what_was_set_up() -> None:
    loops = sorted(Path("/sys/block").glob("loop*/loop/backing_file"))
    numbers: Path | None = None
    try:
        with tier_machine.loop(8 * MIB), tier_machine.limited(8 * MIB) as numbers:
            assert sorted(Path("/sys/block").glob("loop*/loop/backing_file")) != loops
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        assert numbers is not None
        assert not numbers.parent.exists()
        assert sorted(Path("/sys/block").glob("loop*/loop/backing_file")) == loops
    except tier_machine.MissingError as missing:
        pytest.skip(str(missing))


@pytest.mark.skipif(shutil.which("sleep") is None, reason="no sleep")
def test_busy_loops_end_with_what_they_were_beside(tmp_path: Path) -> None:
    program = tmp_path / "hog"
    program.write_text('#!/bin/sh\necho $$ >"$0.$$"\nexec sleep 100\n')
    program.chmod(0o755)
    with tier_machine.hogs(program, 2):
        while len(started := sorted(tmp_path.glob("hog.*"))) < 2:
            os.sched_yield()
    for note in started:
        assert not Path("/proc", note.suffix[1:]).exists()
