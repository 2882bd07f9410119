"""Memory that is touched from its end to its beginning."""

from __future__ import annotations

from pathlib import Path

import pytest

from tiered import MIB, PROGRAMS, compiled, needs_tier, run_tiered

pytestmark = needs_tier


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(PROGRAMS / "hazards" / "goes_down.c", tmp_path_factory.mktemp("down") / "down")


@pytest.mark.parametrize("case", ["all", "holes", "given-back", "two", "copied"])
@pytest.mark.parametrize("options", [(), ("--sigbus",)])
def test_memory_that_is_read_downwards_loses_nothing(
    tmp_path: Path, program: Path, case: str, options: tuple[str, ...]
) -> None:
    ran = run_tiered(tmp_path, "4MiB", program, case, options=options).covered()
    assert ran.out == "ok\n", ran.err
    assert ran.counts["near_peak_bytes"] <= 4 * MIB + MIB
    assert ran.counts["copies_in"] > 4096


@pytest.mark.parametrize(("near", "fewer"), [("4MiB", 10), ("64MiB", 20)])
def test_a_fault_brings_in_the_pages_that_are_touched_next(
    tmp_path: Path, program: Path, near: str, fewer: int
) -> None:
    counts = run_tiered(tmp_path, near, program, "all").counts
    assert counts["faults"] < (counts["first_touches"] + counts["copies_in"]) / fewer
    assert counts["read_ahead_hits"] > 0.95 * counts["read_ahead"]
