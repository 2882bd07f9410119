"""What probing says of this machine's caches, run after run, beside what the kernel says.

The kernel's sizes come from /sys and are for this table alone: no inference ever reads them.
With --load a second process goes through memory on each processor all the while.

    .venv/bin/python bench/host_caches.py [--runs 5] [--full] [--load]
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
from collections.abc import Sequence
from pathlib import Path

from nearfar.infer.saved import findings_of
from nearfar.probe import host_caches
from nearfar.results.findings import IDENTIFIED, Finding

CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
NAMES = (
    "buffer.1.entry",
    "buffer.1.capacity",
    "buffer.1.ways",
    "buffer.1.policy",
    "buffer.2.capacity",
    "buffer.2.ways",
    "buffer.3.capacity",
    "tlb.1.entries",
    "tlb.2.entries",
    "tlb.page",
)
LOAD_BYTES = 64 << 20


def told_by_kernel() -> dict[str, int]:
    """The findings' names and the values /sys has for them."""
    truth = {}
    for index in sorted(CACHES.glob("index*")):
        fields = {
            name: (index / name).read_text().strip()
            for name in ("level", "type", "size", "ways_of_associativity", "coherency_line_size")
        }
        if fields["type"] == "Instruction":
            continue
        level = fields["level"]
        truth[f"buffer.{level}.capacity"] = int(fields["size"].removesuffix("K")) * 1024
        truth[f"buffer.{level}.ways"] = int(fields["ways_of_associativity"])
        truth[f"buffer.{level}.entry"] = int(fields["coherency_line_size"])
    return truth


def disturb() -> None:
    """A process that goes through memory until it is ended."""
    memory = bytearray(LOAD_BYTES)
    while True:
        memory[:] = memory[LOAD_BYTES // 2 :] + memory[: LOAD_BYTES // 2]


def cell(finding: Finding | None) -> str:
    """A finding in a column."""
    if finding is None:
        return "-"
    bounds = finding.interval
    exact = bounds is None or bounds[0] == bounds[1]
    between = "" if exact or bounds is None else f" {bounds[0]:.0f}..{bounds[1]:.0f}"
    if finding.status != IDENTIFIED:
        return f"n.i.{between}"
    return f"{finding.value}{between}"


def verdict(finding: Finding | None, truth: int | None) -> str:
    """right, wrong, or no answer."""
    if finding is None or finding.status != IDENTIFIED or truth is None:
        return "no answer" if truth is not None else ""
    low, high = finding.interval or (finding.value, finding.value)
    assert not isinstance(low, str)
    assert not isinstance(high, str)
    return "right" if low is not None and high is not None and low <= truth <= high else "WRONG"


def show(runs: Sequence[dict[str, Finding]]) -> None:
    """One line a name, one column a run."""
    truth = told_by_kernel()
    for name in NAMES:
        found = [run.get(name) for run in runs]
        verdicts = sorted({verdict(one, truth.get(name)) for one in found} - {""})
        kernel = truth.get(name, "")
        columns = " | ".join(cell(one) for one in found)
        print(f"{name:18} {kernel!s:>9} | {columns} | {', '.join(verdicts)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--load", action="store_true")
    given = parser.parse_args()
    others = [
        multiprocessing.Process(target=disturb, daemon=True)
        for _ in range(len(os.sched_getaffinity(0)) if given.load else 0)
    ]
    for other in others:
        other.start()
    runs = []
    for number in range(given.runs):
        start = time.monotonic()
        observations, _ = host_caches.observe(quick=not given.full)
        runs.append({finding.name: finding for finding in findings_of(observations)})
        took = time.monotonic() - start
        print(f"run {number + 1}: {took:.0f} s, load {os.getloadavg()[0]:.1f}", flush=True)
    for other in others:
        other.terminate()
    show(runs)


if __name__ == "__main__":
    main()
