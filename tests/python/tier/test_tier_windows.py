"""Memory granted ahead of its first touch, which the kernel then fills by itself in huge pages."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tiered import MIB, PROGRAMS, Tiered, command, compiled, needs_huge, needs_tier, run_tiered

pytestmark = [needs_tier, needs_huge]
CASES = (
    "pressed", "given-back", "freed", "own-madvise", "unmapped", "own-munmap", "moved",
    "protected", "locked", "forked", "threads", "kernel", "counted", "mappings", "part",
)  # fmt: skip


@pytest.fixture(scope="module")
def windows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("windows")
    return compiled(PROGRAMS / "hazards" / "windows.c", folder / "windows")


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("policy", ["fifo", "s3-fifo"])
def test_memory_granted_ahead_loses_nothing(
    tmp_path: Path, windows: Path, case: str, policy: str
) -> None:
    ran = run_tiered(tmp_path, "64MiB", windows, case, policy=policy).covered()
    assert ran.out == "ok\n", ran.err
    assert ran.counts["near_peak_bytes"] <= 64 * MIB + MIB
    assert ran.counts["window_touches"] > 0
    assert ran.counts["huge_moves"] > 0


def test_memory_filled_in_order_leaves_two_mib_at_a_time(tmp_path: Path, windows: Path) -> None:
    counts = run_tiered(tmp_path, "64MiB", windows, "pressed", policy="fifo").covered().counts
    assert counts["huge_moves"] * 512 > 0.25 * counts["evictions"]


def touched(tmp_path: Path, near: str, windows: Path, case: str) -> Tiered:
    ran = run_tiered(tmp_path, near, windows, case)
    assert ran.out == "ok\n", ran.err
    return ran


def test_memory_filled_in_order_hardly_faults_where_it_fits(tmp_path: Path, windows: Path) -> None:
    counts = touched(tmp_path, "1GiB", windows, "mappings").counts
    assert counts["window_touches"] > 0.85 * counts["first_touches"]
    assert counts["faults"] < counts["first_touches"] / 200
    assert counts["evictions"] == 0


def test_single_pages_here_and_there_are_granted_alone(tmp_path: Path, windows: Path) -> None:
    counts = touched(tmp_path, "1GiB", windows, "sparse").counts
    assert counts["window_touches"] == 0
    assert counts["first_touches"] < 100


def test_little_near_memory_is_granted_page_by_page(tmp_path: Path, windows: Path) -> None:
    assert touched(tmp_path, "8MiB", windows, "pressed").counts["window_touches"] == 0


def test_two_programs_share_near_memory_that_one_was_granted(tmp_path: Path, windows: Path) -> None:
    result = tmp_path / "result.json"
    words = ["sh", "-c", f"{windows} pressed & {windows} threads & wait"]
    ran = subprocess.run(
        command("96MiB", tmp_path / "far", *words, result=result),
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    assert ran.stdout == "ok\nok\n", ran.stderr
    counts = json.loads(result.read_text())
    assert counts["near_peak_bytes"] <= 96 * MIB
    assert counts["over_budget"] == 0
    assert counts["window_touches"] > 0
