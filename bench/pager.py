"""Instructions of the pager a fault: the table that `make bench-pager` prints.

A managed program cannot run under valgrind, as the pager needs a userfaultfd. So a generated
program, or a record of faults, runs on a fake kernel (tests/cpp/fake_kernel.h), and callgrind
counts what the pager's parts do for it: neither the program nor the fake. Each workload has a
budget, the first figure measured, when the pager was one class. The run fails when one costs 2 %
more.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DRIVER = ROOT / "build" / "release" / "bench" / "bench_pager"
SLACK = 1.02


@dataclass(frozen=True)
class Workload:
    """One line of the table."""

    name: str
    rounds: int
    budget: int  # instructions a fault; 0: none is known


WORKLOADS = (
    Workload("small", 1, 6452),
    Workload("small", 2, 5085),
    Workload("huge", 1, 13439),
    Workload("copying", 1, 6708),
    Workload("compressed", 1, 64948),
)


def instructions_a_fault(workload: str, rounds: int) -> tuple[int, float]:
    """Faults served, and the pager's instructions for each."""
    run = subprocess.run(
        [
            "valgrind",
            "--tool=callgrind",
            "--collect-atstart=no",
            "--callgrind-out-file=/dev/null",
            str(DRIVER),
            workload,
            str(rounds),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    collected = re.search(r"Collected : (\d+)", run.stderr)
    counts = dict(line.split() for line in run.stdout.splitlines())
    if run.returncode != 0 or collected is None or int(counts.get("faults", 0)) == 0:
        sys.exit(f"bench-pager: {workload}: {run.stderr.strip().splitlines()[-1]}")
    faults = int(counts["faults"])
    return faults, int(collected.group(1)) / faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", type=Path, help="a file of `nearfar tier run --record-faults`")
    parser.add_argument("--limit", type=int, default=1024, help="near pages for the record")
    options = parser.parse_args()
    workloads: tuple[Workload, ...] = WORKLOADS
    if options.record is not None:
        workloads = (Workload(str(options.record.resolve()), options.limit, 0),)
    line = "{:<14} {:>8} {:>14} {:>10}"
    print(line.format("workload", "faults", "instructions", "budget"))
    dearer = []
    for workload in workloads:
        faults, cost = instructions_a_fault(workload.name, workload.rounds)
        name = f"{Path(workload.name).name} {workload.rounds}"
        budget = f"{workload.budget:,}" if workload.budget else ""
        print(line.format(name, f"{faults:,}", f"{cost:,.0f}", budget), flush=True)
        if workload.budget and cost > SLACK * workload.budget:
            dearer.append(name)
    for name in dearer:
        print(f"dearer than it was: {name}", file=sys.stderr)
    return 1 if dearer else 0


if __name__ == "__main__":
    sys.exit(main())
