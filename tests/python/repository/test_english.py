"""The check of words finds what hides an actor, and lets plain sentences pass."""

from __future__ import annotations

import runpy
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "scripts" / "check-english"
findings = runpy.run_path(str(SCRIPT))["findings"]


@pytest.mark.parametrize(
    "text",
    [
        "// Who waits has been woken.",
        "a program, who asks for it",
        "the processor of whoever faults",
        "whosever turn it is",
        "/// Whose turn it is.",
        "says whose line that is",
        "nobody may write to it",
        "what is had there is not managed",
        "a program that needs leave to use it",
    ],
)
def test_a_sentence_that_hides_its_actor_is_found(text: str) -> None:
    assert [number for number, _ in findings(f"first line\n{text}\n")] == [2]


@pytest.mark.parametrize(
    "text",
    [
        "Returns whether the waiting thread was woken.",
        "a page whose copy is far",
        "the whole page",
        "pages leave to make room",
        "what the pager reads",
    ],
)
def test_a_plain_sentence_passes(text: str) -> None:
    assert list(findings(text)) == []


def test_the_check_names_file_and_line_and_fails(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("Fine.\nWho waits is woken.\n", encoding="utf-8")
    ran = subprocess.run([SCRIPT, page], capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert ran.stdout.startswith(f"{page}:2: 'Who'")


def test_the_check_passes_a_file_in_plain_english(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("The pager wakes the waiting thread.\n", encoding="utf-8")
    ran = subprocess.run([SCRIPT, page], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (0, "")


def test_the_check_passes_over_files_that_are_no_text(tmp_path: Path) -> None:
    trace = tmp_path / "trace.bin"
    trace.write_bytes(b"\x80who")
    ran = subprocess.run([SCRIPT, trace], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
