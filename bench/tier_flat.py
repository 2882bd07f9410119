"""What `nearfar tier run --flat` costs: moving pages, finding those in use, and an idle program.

    .venv/bin/python bench/tier_flat.py

A C program uses one quarter of 16 MiB, then another, then none. Near memory is another quarter of
it, so that pages change places. Then a program holds more and writes to some of its pages all the
time. Times are processor time, as the pager counts it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from nearfar.tier.far import nodes

_PROGRAM = Path(__file__).resolve().parents[1] / "tests" / "tier" / "programs" / "phases.c"
_NEARFAR = (sys.executable, "-m", "nearfar", "tier")
_PAGES = 4096  # of the program
_HELD = 512  # MiB
_USES = """
import mmap, select, sys
pages = 8192  # the last quarter is used, or every other page of the last half
held = mmap.mmap(-1, pages << 12, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
held[::4096] = bytes([1]) * pages
step = int(sys.argv[1])
first = pages - step * 2048
print("held", flush=True)
while not select.select([sys.stdin], [], [], 0)[0]:
    held[first << 12 :: step << 12] = bytes([2]) * 2048
"""
_HOLDS = f"""
import mmap, sys
held = mmap.mmap(-1, {_HELD} << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
pages = ({_HELD} << 20) // 4096
held[::4096] = bytes([1]) * pages
some = pages * int(sys.argv[1]) // 100
print("held", flush=True)
while True:
    held[: some * 4096 : 4096] = bytes([2]) * some
"""


class Run:
    """The program while it runs."""

    def __init__(self, words: Sequence[str | Path], detector: str, near: str = "4MiB") -> None:
        far = f"node:{nodes()[-1]}"
        self.process = subprocess.Popen(
            [
                *(*_NEARFAR, "run", "--flat", "--near", near, "--far", far, "--quiet"),
                *("--interval", "200ms", "--policy", "raminate", "--detector", detector),
                *("--", *map(str, words)),
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
    run = Run([program], detector)
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
    print(f"  a page away for {later['longest_away_ns'] / 1e6:.3f} ms at most")
    print(f"  a page looked at: {later['detector_ns'] / later['scanned']:.0f} ns")
    print(f"  faults caused: {later['probe_faults']}, of {later['found_used']} pages found used")
    found = later["found_used"] - idle["found_used"]
    seen = later["scanned"] - idle["scanned"]
    print(f"  idle after {later['promoted']} exchanges: {found} of {seen} pages found used")
    print(f"  {answer.strip()}")


def measure_pairs(kind: str, step: int) -> None:
    """Print what pairs take, of which the pages that come near lie `step` pages apart."""
    run = Run([sys.executable, "-c", _USES, str(step)], "dirty", near="8MiB")
    moved = run.until(lambda stats: stats["promoted"] >= 1500)
    run.process.terminate()
    run.process.communicate()
    pairs_ms = moved["mover_ns"] / moved["promoted"] / 1000
    print(f"1,000 exchanged pairs, {kind}: {pairs_ms:.1f} ms, of {moved['promoted']}")
    print(f"  {moved['groups_exchanged']} times 2 MiB whole")
    print(f"  a page away for {moved['longest_away_ns'] / 1e6:.3f} ms at most")


def measure_scans(written: int) -> None:
    """Print what the scans of a program take that writes to so many per cent of its pages."""
    run = Run([sys.executable, "-c", _HOLDS, str(written)], "dirty")
    pages = _HELD * 256
    before = run.until(lambda stats: stats["scanned"] > 5 * pages)
    later = run.until(lambda stats: stats["scanned"] > before["scanned"] + 20 * pages)
    run.process.terminate()
    run.process.communicate()
    looked = later["scanned"] - before["scanned"]
    ns = (later["detector_ns"] - before["detector_ns"]) / looked
    found = (later["found_used"] - before["found_used"]) / looked
    print(f"--detector dirty, {_HELD} MiB, {found:.0%} of the pages found written in a scan")
    print(f"  a page looked at: {ns:.1f} ns; 4 GiB once a second: {ns * 2**20 / 1e7:.2f} %")


def main() -> None:
    """Compile the program and run it with each detector."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "phases"
        subprocess.run(["gcc", "-O1", "-o", program, _PROGRAM], check=True)
        for detector in ("dirty", "probe"):
            measure(program, detector)
        measure_pairs("every other page", 2)
        measure_pairs("pages side by side", 1)
        for written in (1, 10, 50):
            measure_scans(written)


if __name__ == "__main__":
    main()
