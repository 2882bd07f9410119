"""What probing says of this machine's caches, run after run, beside what the kernel says.

The kernel's sizes come from /sys and are for this table alone: no inference ever reads them.
With --load N so many processes of its own run beside the probe all the while: by turns one goes
through memory and one keeps a processor busy, on whatever processor the kernel gives them, or
with --pin on the probe's own. --keep FOLDER saves each run for `nearfar infer`.

    .venv/bin/python bench/host_caches.py [--runs 5] [--full] [--load N [--pin]] [--keep FOLDER]
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from nearfar.measuring import machine
from nearfar.probing import caches
from nearfar.probing.findings import findings_of
from nearfar.results import ProbeResult, save
from nearfar.results.findings import IDENTIFIED, Finding

CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
NAMES = (
    "cache.1.entry",
    "cache.1.capacity",
    "cache.1.ways",
    "cache.1.policy",
    "cache.2.capacity",
    "cache.2.ways",
    "cache.3.capacity",
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
        truth[f"cache.{level}.capacity"] = int(fields["size"].removesuffix("K")) * 1024
        truth[f"cache.{level}.ways"] = int(fields["ways_of_associativity"])
        truth[f"cache.{level}.entry"] = int(fields["coherency_line_size"])
    return truth


def disturb(number: int, pin: bool) -> None:
    """A process that goes through memory, or counts, until it is ended."""
    if pin:
        os.sched_setaffinity(0, {machine.processors()[0]})
    memory = bytearray(LOAD_BYTES)
    turns = 0
    while True:
        if number % 2 == 0:
            memory[:] = memory[LOAD_BYTES // 2 :] + memory[: LOAD_BYTES // 2]
        turns += 1


@contextlib.contextmanager
def load(count: int, pin: bool) -> Iterator[None]:
    """`count` disturbing processes, ended when the block ends."""
    others = [
        multiprocessing.Process(target=disturb, args=(number, pin), daemon=True)
        for number in range(count)
    ]
    for other in others:
        other.start()
    try:
        yield
    finally:
        for other in others:
            other.terminate()
            other.join()


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
    """One line a name, one column a run, and how often it was right, wrong or not said."""
    truth = told_by_kernel()
    for name in NAMES:
        found = [run.get(name) for run in runs]
        counts = Counter(verdict(one, truth.get(name)) for one in found)
        verdicts = ", ".join(f"{counts[word]} {word}" for word in sorted(counts) if word)
        kernel = truth.get(name, "")
        columns = " | ".join(cell(one) for one in found)
        print(f"{name:18} {kernel!s:>9} | {columns} | {verdicts}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--load", type=int, default=0, metavar="N")
    parser.add_argument("--pin", action="store_true")
    parser.add_argument("--keep", type=Path, metavar="FOLDER")
    given = parser.parse_args()
    runs = []
    with load(given.load, given.pin):
        for number in range(1, given.runs + 1):
            start = time.monotonic()
            observations, _ = caches.observe(quick=not given.full)
            findings = findings_of(observations)
            runs.append({finding.name: finding for finding in findings})
            took = time.monotonic() - start
            print(f"run {number}: {took:.0f} s, load {os.getloadavg()[0]:.1f}", flush=True)
            if given.keep is not None:
                given.keep.mkdir(parents=True, exist_ok=True)
                result = ProbeResult(observations=observations, findings=findings)
                save(result, str(given.keep / f"run{number}.json"))
    show(runs)


if __name__ == "__main__":
    main()
