"""Placement policies beside first touch, on twelve traces: none may cost what it cannot win back.

    .venv/bin/python bench/placement.py [--seed N] [--programs no] [--trace FILE ...]

Eight traces are generated: an access every 400 ns, three of ten a write. Four are recorded from
programs, on a simulated machine: sort, a compiler, a breadth-first search, redis. Each is replayed
with the flat placement policies at two sizes of near memory and with three detectors, a hundred
decisions long and unscaled, so that moves are dear. Prints the time of each policy over that of
`static`, and the share of the offline bound's gain; fails where `payback` is more than 1 % slower
than `static`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import tier_policies

from nearfar.results.flat_replay import FlatReplayResult
from nearfar.simulate.flat_replay import FlatOptions, flat_replay
from nearfar.simulate.programs.qemu import include_folder
from nearfar.simulate.traces.convert import ConvertOptions, convert

GENERATED = ("zipf 0.8", "uniform", "scan", "loop", "scan+zipf", "phases", "90/10", "drift")
PAGES = 2000
APART_NS = 400
DECISIONS = 100
PAIRS = 50
SHARES = ("5%", "25%")
DETECTORS = ("dirty", "accessed", "sampled")
POLICIES = ("raminate", "numa-balancing", "hemem", "payback")
OURS, MOST = "payback", 1.01

EXAMPLES = Path(__file__).resolve().parents[1] / "examples" / "programs"
SEARCH = EXAMPLES / "set" / "graph_bfs.c"
RECORDED = {
    "sort": [str(EXAMPLES / "sort.sh"), "20000"],
    "compiler": [str(EXAMPLES / "compile.sh"), "6"],
    "search": ["{folder}/search", "0", "20"],
    "redis": [str(EXAMPLES / "redis.sh"), "5000", "2000"],
}
MOST_INSTRUCTIONS = "100M"


def generated(name: str, seed: int, pages: int, folder: Path) -> Path:
    """A trace of one of the generators of page visits."""
    rng = np.random.default_rng(seed)
    trace = tier_policies.TRACES[name](rng, pages, pages // 20)
    visits = np.concatenate([phase.visits for phase in trace])
    lines = rng.integers(64, size=len(visits))
    written = rng.random(len(visits)) < tier_policies.WRITES
    text = folder / "made.dramsim3"
    with text.open("w", encoding="ascii") as stream:
        for at, (page, line, write) in enumerate(zip(visits, lines, written, strict=True)):
            address = 4096 * int(page) + 64 * int(line)
            stream.write(f"{address:#x} {'WRITE' if write else 'READ'} {APART_NS * at}\n")
    made = folder / "made.nft"
    convert(text, made, ConvertOptions(clock_ps=1000))
    return made


def recorded(words: Sequence[str], folder: Path) -> Path:
    """The trace of the process of a program that reaches memory most."""
    trace = folder / "program.nft"
    record = [sys.executable, "-m", "nearfar", "trace", "record", "model:ddr4-2666"]
    record += ["--core", "simple", "--gaps", "instructions", "--run", MOST_INSTRUCTIONS, "--quiet"]
    command = [*record, "-o", str(trace), "--", *words]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return max(folder.glob("program*.nft"), key=lambda file: file.stat().st_size)


def programs() -> Iterator[tuple[str, Path]]:
    """Recorded one after the other."""
    for name, words in RECORDED.items():
        with tempfile.TemporaryDirectory() as text:
            folder = Path(text)
            if name == "search":
                subprocess.run(
                    ["gcc", "-O2", f"-I{include_folder()}", "-o", folder / name, SEARCH, "-lm"],
                    check=True,
                )
            yield name, recorded([word.format(folder=folder) for word in words], folder)


def replayed(trace: Path, detector: str) -> FlatReplayResult:
    """A hundred decisions long."""
    whole = flat_replay(trace, FlatOptions(policies=["static"], near=["5%"]))
    length = whole.all_near_ns
    if not whole.times_with_memory:
        length -= whole.reads * whole.read_ns[0] + whole.writes * whole.write_ns[0]
    options = FlatOptions(
        policies=POLICIES,
        near=SHARES,
        interval=round(length * 1000 / DECISIONS),
        pairs=PAIRS,
        detector=detector,
    )
    return flat_replay(trace, options)


def compared(name: str, trace: Path) -> float:
    """Prints a line for each detector and size; the worst of `payback` over `static`."""
    worst = 0.0
    for detector in DETECTORS:
        result = replayed(trace, detector)
        for share, size in zip(SHARES, result.sizes, strict=True):
            times = {one.policy: one for one in size.policies}
            still = times["static"].time_ns
            ratios = [times[policy].time_ns / still for policy in POLICIES]
            reached = times[OURS].bound_recovered
            bound = "-" if reached is None else f"{100 * reached:.0f} %"
            shown = "".join(f"{ratio:>16.3f}" for ratio in ratios)
            print(f"{name:<12}{detector:<10}{share:>5}{shown}{bound:>10}", flush=True)
            worst = max(worst, ratios[POLICIES.index(OURS)])
    return worst


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pages", type=int, default=PAGES, help="of each generated trace")
    parser.add_argument("--programs", choices=("yes", "no"), default="yes")
    parser.add_argument("--trace", action="append", default=[], help="one more, of your own")
    args = parser.parse_args()
    heads = "".join(f"{policy:>16}" for policy in POLICIES)
    print(f"{'trace':<12}{'detector':<10}{'near':>5}{heads}{'of bound':>10}")
    worst: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in GENERATED:
            worst[name] = compared(name, generated(name, args.seed, args.pages, Path(folder)))
    if args.programs == "yes":
        for name, trace in programs():
            worst[name] = compared(name, trace)
    for own in args.trace:
        worst[own] = compared(Path(own).stem, Path(own))
    name = max(worst, key=worst.__getitem__)
    print(f"{OURS} at worst {100 * (worst[name] - 1):+.2f} % beside static, on {name}")
    return 0 if worst[name] <= MOST else 1


if __name__ == "__main__":
    sys.exit(main())
