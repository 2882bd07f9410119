"""How much slower programs run on the simulated machine than natively, how many instructions are
simulated in a second, and in what memory.

Processor time of the program and its children, native and simulated in turn, the least of three;
set-up is taken out by running each twice, with few and with many iterations. Ratios and speeds
depend on the machine that this runs on, and on what else it does: the load is printed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar.simulate.programs.qemu import QEMU

ROOT = Path(__file__).resolve().parents[1]
MODEL = "model:ddr4-2666"
RUNS = 3
REDIS = ROOT / "examples" / "programs" / "redis.sh"


@dataclass(frozen=True)
class Kernel:
    """A program whose last argument is how much it does; natively so many times as much."""

    name: str
    words: Sequence[str]
    iterations: int
    native_factor: int
    target: float


@dataclass(frozen=True)
class Used:
    seconds: float
    kilobytes: int


def used(command: Sequence[str]) -> Used:
    """Processor time of a command with its children, and the most memory that one of them had."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"programs: {' '.join(command)} ended with {process.returncode}")
    return Used(usage.ru_utime + usage.ru_stime, usage.ru_maxrss)


def per_iteration(before: Sequence[str], kernel: Kernel, factor: int) -> float:
    """Seconds."""
    few, many = kernel.iterations * factor // 8, kernel.iterations * factor
    took = [
        min(used([*before, *kernel.words, str(count)]).seconds for _ in range(RUNS))
        for count in (few, many)
    ]
    return (took[1] - took[0]) / (many - few)


def instructions(simulated: Sequence[str], kernel: Kernel, folder: str) -> float:
    """Of all processes, in an iteration."""
    few, many = kernel.iterations // 8, kernel.iterations
    counted = []
    for count in (few, many):
        result = Path(folder) / "result.json"
        used([*simulated[:-1], "--json", str(result), "--", *kernel.words, str(count)])
        counted.append(json.loads(result.read_text())["counts"]["instructions"])
    return float(counted[1] - counted[0]) / (many - few)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("only", nargs="?", default="", help="kernels whose names contain this")
    wanted = parser.parse_args().only
    simulated = [sys.executable, "-m", "nearfar", "run", MODEL, "--core", "window", "--quiet", "--"]
    with tempfile.TemporaryDirectory() as folder:
        program = str(Path(folder) / "programs")
        source = ROOT / "bench" / "programs.c"
        subprocess.run(["gcc", "-O2", "-o", program, source], check=True)
        kernels = (
            Kernel("99 % hits", (program, "hits"), 4_000_000, 100, 60),
            Kernel("random access", (program, "random"), 400_000, 100, 400),
            Kernel("loop in L1", (program, "loop"), 4_000_000, 200, 0),
            Kernel("redis", (str(REDIS), "2000"), 4000, 40, 100),
        )
        load = os.getloadavg()[0]
        print(f"{load:.1f} processes on {os.cpu_count()} processors over the last minute")
        print(
            f"{'':16} {'native, ns':>12} {'simulated, ns':>14} {'ratio':>8} {'target':>8} "
            f"{'million instructions/s':>24}"
        )
        for kernel in kernels:
            if wanted not in kernel.name:
                continue
            native = per_iteration((), kernel, kernel.native_factor)
            inside = per_iteration(simulated, kernel, 1)
            target = f"{kernel.target:.0f}" if kernel.target else ""
            print(
                f"{kernel.name:16} {native * 1e9:>12.2f} {inside * 1e9:>14.1f} "
                f"{inside / native:>8.0f} {target:>8} "
                f"{instructions(simulated, kernel, folder) / inside / 1e6:>24.1f}",
                flush=True,
            )
        words = (program, "random", "200000")
        alone, with_plugin = used([QEMU, *words]), used([*simulated, *words])
        extra = with_plugin.kilobytes - alone.kilobytes
        print(f"memory of the plug-in with 256 MiB of guest memory: {extra / 1024:.1f} MiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
