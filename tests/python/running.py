"""Real programs for the tests: compiled, run natively, and on a simulated machine."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nearfar.errors import InputError
from nearfar.results import RunResult, parse
from nearfar.simulate.programs.qemu import front_end, include_folder

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "programs"


def missing(*programs: str) -> str:
    """Why programs cannot be run here; empty if they can."""
    try:
        front_end()
    except InputError as error:
        return str(error)
    absent = [program for program in ("gcc", *programs) if shutil.which(program) is None]
    return f"no {', '.join(absent)}" if absent else ""


def build(example: str, folder: Path, *options: str) -> Path:
    """Compile an example."""
    program = folder / Path(example).stem
    command = [
        "gcc",
        "-O2",
        "-pthread",
        f"-I{include_folder()}",
        "-o",
        program,
        EXAMPLES / example,
        *options,
    ]
    subprocess.run(command, check=True)
    return program


def native(words: Sequence[str | Path], environment: Mapping[str, str]) -> tuple[str, int]:
    """What a program prints, and its exit status."""
    ran = subprocess.run(
        [*map(str, words)],
        capture_output=True, text=True, check=False, timeout=100, env=environment,
    )  # fmt: skip
    return ran.stdout, ran.returncode


def simulated(
    target: str, words: Sequence[str | Path], environment: Mapping[str, str], *options: str
) -> tuple[str, str, RunResult]:
    """What a program prints on a simulated machine, on both streams, and what it did."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "ran.json"
        command = [sys.executable, "-m", "nearfar", "run", target, "--quiet", "--json", str(out)]
        ran = subprocess.run(
            [*command, *options, "--", *map(str, words)],
            capture_output=True, text=True, check=False, timeout=100, env=environment,
        )  # fmt: skip
        assert out.exists(), ran.stderr
        document: Any = parse(json.loads(out.read_text()))
    assert isinstance(document, RunResult)
    assert document.exit_code == ran.returncode
    return ran.stdout, ran.stderr, document
