"""What a simulated request costs through the commands: the table of `make bench-commands`.

Instructions are counted by callgrind for two lengths of the same work; the difference divided by
the difference of the lengths is the cost of one request, free of the interpreter's start. What a
command costs before its first request is timed instead, as the fastest of several runs, and is
printed without a budget: a clock is no test.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from callgrind import instructions

LINE = 64
AREA = 1 << 32
RUNS = 5
SLACK = 1.02  # of what is reached; compilers differ
NEARFAR = [sys.executable, "-m", "nearfar"]


@dataclass(frozen=True)
class Work:
    """One line of the table: a command for so many requests."""

    name: str
    command: Callable[[Path, int], list[str]]  # in a scratch folder
    budget: int  # host instructions a request that it should not exceed
    reached: int  # what it costs now, which must not grow
    requests: tuple[int, int] = (50_000, 150_000)


def addresses(count: int, order: str) -> list[int]:
    if order == "sequential":
        return [LINE * at for at in range(count)]
    draw = random.Random(1)
    return [LINE * draw.randrange(AREA // LINE) for _ in range(count)]


def text_trace(folder: Path, count: int, order: str) -> Path:
    """A DRAMsim3 trace: one read every ten cycles, as its own examples have them."""
    path = folder / f"{order}-{count}.trace"
    if not path.exists():
        lines = (f"{at:#x} READ {10 * n}\n" for n, at in enumerate(addresses(count, order)))
        path.write_text("".join(lines))
    return path


def replay(order: str) -> Callable[[Path, int], list[str]]:
    def command(folder: Path, count: int) -> list[str]:
        trace = text_trace(folder, count, order)
        return ["replay", "model:ddr4-2666", str(trace), "--pace", "asap", "--quiet"]

    return command


def replay_packed(folder: Path, count: int) -> list[str]:
    packed = folder / f"{count}.nft"
    if not packed.exists():
        source = str(text_trace(folder, count, "random"))
        convert = ["trace", "convert", source, "-o", str(packed)]
        subprocess.run([*NEARFAR, *convert], check=True, capture_output=True)
    return ["replay", "model:ddr4-2666", str(packed), "--pace", "asap", "--quiet"]


def stream(folder: Path, count: int) -> list[str]:
    del folder
    pattern = ["stream", "--op", "load", "--access", "64", "--stride", "random", "--agent", "none"]
    return ["measure", "model:ddr4-2666", *pattern, "--lines", str(count), "--quiet"]


def chase(folder: Path, count: int) -> list[str]:
    del folder
    pattern = ["chase", "--region", "1MiB"]
    return ["measure", "model:optane-100", *pattern, "--lines", str(count), "--quiet"]


WORKS = [
    Work("replay of a text trace, random reads", replay("random"), 2_300, 2_000),
    Work("replay of a text trace, in order", replay("sequential"), 800, 775),
    Work("replay of a packed trace, random reads", replay_packed, 2_000, 2_095),
    Work("measure stream --agent none, random", stream, 2_300, 2_220),
    Work("measure chase over 1 MiB, optane-100", chase, 2_200, 2_840),
]


STARTS = {
    "nearfar --version": ["--version"],
    "nearfar --help": ["--help"],
    "measure of one small point": [
        *("measure", "model:ddr4-2666", "chase"),
        *("--region", "64KiB", "--lines", "1000", "--quiet"),
    ],
}


def instructions_a_request(work: Work, folder: Path) -> float:
    few, many = work.requests
    short, long = (instructions([*NEARFAR, *work.command(folder, count)]) for count in (few, many))
    return (long - short) / (many - few)


def seconds(command: list[str]) -> float:
    """Of the fastest of several runs."""
    best = float("inf")
    # As a user's: what was compiled once is kept.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    for _ in range(RUNS):
        start = time.perf_counter()
        subprocess.run([*NEARFAR, *command], capture_output=True, check=True, env=environment)
        best = min(best, time.perf_counter() - start)
    return best


def print_costs(wanted: str) -> list[str]:
    """Prints the table; returns the works that cost more than they did."""
    line = "{:<44} {:>12} {:>8}"
    print(line.format("", "instructions", ""))
    print(line.format("command", "a request", "budget"))
    short, dearer = [], []
    with tempfile.TemporaryDirectory() as folder:
        for work in WORKS:
            if wanted not in work.name:
                continue
            cost = instructions_a_request(work, Path(folder))
            print(line.format(work.name, f"{cost:,.0f}", f"{work.budget:,}"), flush=True)
            if cost > work.budget:
                short.append(work.name)
            if cost > SLACK * work.reached:
                dearer.append(work.name)
    for name in short:
        print(f"budget not met: {name}")
    return dearer


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="only works whose name contains this")
    wanted = parser.parse_args().only
    dearer = print_costs(wanted)
    for name, command in STARTS.items():
        if wanted in name:
            print(f"{name:<44} {1e3 * seconds(command):>9.0f} ms")
    for name in dearer:
        print(f"dearer than it was: {name}", file=sys.stderr)
    return 1 if dearer else 0


if __name__ == "__main__":
    sys.exit(main())
