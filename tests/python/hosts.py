"""Host programs of the library, and the streams of requests that they play."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from nearfar import Machine

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "library"
COMPILERS = {
    "c": ["gcc", "-std=c11", "-pthread"],
    "cpp": ["g++", "-std=c++17"],
}
STRICT = ["-O1", "-Wall", "-Wextra", "-Wconversion", "-Werror"]
needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++")


def flags() -> list[str]:
    """What `nearfar lib` prints, as a shell would pass it on."""
    printed = subprocess.run(
        [sys.executable, "-m", "nearfar", "lib", "--cflags", "--libs"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return printed.stdout.split()


def build(source: Path, folder: Path, more: list[str] | None = None) -> Path:
    """Compile a host program against the installed library."""
    program = folder / source.name.replace(".", "_")
    compiler = COMPILERS[source.suffix[1:]]
    how = flags() if more is None else more
    subprocess.run([*compiler, *STRICT, source, *how, "-o", program], check=True)
    return program


@dataclass(frozen=True)
class Stream:
    """Requests in bursts that fill queues, and pauses that empty them."""

    addresses: list[int]
    writes: list[bool]
    times_ps: list[int]

    def lines(self) -> str:
        """As the examples read them."""
        rows = zip(self.times_ps, self.addresses, self.writes, strict=True)
        return "".join(f"{time} {address:#x} {'RW'[write]}\n" for time, address, write in rows)

    def trace(self) -> str:
        """As DRAMsim3 reads them; a cycle is 1000 ps."""
        rows = zip(self.times_ps, self.addresses, self.writes, strict=True)
        return "".join(
            f"{address:#x} {'WRITE' if write else 'READ'} {time // 1000}\n"
            for time, address, write in rows
        )


def stream(seed: int, count: int = 2000) -> Stream:
    rng = random.Random(seed)
    cycle, times = 0, []
    for i in range(count):
        cycle += 20_000 if i % 200 == 0 else rng.randrange(3)
        times.append(1000 * cycle)
    return Stream(
        [64 * rng.randrange(1 << 16) for _ in range(count)],
        [rng.random() < 0.3 for _ in range(count)],
        times,
    )


@dataclass(frozen=True)
class Seen:
    """What a host saw: two times a request, and the memory's counters."""

    times: list[tuple[int, int]]
    counters: dict[str, int]


def by_program(command: list[str | Path], requests: Stream) -> Seen:
    out = subprocess.run(
        command, input=requests.lines(), capture_output=True, text=True, check=True
    ).stdout
    times = [(int(a), int(b)) for a, b in re.findall(r"^(\d+) (\d+)$", out, re.MULTILINE)]
    counters = dict(re.findall(r"^(\S+) = (\d+)$", out, re.MULTILINE))
    return Seen(times, {name: int(value) for name, value in counters.items()})


def by_arrays(target: str, requests: Stream) -> Seen:
    machine = Machine(target)
    accepted, done = machine.play(
        requests.addresses, write=requests.writes, time_ps=requests.times_ps
    )
    return Seen(list(zip(accepted.tolist(), done.tolist(), strict=True)), machine.counters())
