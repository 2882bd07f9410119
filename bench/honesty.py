"""Whether nearfar's figures of this machine are right: beside those of others, on the same machine.

Latency: lmbench's `lat_mem_rd -t` visits every line of a region, each time in another page. Of
several runs the least counts, because a disturbance only adds time. Beside it stand nearfar's
walk in an order of the same kind, and nearfar's chase, whose order is random: that one meets
the TLB more often, so the two can only agree where translation costs nothing or comes with
every load. A size is judged where both programs are steady from run to run; caches that
strangers share are not.

Bandwidth: streams, and the plain loops of bench_loops.cpp, by the median of short blocks, the
most of several runs.

On a busy machine neither program is left alone long enough; as root, `chrt -f 50 make
bench-host` lets nothing interrupt them. With other programs on it caches are still shared.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from nearfar import Chase, Stream
from nearfar.measuring import Effort, WalkMemory, machine, measure

ROOT = Path(__file__).resolve().parents[1]
LOOPS = ROOT / "build" / "release" / "bench" / "bench_loops"
TOLERANCE = 0.10
SIZES_KIB = (8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536)
PAGE, LINE, MIB = 4096, 64, 1 << 20
FIRST_LEVEL_TLB = 64  # entries that every processor of the last ten years has
WALKS = 3  # in fresh memory each, a run


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


def page_by_page(size: int, seed: int) -> list[int]:
    """Every line of a region, each time in another page: pages and lines in random order."""
    rng = random.Random(seed)
    pages, lines = list(range(size // PAGE)), list(range(PAGE // LINE))
    rng.shuffle(pages)
    rng.shuffle(lines)
    return [
        page * PAGE + lines[(turn + place) % len(lines)] * LINE
        for turn in range(len(lines))
        for place, page in enumerate(pages)
    ]


def walk(size: int, seed: int) -> float:
    """nearfar's ns a load in that order."""
    order = page_by_page(size, seed)
    times = [WalkMemory("host", size).walk(order, chunks=48).ns_per_load for _ in range(WALKS)]
    return statistics.median(times)


def chases(sizes: Sequence[int], seed: int, seconds: float) -> list[float]:
    """nearfar's ns a line in random order."""
    regions = [size << 10 for size in sizes]
    pattern = Chase(region=regions, op="load", regions="repeat", fence="none", seed=seed)
    points = measure("host", pattern, effort=Effort(least=3, most=9, seconds=seconds)).points
    return [point.ns_per_line for point in points]


def steady(values: Sequence[float]) -> bool:
    """Whether half the runs, the least ones, agree."""
    least = sorted(values)[: len(values) // 2 + 1]
    return least[-1] <= (1 + TOLERANCE / 2) * least[0]


def compare_latency(program: str, runs: int, most_mib: int, seconds: float) -> list[str]:
    """Prints a line a size; answers those that differ by more than the tolerance."""
    sizes = [size for size in SIZES_KIB if size <= most_mib * 1024]
    theirs: dict[int, list[float]] = {size: [] for size in sizes}
    walks: dict[int, list[float]] = {size: [] for size in sizes}
    chased: dict[int, list[float]] = {size: [] for size in sizes}
    for run in range(runs):
        found = lat_mem_rd(program, most_mib)
        for size, ns in zip(sizes, chases(sizes, run, seconds / runs), strict=True):
            theirs[size].append(found[size])
            walks[size].append(walk(size << 10, run))
            chased[size].append(ns)
    print(f"latency, ns a load: lat_mem_rd -t, the least of {runs}; nearfar, the median of {runs}")
    print(f"{'KiB':>8} {'lat_mem_rd':>11} {'walk':>9} {'ratio':>7} {'chase':>9} {'ratio':>7}")
    wrong = []
    for size in sizes:
        reference = min(theirs[size])
        line, notes = f"{size:8} {reference:11.2f}", []
        for name, values in (("walk", walks[size]), ("chase", chased[size])):
            mine = statistics.median(values)
            line += f" {mine:9.2f} {mine / reference:7.3f}"
            if not steady(values):
                notes.append(f"{name} not steady")
            elif steady(theirs[size]) and comparable(name, size):
                if abs(mine / reference - 1) > TOLERANCE:
                    wrong.append(f"{name} over {size} KiB")
            elif name == "chase" and not comparable(name, size):
                notes.append("the TLB tells them apart")
        if not steady(theirs[size]):
            notes.append("lat_mem_rd not steady")
        print("  ".join([line, ", ".join(notes)]).rstrip())
    return wrong


def comparable(name: str, size: int) -> bool:
    """Whether an order matters: a random one does between the TLB's reach and beyond caches."""
    cache = (machine.last_level_cache() or 0) >> 10
    return name == "walk" or size <= FIRST_LEVEL_TLB * PAGE >> 10 or size >= 2 * cache


def loops(op: str, threads: int) -> tuple[float, float]:
    """GB/s by the median block and the best pass."""
    command = [str(LOOPS), op, "256", str(threads)]
    median, best = subprocess.run(
        command, capture_output=True, text=True, check=True
    ).stdout.split()
    return float(median), float(best)


def compare_bandwidth(runs: int, seconds: float) -> list[str]:
    """Prints a line an operation and number of threads; answers those that differ too much."""
    print(f"\nbandwidth, GB/s: loops and nearfar, the most of {runs} runs each, in turn")
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
            reference, mine = max(theirs), max(ours)  # a disturbance only takes away
            # The loops are the same instruction by instruction, but for one broadcast a line:
            # what differs where the runs of either do not agree among themselves is the load.
            unsteady = [
                name
                for name, rates in (("loops", theirs), ("nearfar", ours))
                if not steady([1 / rate for rate in rates])
            ]
            note = f"  {' and '.join(unsteady)} not steady" if unsteady else ""
            if not unsteady and abs(mine / reference - 1) > TOLERANCE:
                note = "  off"
                wrong.append(f"bandwidth of {op} on {threads} threads")
            print(
                f"{op:>8} {threads:8} {reference:9.2f} {max(passes):10.2f} "
                f"{mine:9.2f} {mine / reference:7.3f}{note}"
            )
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="of each, in turn; default 5")
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
