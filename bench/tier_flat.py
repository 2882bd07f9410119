"""What `nearfar tier run --flat` costs: moving pages, finding those in use, and an idle program.

    .venv/bin/python bench/tier_flat.py

A C program uses one quarter of 16 MiB, then another, then none. Near memory is another quarter of
it, so that pages change places. Times are processor time, as the pager counts it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nearfar.tier.far import nodes

_PROGRAM = Path(__file__).resolve().parents[1] / "tests" / "tier" / "programs" / "phases.c"
_NEARFAR = (sys.executable, "-m", "nearfar", "tier")
_PAGES = 4096  # of the program


class Run:
    """The program while it runs."""

    def __init__(self, program: Path, detector: str) -> None:
        far = f"node:{nodes()[-1]}"
        self.process = subprocess.Popen(
            [
                *(*_NEARFAR, "run", "--flat", "--near", "4MiB", "--far", far, "--quiet"),
                *("--interval", "200ms", "--policy", "raminate", "--detector", detector),
                *("--", str(program)),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.read_line()

    def read_line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def go_on(self) -> str:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.read_line()

    def until(self, done: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The counts once they are so."""
        while True:
            asked = (*_NEARFAR, "stats", "--json", "-", str(self.process.pid))
            ran = subprocess.run(asked, capture_output=True, text=True, check=True)
            stats: dict[str, Any] = json.loads(ran.stdout)
            if done(stats):
                return stats


def measure(program: Path, detector: str) -> None:
    """Print the figures with one detector."""
    run = Run(program, detector)
    run.until(lambda stats: stats["promoted"] > 0)
    run.go_on()
    moved = run.until(lambda stats: stats["promoted"] >= 1000)
    looked = run.until(lambda stats: stats["scanned"] > moved["scanned"] + 2 * _PAGES)
    run.go_on()
    # The first scan after its last write finds that.
    idle = run.until(lambda stats: stats["scanned"] > looked["scanned"] + 3 * _PAGES)
    later = run.until(lambda stats: stats["scanned"] > idle["scanned"] + 2 * _PAGES)
    answer = run.go_on()
    run.process.communicate()
    pairs_ms = moved["mover_ns"] / moved["promoted"] / 1000
    print(f"--detector {detector}")
    print(f"  1,000 exchanged pairs: {pairs_ms:.1f} ms, of {moved['promoted']}")
    print(f"  a page looked at: {later['detector_ns'] / later['scanned']:.0f} ns")
    print(f"  faults caused: {later['probe_faults']}, of {later['found_used']} pages found used")
    found = later["found_used"] - idle["found_used"]
    seen = later["scanned"] - idle["scanned"]
    print(f"  idle after {later['promoted']} exchanges: {found} of {seen} pages found used")
    print(f"  {answer.strip()}")


def main() -> None:
    """Compile the program and run it with each detector."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "phases"
        subprocess.run(["gcc", "-O1", "-o", program, _PROGRAM], check=True)
        for detector in ("dirty", "probe"):
            measure(program, detector)


if __name__ == "__main__":
    main()
