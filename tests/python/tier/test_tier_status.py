"""The exit status of `tier run` is the program's, whatever becomes of the report."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tiered import needs_tier

pytestmark = [
    needs_tier,
    pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full"),
]
FULL = Path("/dev/full")
LINE = "nearfar: output: No space left on device\n"


def status_of_five(
    folder: Path, *options: str, unbuffered: str = "", **streams: int
) -> tuple[int, str]:
    """The status of a run whose program ends with 5, and what came on standard error."""
    words = ["-m", "nearfar", "tier", "run", "--near", "8MiB", "--far", str(folder / "far")]
    ran = subprocess.run(
        [sys.executable, *words, *options, "--", "sh", "-c", "exit 5"],
        **({"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | streams),
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        text=True, check=False, timeout=60,
    )  # fmt: skip
    return ran.returncode, ran.stderr or ""


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_report_that_finds_no_room_keeps_the_programs_status(
    tmp_path: Path, unbuffered: str
) -> None:
    with FULL.open("w") as full:
        ran = status_of_five(tmp_path, unbuffered=unbuffered, stderr=full.fileno())
    assert ran == (5, "")


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_report_whose_reader_is_gone_keeps_the_programs_status(
    tmp_path: Path, stream: str, unbuffered: str
) -> None:
    read, write = os.pipe()
    os.close(read)
    options = ("--json", "-", "--quiet") if stream == "stdout" else ()
    ran = status_of_five(tmp_path, *options, unbuffered=unbuffered, **{stream: write})
    os.close(write)
    assert ran == (5, "")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_result_on_standard_output_that_finds_no_room_is_one_line(
    tmp_path: Path, unbuffered: str
) -> None:
    with FULL.open("w") as full:
        options = ("--json", "-", "--quiet")
        ran = status_of_five(tmp_path, *options, unbuffered=unbuffered, stdout=full.fileno())
    assert ran == (5, LINE)


def test_a_result_whose_file_finds_no_room_is_one_line(tmp_path: Path) -> None:
    said = f"nearfar: {FULL}: cannot write: No space left on device\n"
    assert status_of_five(tmp_path, "--json", str(FULL), "--quiet") == (5, said)


@pytest.mark.parametrize("option", ["--json", "--far"])
def test_a_record_of_faults_has_a_file_of_its_own(
    refused: Callable[..., str], tmp_path: Path, option: str
) -> None:
    file, same = tmp_path / "file", tmp_path / "." / "file"
    words = {"--far": tmp_path / "far", "--record-faults": file} | {option: same}
    options = [word for pair in words.items() for word in pair]
    said = refused("tier", "run", "--near", "8MiB", *options, "--", "true")
    found = f"--record-faults: found {file}, which {option} names, too"
    assert said == f"{found}; expected another file"
    assert list(tmp_path.iterdir()) == []
