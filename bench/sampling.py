"""How well `nearfar run --sample` estimates whole programs: coverage, error and slow-down.

Each program of the set that `nearfar predict` runs is simulated once in full, and sampled with
several seeds, which place the windows elsewhere. A line a program: its instructions, cycles an
instruction of the full simulation, the samples' mean error and their worst, how many intervals
hold the full simulation's value, and processor time of full and sampled runs over the native one.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar.predicting.programs import build, programs_of


@dataclass(frozen=True)
class Ran:
    seconds: float
    instructions: int
    cpi: float
    interval: tuple[float, float] | None = None
    windows: int = 0


def seconds(command: Sequence[str]) -> float:
    """Processor time of a command with its children."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"sampling: {' '.join(command)} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def ran(target: str, words: Sequence[str], options: Sequence[str], folder: Path) -> Ran:
    """A run's cycles an instruction, by its sample if it has one."""
    result = folder / "ran.json"
    before = [sys.executable, "-m", "nearfar", "run", target, "--quiet", "--json", str(result)]
    took = seconds([*before, *options, "--", *words])
    document = json.loads(result.read_text())
    sampled = document.get("sampled")
    if options:
        if sampled is None:
            raise SystemExit(f"sampling: {' '.join(words)}: too short for a sample")
        low, high = sampled["cpi_interval"]
        windows = sum(len(one["sampled"]["windows"]) for one in document["processes"])
        return Ran(took, sampled["instructions"], sampled["cpi"], (low, high), windows)
    machine = document["processes"][0]["machine"]
    cycles = sum(machine["core"]["stack_ps"].values()) / machine["period_ps"]
    instructions = document["counts"]["instructions"]
    return Ran(took, instructions, cycles / instructions)


def row(name: str, full: Ran, samples: Sequence[Ran], native: float) -> tuple[str, int, float]:
    """The program's line, how many intervals hold, and the worst error."""
    errors = [one.cpi / full.cpi - 1 for one in samples]
    worst = max(errors, key=abs)
    held = sum(
        one.interval is not None and one.interval[0] <= full.cpi <= one.interval[1]
        for one in samples
    )
    widths = [(one.interval[1] - one.interval[0]) / 2 / one.cpi for one in samples if one.interval]
    line = (
        f"{name:20} {full.instructions / 1e6:>9.0f} {full.cpi:>7.3f} "
        f"{100 * statistics.mean(errors):>+7.1f} % {100 * worst:>+6.1f} % "
        f"{100 * statistics.mean(widths):>6.1f} % {held:>4}/{len(samples)} "
        f"{samples[0].windows:>8} {full.seconds / native:>7.0f} "
        f"{statistics.mean(one.seconds for one in samples) / native:>8.1f}"
    )
    return line, held, abs(worst)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("only", nargs="*", help="programs of the set (default: all)")
    parser.add_argument("--target", default="model:ddr4-2666")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--length", type=float, default=1.0, help="times the set's steps")
    parser.add_argument(
        "--options", default="--sample auto", help="of the sampled runs (default: %(default)s)"
    )
    args = parser.parse_args()
    options = args.options.split()
    print(
        f"{'program':20} {'10^6 in.':>9} {'CPI':>7} {'error':>9} {'worst':>8} {'±':>8} "
        f"{'held':>6} {'windows':>8} {'full':>7} {'sampled':>8}"
    )
    held = runs = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for program in programs_of(None, tuple(args.only)):
            steps = max(int(program.steps * args.length), 1)
            words = [str(build(program, folder)), str(program.warm), str(steps)]
            native = min(seconds(words) for _ in range(3))
            full = ran(args.target, words, (), folder)
            samples = [
                ran(f"{args.target},seed={seed}", words, options, folder)
                for seed in range(1, args.seeds + 1)
            ]
            line, found, _ = row(program.name, full, samples, native)
            print(line, flush=True)
            held += found
            runs += len(samples)
    print(f"{held} of {runs} intervals hold the full simulation's value; expected 95 %")
    return 0


if __name__ == "__main__":
    sys.exit(main())
