"""Whether nearfar's figures of this machine are right: beside those of others, on the same machine.

Latency: a chase of ordinary loads through a region, and lmbench's `lat_mem_rd -t` at a stride of
a line, which visits the same lines in an order that misses the TLB as a random one does. Of
several runs of lat_mem_rd the least counts, because a disturbance only adds time. Where the
two least runs of a size differ, lat_mem_rd has no figure to compare with.

Bandwidth: streams, and the plain loops of bench_loops.cpp, by the median of short blocks.

    make bench-host
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

from nearfar import Chase, Stream
from nearfar.measure import Effort, measure

ROOT = Path(__file__).resolve().parents[1]
LOOPS = ROOT / "build" / "release" / "bench" / "bench_loops"
TOLERANCE = 0.10
STEADY = 0.05  # between the two least runs of lat_mem_rd
SIZES_KIB = (8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536)
MIB = 1 << 20


def find_lat_mem_rd() -> str | None:
    """Debian puts lmbench's programs beside the path."""
    installed = sorted(Path("/usr/lib/lmbench/bin").glob("*/lat_mem_rd"))
    return shutil.which("lat_mem_rd") or (str(installed[0]) if installed else None)


def lat_mem_rd(program: str, most_mib: int) -> dict[int, float]:
    """One run: KiB to ns, the least of several short timings.

    ENOUGH is lmbench's own knob, microseconds of a timing: longer than a scheduler's time slice,
    as by default, and none of them is undisturbed where anything else runs.
    """
    run = subprocess.run(
        [program, "-W", "0", "-t", "-N", "11", str(most_mib), "64"],
        env={**os.environ, "ENOUGH": "500"},
        capture_output=True,
        text=True,
        check=True,
    )
    pairs = re.findall(r"^([\d.]+) ([\d.]+)$", run.stderr, re.MULTILINE)
    return {round(float(mib) * 1024): float(ns) for mib, ns in pairs}


def compare_latency(program: str, runs: int, most_mib: int, seconds: float) -> list[str]:
    """Prints a line a size; answers those that differ by more than the tolerance."""
    sizes = [size for size in SIZES_KIB if size <= most_mib * 1024]
    theirs: dict[int, list[float]] = {size: [] for size in sizes}
    ours: dict[int, list[float]] = {size: [] for size in sizes}
    for run in range(runs):
        found = lat_mem_rd(program, most_mib)
        pattern = Chase(
            region=[size << 10 for size in sizes],
            op="load",
            regions="repeat",
            fence="none",
            seed=run,
        )
        effort = Effort(least=3, most=25, seconds=seconds / runs)
        points = measure("host", pattern, effort=effort).points
        for size, point in zip(sizes, points, strict=True):
            theirs[size].append(found[size])
            ours[size].append(point.ns_per_line)
    print(f"latency, ns a load: lat_mem_rd -t, the least of {runs}; nearfar, the median of {runs}")
    print(f"{'KiB':>8} {'lat_mem_rd':>11} {'nearfar':>9} {'ratio':>7}")
    wrong = []
    for size in sizes:
        least, second = sorted(theirs[size])[:2]
        mine = statistics.median(ours[size])
        steady = second <= (1 + STEADY) * least
        off = abs(mine / least - 1) > TOLERANCE
        note = "" if steady else "  lat_mem_rd is not steady"
        if steady and off:
            note = "  off"
            wrong.append(f"latency at {size} KiB")
        print(f"{size:8} {least:11.2f} {mine:9.2f} {mine / least:7.3f}{note}")
    return wrong


def loops(op: str, threads: int) -> tuple[float, float]:
    """GB/s by the median block and the best pass."""
    command = [str(LOOPS), op, "256", str(threads)]
    median, best = subprocess.run(
        command, capture_output=True, text=True, check=True
    ).stdout.split()
    return float(median), float(best)


def compare_bandwidth(runs: int, seconds: float) -> list[str]:
    """Prints a line an operation and number of threads; answers those that differ too much."""
    print(f"\nbandwidth, GB/s: loops and nearfar, the median of {runs} runs each, in turn")
    print(f"{'op':>8} {'threads':>8} {'loops':>9} {'best pass':>10} {'nearfar':>9} {'ratio':>7}")
    wrong = []
    for op in ("load", "store", "ntstore"):
        for threads in (1, min(2, len(os.sched_getaffinity(0)))):
            theirs, passes, ours = [], [], []
            for _ in range(runs):
                median, best = loops(op, threads)
                pattern = Stream(op=op, access=64, threads=threads, area=256 * MIB)
                effort = Effort(least=3, most=9, seconds=seconds / runs)
                (point,) = measure("host", pattern, effort=effort).points
                theirs.append(median)
                passes.append(best)
                ours.append(point.gb_per_s)
            reference, mine = statistics.median(theirs), statistics.median(ours)
            note = ""
            if abs(mine / reference - 1) > TOLERANCE:
                note = "  off"
                wrong.append(f"bandwidth of {op} on {threads} threads")
            print(
                f"{op:>8} {threads:8} {reference:9.2f} {max(passes):10.2f} "
                f"{mine:9.2f} {mine / reference:7.3f}{note}"
            )
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7, help="of each, in turn; default 7")
    parser.add_argument("--most", type=int, default=64, help="MiB of the largest chase")
    parser.add_argument("--seconds", type=float, default=60.0, help="of nearfar's own chases")
    parser.add_argument("--lat-mem-rd", default=find_lat_mem_rd(), help="where lmbench has it")
    args = parser.parse_args()
    wrong: list[str] = []
    if args.lat_mem_rd is None:
        print("latency: no lat_mem_rd; apt-get install lmbench (Debian's component non-free)")
    else:
        wrong += compare_latency(args.lat_mem_rd, max(args.runs, 2), args.most, args.seconds)
    wrong += compare_bandwidth(args.runs, args.seconds / 4)
    for one in wrong:
        print(f"more than {TOLERANCE:.0%} off: {one}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
