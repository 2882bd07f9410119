"""What a simulated request costs the host: the table that `make bench` prints.

Instructions are counted by callgrind, with two numbers of requests; the difference divided
by the difference of the numbers is the cost of one request, free of set-up. Nanoseconds are
found the same way, from the fastest of several plain runs, and depend on this machine; the
instructions depend on the compiler alone.

Each stream has a budget. One that does not meet it is named below the table; the run fails when it
costs more than it has reached so far.
"""

from __future__ import annotations

import argparse
import functools
import re
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

from callgrind import instructions

ROOT = Path(__file__).resolve().parents[1]
DRIVERS = ROOT / "build" / "release" / "bench"
TIMED_RUNS = 3
SLACK = 1.02  # of what is reached; compilers differ
TIMED_FACTOR = 10  # a clock is coarser than a count: it times longer runs


@dataclass(frozen=True)
class Stream:
    """One line of the table: a driver's arguments, without the number of requests."""

    name: str
    driver: str
    arguments: tuple[str, ...]
    budget: int  # host instructions a request that it should not exceed
    requests: tuple[int, int] = (20_000, 100_000)
    model: str = ""  # a model to export; its file becomes the driver's first argument
    beside: Stream | None = None  # the device alone: the budget is `factor` of its cost and `more`
    factor: float = 1.0
    more: int = 0
    reached: int = 0  # where the budget is not met: what it costs now, which must not grow


def optane(name: str, stream: str, footprint: int, budget: int) -> Stream:
    """A stream on one Optane DIMM; the first of its two lengths has warmed the buffers."""
    return Stream(
        f"Optane {name}",
        "bench_machine",
        (stream, str(footprint)),
        budget,
        requests=(100_000, 200_000),
        model="optane-100",
    )


def caches(level: str, footprint: int, budget: int) -> Stream:
    """Loads that hit one level of the modelled processor's caches."""
    arguments = (str(footprint),)
    requests = (100_000, 300_000)
    return Stream(f"{level} hit", "bench_caches", arguments, budget, requests, "optane-100")


def machine(name: str, model: str, stream: str, footprint: int) -> Stream:
    """A stream on any model, driven at its memory controller."""
    arguments = (stream, str(footprint))
    return Stream(name, "bench_machine", arguments, 0, requests=(40_000, 120_000), model=model)


def against(alone: Stream, name: str, model: str, factor: float = 1.0, more: int = 0) -> Stream:
    """The same stream with something in front of the device, and what that may cost."""
    return replace(alone, name=name, model=model, beside=alone, factor=factor, more=more)


def near_memory(stream: str) -> list[Stream]:
    """Hits in a near memory of which all is in use beside its DRAM alone, misses beside Optane."""
    near = "optane-100,near.kind=cache,near.capacity=1MiB"
    dram = "ddr4-2666,dram.mapping=row-rank-bank-column-bank_group,dram.hash=none"
    name = "Memory Mode {}, {}".format
    hit = machine(name("hit: DDR4 alone", stream), f"{dram},dram.queue.read=64", stream, 256 * KIB)
    miss = machine(name("miss: Optane alone", stream), "optane-100", stream, 64 * MIB)
    return [
        hit,
        against(hit, name("hit", stream), near, factor=1.5),
        miss,
        against(miss, name("miss", stream), near, factor=3),
    ]


def cxl(stream: str) -> list[Stream]:
    """DDR5 with a CXL link in front."""
    alone = machine(f"CXL: DDR5 alone, {stream}", "ddr5-4800", stream, 64 * MIB)
    return [alone, against(alone, f"CXL, {stream}", "cxl-expander", more=300)]


def through_c(stream: str, reached: dict[str, int]) -> list[Stream]:
    """DDR4 by the C interface of the library, beside the same machine without it.

    A host waits for a place inside the memory, or offers a request again when it is woken.
    """
    alone = machine(f"library: DDR4 alone, {stream}", "ddr4-2666", stream, 8 * KIB * MIB)
    found = [alone]
    for how, cost in reached.items():
        through = against(alone, f"library in C, {stream}, {how}", "ddr4-2666", more=60)
        arguments = (*alone.arguments, how)
        found.append(replace(through, driver="bench_library", arguments=arguments, reached=cost))
    return found


def by_arrays(stream: str, outstanding: int, reached: int) -> Stream:
    """The same by nearfar.Machine, in arrays."""
    alone = machine(f"library: DDR4 alone, {stream}", "ddr4-2666", stream, 8 * KIB * MIB)
    through = against(alone, f"library in Python, {stream}", "ddr4-2666", more=250)
    arguments = (str(outstanding),)
    return replace(through, driver="library_arrays.py", arguments=arguments, reached=reached)


def core(name: str, program: str, footprint: int, budget: int, reached: int) -> Stream:
    """Instructions of a small program on the window core of a DDR4 machine."""
    arguments = (program, str(footprint))
    requests = (200_000, 600_000)
    return Stream(
        f"core, {name}", "bench_core", arguments, budget, requests, "ddr4-2666", reached=reached
    )


def trace(name: str, threads: int, budget: int) -> Stream:
    """Records of a trace in our own format, read and not played."""
    return Stream(f"trace read, {name}", "bench_trace", (str(threads),), budget)


KIB = 1024
MIB = 1024 * KIB

STREAMS = [
    Stream("DDR4-2666 sequential read", "bench_dram", ("sequential",), 450, reached=461),
    Stream("DDR4-2666 dependent chase", "bench_dram", ("chase",), 900),
    Stream("DDR4-2666 random read", "bench_dram", ("random",), 2000),
    Stream("DDR4-2666 random 70/30", "bench_dram", ("mixed",), 2300),
    caches("L1", 16 * KIB, 200),
    caches("L2", 512 * KIB, 700),
    caches("L3", 8 * MIB, 1500),
    core("loop in L1", "loop", 16 * KIB, 150, reached=171),
    core("loop in L2", "loop", 512 * KIB, 400, reached=788),
    core("random misses", "chase", 256 * MIB, 2500, reached=3247),
    trace("one thread", 1, 100),
    trace("four threads", 4, 125),
    optane("chase, 16 KiB (RMW buffer)", "chase", 16 * KIB, 350),
    optane("chase, 1 MiB (AIT buffer)", "chase", 1 * MIB, 2500),
    optane("chase, 32 MiB (media)", "chase", 32 * MIB, 3000),
    *near_memory("chase"),
    *near_memory("random"),
    *cxl("random"),
    *cxl("sequential"),
    *through_c("chase", reached={"waits": 1150, "offers": 1128}),
    *through_c("random", reached={"waits": 0, "offers": 2712}),
    by_arrays("chase", 1, reached=0),
    by_arrays("random", 64, reached=0),
]


@dataclass(frozen=True)
class Cost:
    """One request: host instructions, host ns, and what the simulated memory delivered."""

    instructions: float
    nanoseconds: float
    gb_per_s: float
    read_latency_ns: float


@functools.cache
def settings_file(model: str) -> str:
    """The exported model, as the C++ core reads it."""
    path = DRIVERS / f"{re.sub('[^a-z0-9.-]+', '_', model)}.settings"
    nearfar = [sys.executable, "-m", "nearfar"]
    subprocess.run([*nearfar, "model", "export", f"model:{model}", "-o", str(path)], check=True)
    return str(path)


def command(stream: Stream, requests: int) -> list[str]:
    settings = [settings_file(stream.model)] if stream.model else []
    driver = [str(DRIVERS / stream.driver)]
    if stream.driver.endswith(".py"):
        driver = [sys.executable, str(Path(__file__).with_name(stream.driver))]
    return [*driver, *settings, *stream.arguments, str(requests)]


def fastest(stream: Stream, requests: int) -> tuple[float, list[int]]:
    """Seconds of the fastest run, and the line the driver printed."""
    best = float("inf")
    for _ in range(TIMED_RUNS):
        start = time.perf_counter()
        printed = subprocess.run(
            command(stream, requests), capture_output=True, text=True, check=True
        ).stdout
        best = min(best, time.perf_counter() - start)
    return best, [int(word) for word in printed.split()]


@functools.cache
def instructions_a_request(stream: Stream) -> float:
    few, many = stream.requests
    short, long = (instructions(command(stream, requests)) for requests in (few, many))
    return (long - short) / (many - few)


def cost(stream: Stream) -> Cost:
    few, many = stream.requests
    short, _ = fastest(stream, few)
    long, (requests, elapsed_ps, reads, latency_ps) = fastest(stream, TIMED_FACTOR * many)
    return Cost(
        instructions=instructions_a_request(stream),
        nanoseconds=(long - short) * 1e9 / (TIMED_FACTOR * many - few),
        gb_per_s=requests * 64 * 1e3 / elapsed_ps,
        read_latency_ns=latency_ps / max(reads, 1) / 1e3,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="only streams whose name contains this")
    wanted = parser.parse_args().only
    line = "{:<33} {:>12} {:>8} {:>9} {:>8} {:>11}"
    print(line.format("", "instructions", "", "host ns", "GB/s", "latency ns"))
    print(line.format("stream", "a request", "budget", "a request", "modelled", "modelled"))
    over = []
    short = []
    for stream in STREAMS:
        if wanted not in stream.name:
            continue
        found = cost(stream)
        budget = stream.budget
        if stream.beside is not None:
            budget = round(stream.factor * instructions_a_request(stream.beside) + stream.more)
        print(
            line.format(
                stream.name,
                f"{found.instructions:,.0f}",
                f"{budget:,}" if budget else "",
                f"{found.nanoseconds:.1f}",
                f"{found.gb_per_s:.2f}",
                f"{found.read_latency_ns:.1f}",
            ),
            flush=True,
        )
        if budget and found.instructions > budget:
            short.append(stream.name)
            if found.instructions > SLACK * stream.reached:
                over.append(stream.name)
    for name in short:
        print(f"budget not met: {name}")
    for name in over:
        print(f"dearer than it was: {name}", file=sys.stderr)
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
