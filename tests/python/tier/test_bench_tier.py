"""The bench of programs on two tiers reads what its programs print, and leaves nothing behind."""

from __future__ import annotations

import contextlib
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest.mock
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[3] / "bench"
sys.path.insert(0, str(BENCH))

import tier_machine  # noqa: E402

import tier  # noqa: E402  (found by the line above)

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


def test_huge_pages_are_for_all_only_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = tmp_path / "enabled"
    state.write_text("always [madvise] never\n")
    monkeypatch.setattr(tier_machine, "HUGE_PAGES", state)
    with contextlib.suppress(KeyboardInterrupt), tier_machine.huge_pages():
        assert state.read_text() == "always"
        raise KeyboardInterrupt
    assert state.read_text() == "madvise"


def test_a_system_without_huge_pages_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tier_machine, "HUGE_PAGES", tmp_path / "none")
    with pytest.raises(tier_machine.MissingError, match="none: No such file"):
        tier_machine.huge_pages().__enter__()


def locked() -> int:
    """The bytes of this process that stay in RAM."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmLck:")[2].split()[0]) * 1024


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes groups and swap devices")
def test_an_interruption_takes_down_what_was_set_up() -> None:
    loops = sorted(Path("/sys/block").glob("loop*/loop/backing_file"))
    numbers: Path | None = None
    try:
        with tier_machine.loop(8 * MIB), tier_machine.limited(8 * MIB) as numbers:
            assert sorted(Path("/sys/block").glob("loop*/loop/backing_file")) != loops
            assert locked() >= 8 * MIB  # else the kernel may swap the swap file to itself
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        assert numbers is not None
        assert not numbers.parent.exists()
        assert sorted(Path("/sys/block").glob("loop*/loop/backing_file")) == loops
        assert locked() == 0
    except tier_machine.MissingError as missing:
        pytest.skip(str(missing))


def test_a_ratio_that_was_not_measured_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    case = next(case for case in tier.cases(quick=True) if case.pattern == "scan")
    took = {"nearfar": tier.Rounds({0: tier.Took(1, 1)}), "loop": tier.Rounds({0: tier.Took(2, 2)})}
    tier.judge({case: took})
    lines = capsys.readouterr().out.splitlines()
    assert any("nearfar / zram" in line and "not measured" in line for line in lines)
    assert any("nearfar / loop" in line and "0.500" in line for line in lines)


def test_a_killed_program_is_told_from_one_that_fails() -> None:
    with pytest.raises(tier_machine.KilledError, match="lack of memory"):
        tier_machine.output_of(["sh", "-c", "kill -9 $$"], dict(os.environ), None)
    with pytest.raises(tier_machine.MissingError, match="no such pattern"):
        tier_machine.output_of(
            ["sh", "-c", "echo no such pattern >&2; exit 1"], dict(os.environ), None
        )


def test_an_interruption_ends_what_a_program_has_started(tmp_path: Path) -> None:
    note = tmp_path / "number"
    started = f"echo $$ >{note}.new; mv {note}.new {note}; exec sleep 100"
    words = ["sh", "-c", f"sh -c '{started}' & wait"]

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    try:
        with pytest.raises(KeyboardInterrupt):
            tier_machine.output_of(words, dict(os.environ), None)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    state = Path("/proc", note.read_text().strip(), "stat")
    for _ in range(1000):
        if not state.exists() or ") Z" in state.read_text():
            return
        time.sleep(0.01)
    pytest.fail("it goes on")


@pytest.mark.skipif(shutil.which("sleep") is None, reason="no sleep")
def test_busy_loops_end_with_the_program_beside_them(tmp_path: Path) -> None:
    program = tmp_path / "hog"
    program.write_text('#!/bin/sh\necho $$ >"$0.$$"\nexec sleep 100\n')
    program.chmod(0o755)
    with tier_machine.hogs(program, 2):
        while len(started := sorted(tmp_path.glob("hog.*"))) < 2:
            os.sched_yield()
    for note in started:
        assert not Path("/proc", note.suffix[1:]).exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes groups and swap devices")
def test_an_interruption_is_told_in_a_line() -> None:
    bench = subprocess.Popen(
        [sys.executable, "-u", BENCH / "tier.py", "--quick", "--rounds", "1000", "--only", "touch"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert bench.stdout is not None
    if not bench.stdout.readline():
        pytest.skip(bench.communicate()[1].strip())
    assert re.search(r"and back: [0-9]+\.[0-9]{2} us$", bench.stdout.readline().rstrip())
    bench.stdout.readline()  # what the columns are: the first case runs next
    time.sleep(0.5)
    bench.send_signal(signal.SIGTERM)
    out, err = bench.communicate(timeout=60)
    assert (bench.returncode, out) == (130, "")
    assert err == "tier: interrupted; no ratio is told\n"


def test_a_failed_cleanup_does_not_undo_an_interruption() -> None:
    def interrupted(*_: object) -> tier.Took:
        try:
            raise KeyboardInterrupt
        finally:
            tier_machine._command("false")

    bench = unittest.mock.Mock(run=interrupted)
    with pytest.raises(KeyboardInterrupt):
        tier.measure(bench, tier.cases(quick=True)[:1], 1)


def test_cases_that_are_compared_with_each_other_run_by_turns() -> None:
    threads = [case for case in tier.cases(quick=True) if case.threads > 1]
    (group,) = tier.together(threads)
    ran: list[tuple[int, str]] = []

    def run(case: tier.Case, contender: str) -> tier.Took:
        ran.append((case.threads, contender))
        return tier.Took(wall=len(ran), cpu=1)

    took = tier.measure(unittest.mock.Mock(run=run), group, 2)
    each_round = [(count, name) for name in group[0].contenders for count in (2, 4)]
    assert ran == 2 * each_round
    assert [figures["nearfar"][0].wall for figures in took.values()] == [1, 2]


def test_every_case_is_in_one_group() -> None:
    cases = tier.cases(quick=False)
    groups = tier.together(cases)
    assert sorted(id(case) for group in groups for case in group) == sorted(map(id, cases))
    assert all(len({case.contenders for case in group}) == 1 for group in groups)


def test_a_ratio_is_the_median_of_those_of_the_rounds() -> None:
    """As if the machine were slow in the last two, and the other was killed in the second."""
    ours = tier.Rounds({i: tier.Took(wall, 1) for i, wall in enumerate((1.0, 9.0, 2.0, 4.0))})
    other = tier.Rounds({i: tier.Took(wall, 1) for i, wall in ((0, 2.0), (2, 2.5), (3, 5.0))})
    assert tier.ratio(ours, other, "wall") == pytest.approx(0.8)
    assert math.isnan(tier.ratio(ours, tier.Rounds(), "wall"))
