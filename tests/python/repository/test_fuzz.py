"""The readers of Python hold on the kept corpus of tests/fuzz, and on a few inputs made of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
HARNESS = ROOT / "tests" / "fuzz" / "readers.py"
TARGETS = ("trace", "model", "result", "curve", "faults", "crash", "control", "environment")


def fuzzed(*options: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(HARNESS), *options],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("target", TARGETS)
def test_no_input_breaks_a_reader(target: str, tmp_path: Path) -> None:
    done = fuzzed("--runs", "100000", "--seconds", "2", target, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_target_is_run() -> None:
    text = HARNESS.read_text()
    assert all(f'    "{target}": {target},' in text for target in TARGETS)
    assert text.count("(folder: Path) -> Reader") + text.count("(_: Path) -> Reader") == len(
        TARGETS
    )


def test_a_reader_that_breaks_is_told_with_its_input(tmp_path: Path) -> None:
    script = (
        f"import sys; sys.path.insert(0, {str(HARNESS.parent)!r}); import readers\n"
        "def bad(data):\n"
        "    raise KeyError('here')\n"
        "readers.TARGETS['faults'] = lambda folder: bad\n"
        "sys.argv[1:] = ['--runs', '1', 'faults']\n"
        "sys.exit(readers.main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "faults: input 0 of seed 1, in crash-faults-0: KeyError: 'here'" in done.stdout
    assert (tmp_path / "crash-faults-0").exists()
