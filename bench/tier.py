"""Programs on two tiers beside kernel swap, plain memory and an older design, in one run.

Every line is a pattern under a condition. In each of five rounds every contender runs it once, one
after another, so that what else the machine does falls on all alike, and where several threads
fault, with two and with four; the median of each is shown with its spread. Then the median of each
round's ratios, with what they ought to be. Wall time is per operation of all threads together. The
CPU time is the process's own, its pager's thread included; of kernel swap it lacks what the
kernel's own threads do for it, which a loop device needs.

Swap needs root, and a kernel with zram and loop devices; what is missing is said and left out.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import tier_machine as machine

from nearfar.errors import suggestion
from nearfar.results.faults import POLICIES
from nearfar.tier.machine import allocator, obstacle

HERE = Path(__file__).resolve().parent
KIT = HERE.parent / "examples/programs/kit"
SOURCES = [*sorted(HERE.glob("tier_*.c")), KIT / "options.c", KIT / "itemsets.c"]
MIB = machine.MIB
# What a process needs beyond its data, charged to its group but not to a managed limit.
OUTSIDE = 3 * MIB


@dataclass(frozen=True)
class Condition:
    """What else goes on, and where the program may run."""

    name: str
    hogs: int = 0
    one_cpu: bool = False
    unprivileged: bool = False  # no thread may leave SCHED_IDLE


@dataclass(frozen=True)
class Case:
    """A pattern, on so much memory with so much of it near."""

    pattern: str
    condition: Condition
    threads: int = 1
    amount: float = 2.0  # seconds; of the programs with a heap: passes
    near: float = 0.25  # of the memory
    contenders: Sequence[str] = ("nearfar", "zram", "loop")

    @property
    def name(self) -> str:
        threads = f" {self.threads} threads" if self.threads > 1 else ""
        return f"{self.pattern}{threads}, {self.condition.name}"


@dataclass(frozen=True)
class Took:
    """Microseconds an operation."""

    wall: float
    cpu: float


class Rounds(dict[int, Took]):
    """What a contender took, by round; one in which the kernel killed it is missing."""


@dataclass(frozen=True)
class Target:
    """A ratio of two contenders and what it must be below."""

    case: Case
    contender: str
    against: str
    below: float
    what: str = "wall"


def parse(output: str) -> Took:
    """What a program printed; ValueError if that is not it."""
    words = dict(line.split(" ", 1) for line in output.splitlines() if " " in line)
    try:
        operations = int(words["operations"])
        return Took(float(words["wall"]) / operations * 1e6, float(words["cpu"]) / operations * 1e6)
    except (KeyError, ZeroDivisionError) as error:
        raise ValueError(f"not what a program of this bench prints: {output!r}") from error


class Bench:
    """Runs cases with a compiled program."""

    def __init__(self, program: Path, folder: Path, size: int) -> None:
        self.program, self.folder, self.size = program, folder, size

    def run(self, case: Case, contender: str) -> Took:
        near = int(self.size * case.near)
        words = [
            str(self.program), case.pattern, str(self.size // MIB), str(case.threads),
            str(case.amount),
        ]  # fmt: skip
        environment = dict(os.environ)
        with contextlib.ExitStack() as stack:
            enter: Callable[[], None] | None = None
            if case.condition.hogs:
                stack.enter_context(machine.hogs(self.program, case.condition.hogs))
            if contender.startswith("nearfar"):
                base, _, option = contender.partition(" ")
                policy = "" if option.startswith("--") else option
                far = Path("/dev/shm") / f"nearfar-bench-{os.getpid()}"
                words = [
                    sys.executable, "-m", "nearfar", "tier", "run", "--quiet",
                    "--near", f"{near}B", "--far", str(far),
                    *OPTIONS.get(base, ()),
                    *(["--policy", policy] if policy else [option] if option else []),
                    "--", *words,
                ]  # fmt: skip
            elif contender == "kit":
                far = Path("/dev/shm") / f"nearfar-bench-kit-{os.getpid()}"
                words += [str(near // MIB), str(far)]
            elif contender.startswith("dram"):
                name = allocator()
                if name is None:
                    raise machine.MissingError("no mimalloc")
                environment["LD_PRELOAD"] = name
                if contender == "dram huge":
                    stack.enter_context(machine.huge_pages())
            else:
                kind, _, algorithm = contender.partition("-")
                if kind == "zram":
                    stack.enter_context(machine.zram(2 * self.size, algorithm or None))
                else:
                    stack.enter_context(machine.loop(2 * self.size))
                processes = stack.enter_context(machine.limited(near + OUTSIDE))

                def enter() -> None:
                    processes.write_text(str(os.getpid()))

            if case.condition.one_cpu:
                words = ["taskset", "--cpu-list", str(min(os.sched_getaffinity(0))), *words]
            if case.condition.unprivileged:
                words = ["setpriv", "--bounding-set", "-sys_nice", *words]
            return parse(machine.output_of(words, environment, enter))


FREE = Condition("CPUs free")
ONE = Condition("one CPU", one_cpu=True)
HOGS = Condition("beside two busy loops", hogs=2)
UNPRIVILEGED = Condition("without CAP_SYS_NICE", unprivileged=True)
HEAP = ("nearfar", "dram", "dram huge")
# Far memory without a file, or compressed; pages that leave as before Linux 6.8.
OPTIONS = {
    "nearfar-anonymous": ("--far", "anonymous"),
    "nearfar-lz4": ("--far", "compressed"),
    "nearfar-zstd": ("--far", "compressed:zstd"),
    "nearfar-copy": ("--evict", "copy"),
}
TEXT = ("nearfar", "nearfar-lz4", "nearfar-zstd", "nearfar-copy", "zram-lz4", "zram-zstd")
SIGBUS = "nearfar --sigbus"
OURS = ("nearfar", "nearfar-anonymous", SIGBUS)


def cases(quick: bool) -> list[Case]:
    """All there is, shorter if `quick`."""
    seconds = 0.5 if quick else 2.0
    passes = 1 if quick else 8
    return [
        Case(
            "random",
            FREE,
            1,
            seconds,
            contenders=(*OURS, "zram", "loop", "kit", "dram"),
        ),
        Case("random", ONE, 1, seconds, contenders=(*OURS, "zram", "loop", "kit")),
        Case("random", HOGS, 1, seconds, contenders=(*OURS, "zram", "loop")),
        Case("random", UNPRIVILEGED, 1, seconds, contenders=(*OURS, "zram")),
        Case("random", FREE, 2, seconds, contenders=(*OURS, "zram", "loop")),
        Case("random", FREE, 4, seconds, contenders=(*OURS, "zram", "loop")),
        Case("scan", FREE, 1, seconds),
        Case("scan-down", FREE, 1, seconds),
        Case("touch", FREE, 1, seconds),
        Case("skew", FREE, 1, seconds, contenders=(*OURS, "zram", "loop")),
        Case("forks", FREE, 1, seconds, contenders=("nearfar", "zram", "dram")),
        Case("text-random", FREE, 1, seconds, contenders=TEXT),
        Case("text-scan", FREE, 1, seconds, contenders=TEXT),
        Case("text-skew", FREE, 1, seconds, contenders=TEXT),
        Case("touch", FREE, 1, seconds, near=1.25, contenders=HEAP),
        Case("options", FREE, 1, 10 * passes, near=1.4, contenders=HEAP),
        Case("itemsets", FREE, 1, passes, near=1.4, contenders=HEAP),
        Case("itemsets", FREE, 1, passes, near=1 / 1.8, contenders=HEAP),
        Case("options", FREE, 1, 10 * passes, near=1 / 1.8, contenders=HEAP),
    ]


def targets(all_cases: Sequence[Case]) -> list[Target]:
    """What the ratios ought to be."""
    found: list[Target] = []
    for case in all_cases:
        if case.contenders == TEXT:
            found.extend(
                Target(case, f"nearfar-{name}", f"zram-{name}", 1.0) for name in ("lz4", "zstd")
            )
        elif case.contenders == HEAP:
            fits = case.near > 1
            below = 1.05 if fits and case.pattern != "touch" else 1.02 if fits else 1.25
            found.append(Target(case, "nearfar", "dram", below))
            # What is granted ahead is in huge pages, so plain memory may have them, too.
            if fits:
                found.append(Target(case, "nearfar", "dram huge", 1.02))
        elif case.pattern == "random" and case.threads == 1:
            below = 1.0 if case.condition is HOGS else 0.9
            for ours in OURS:
                found.append(Target(case, ours, "zram", below))
                found.append(Target(case, ours, "zram", 1.3, "cpu"))
            if "kit" in case.contenders:
                found.append(Target(case, "nearfar", "kit", 1 / 2.5))
        elif case.pattern == "random":
            if case.threads == 2:
                found.extend(Target(case, ours, "zram", 1.0) for ours in OURS)
        else:
            found.extend(
                Target(case, ours, swap, 1.0)
                for ours in OURS
                for swap in ("zram", "loop")
                if {ours, swap} <= set(case.contenders)
            )
    return found


def spread(values: Sequence[float]) -> str:
    return f"{statistics.median(values):9.3f} ({min(values):.3f}..{max(values):.3f})"


def together(chosen: Sequence[Case]) -> list[list[Case]]:
    """Cases that are compared with each other, by how many threads fault, in a list each."""
    groups: dict[Case, list[Case]] = {}
    for case in chosen:
        groups.setdefault(replace(case, threads=min(case.threads, 2)), []).append(case)
    return list(groups.values())


def measure(bench: Bench, cases: Sequence[Case], rounds: int) -> dict[Case, dict[str, Rounds]]:
    """Every contender's figures, each round one in every case, of which all have the same
    contenders; one that this machine cannot do is said and left out."""
    results = {case: {name: Rounds() for name in case.contenders} for case in cases}
    for turn in range(rounds):
        for name in cases[0].contenders:
            for case, took in results.items():
                if name not in took:
                    continue
                try:
                    took[name][turn] = bench.run(case, name)
                except (machine.KilledError, machine.MissingError) as failed:
                    if machine.was_interrupted(failed):
                        raise KeyboardInterrupt from failed
                    if isinstance(failed, machine.KilledError):
                        print(f"{case.name}: {name} has a run less: {failed}", file=sys.stderr)
                    else:
                        print(f"{case.name}: {name} is left out: {failed}", file=sys.stderr)
                        del took[name]
    return {
        case: {name: figures for name, figures in took.items() if figures}
        for case, took in results.items()
    }


def show(case: Case, took: dict[str, Rounds]) -> None:
    for name, figures in took.items():
        wall = spread([t.wall for t in figures.values()])
        cpu = spread([t.cpu for t in figures.values()])
        print(f"{case.name:38} near {case.near:4.2f} {name:18} {wall:32} {cpu:32}", flush=True)


def ratio(took: Rounds, against: Rounds, what: str) -> float:
    """The median of what it is in each round: a machine that others slow down for longer than that
    slows down both. NaN if there is no round with both."""
    both = sorted(took.keys() & against.keys())
    found = [getattr(took[turn], what) / getattr(against[turn], what) for turn in both]
    return statistics.median(found) if found else math.nan


def print_ratio(name: str, reached: float, below: float) -> None:
    if math.isnan(reached):
        print(f"{name:70} {'-':>8} {below:8.3f}  not measured")
    else:
        print(f"{name:70} {reached:8.3f} {below:8.3f}{'' if reached <= below else '  missed'}")


def judge(results: dict[Case, dict[str, Rounds]]) -> None:
    print(f"\n{'ratio':70} {'reached':>8} {'target':>8}")
    for target in targets(list(results)):
        took = results[target.case]
        name = (
            f"{target.case.name}, near {target.case.near:.2f}: {target.what} of "
            f"{target.contender} / {target.against}"
        )
        reached = ratio(
            took.get(target.contender, Rounds()), took.get(target.against, Rounds()), target.what
        )
        print_ratio(name, reached, target.below)
    crowd = {c.threads: took for c, took in results.items() if c.pattern == "random"}
    for ours in OURS:
        if all(ours in crowd.get(threads, ()) for threads in (2, 4)):
            reached = ratio(crowd[4][ours], crowd[2][ours], "wall")
            print_ratio(f"random: wall of {ours} with 4 threads / with 2", reached, 1.0)


def processor() -> str:
    """This machine's, as the kernel names it."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "a processor without a name")


def switches(program: Path) -> float:
    """Microseconds for two switches of threads and what wakes them: a fault that the pager's thread
    serves takes that besides the work, and machines differ in it by much."""
    words = [str(program), "switches", "0", "2", "0.5"]
    return parse(subprocess.run(words, check=True, capture_output=True, text=True).stdout).wall


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="64 MiB and short rounds")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--policies", help="compare these replacement policies, nothing else")
    wanted = parser.parse_args()
    # An interruption takes down what was set up, as an exception does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    hindrance = obstacle()
    if hindrance is not None:
        print(f"tier: {hindrance}", file=sys.stderr)
        return 1
    chosen = [case for case in cases(wanted.quick) if wanted.only in case.name]
    if wanted.policies:
        for name in set(wanted.policies.split(",")) - set(POLICIES):
            known = f"expected some of {', '.join(POLICIES)}{suggestion(name, POLICIES)}"
            print(f"tier: --policies: unknown '{name}', {known}", file=sys.stderr)
            return 2
        contenders = tuple(f"nearfar {name}" for name in wanted.policies.split(","))
        chosen = [replace(case, contenders=contenders) for case in chosen if case.near < 1]
    if not chosen:
        names = sorted({case.name for case in cases(True)})
        print(f"tier: no case contains {wanted.only!r}; there are: {'; '.join(names)}",
              file=sys.stderr)  # fmt: skip
        return 2
    with tempfile.TemporaryDirectory(prefix="nearfar-bench-") as folder:
        program = Path(folder) / "tier_programs"
        subprocess.run(["cc", "-O2", "-pthread", "-o", program, *SOURCES, "-lm"], check=True)
        bench = Bench(program, Path(folder), (64 if wanted.quick else 256) * MIB)
        print(f"{bench.size // MIB} MiB; load {os.getloadavg()[0]:.1f}; {os.cpu_count()} CPUs; "
              f"median (least..most) of {wanted.rounds}, us an operation")  # fmt: skip
        print(f"{processor()}; to another thread on the same CPU and back: "
              f"{switches(program):.2f} us")  # fmt: skip
        print(f"{'case':48} {'':18} {'wall':32} {'CPU':32}")
        results: dict[Case, dict[str, Rounds]] = {}
        for group in together(chosen):
            found = measure(bench, group, wanted.rounds)
            for case, took in found.items():
                show(case, took)
            results |= found
        judge(results)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("tier: interrupted; no ratio is told", file=sys.stderr)
        sys.exit(130)
