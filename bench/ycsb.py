"""redis on two tiers beside kernel swap, under a client like YCSB: operations a second and p99.

    make bench-ycsb
    .venv/bin/python bench/ycsb.py [--records 150000] [--near 80] [--threads 4] [--rounds 3]

In each round every contender starts a server of its own, loads the same records and runs workload A
(half reads, half updates) and C (reads), one contender after another, so that what else the machine
does falls on all alike. Shown is the median of the rounds with the least and the most, and last the
median of each round's ratios to zram.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import tier_machine as machine

HERE = Path(__file__).resolve().parent
WORKLOADS = ("a", "c")
OURS = {"nearfar": (), "nearfar --sigbus": ("--sigbus",)}
CONTENDERS = ("native", *OURS, "zram")
OUTSIDE = 3 * machine.MIB  # what a process needs beyond its data, as in bench/tier.py


@dataclass(frozen=True)
class Served:
    """What the clients of one server saw."""

    per_second: float
    p99: float  # microseconds


@dataclass(frozen=True)
class Asked:
    """What each contender is given."""

    records: int
    near: int  # bytes
    threads: int
    seconds: float


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextlib.contextmanager
def server(contender: str, near: int, folder: Path) -> Iterator[int]:
    """A redis whose memory is as the contender has it; its port."""
    port = free_port()
    words = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", ""]
    words += ["--appendonly", "no", "--dir", str(folder), "--daemonize", "no"]
    with contextlib.ExitStack() as stack:
        group: Path | None = None
        if contender in OURS:
            far = Path("/dev/shm") / f"nearfar-bench-{os.getpid()}"
            tier = [sys.executable, "-m", "nearfar", "tier", "run", "--quiet"]
            tier += [*OURS[contender], "--near", f"{near}B", "--far", str(far)]
            words = [*tier, "--", *words]
        elif contender == "zram":
            stack.enter_context(machine.zram(1 << 30))
            group = stack.enter_context(machine.limited(near + OUTSIDE))

        def enter() -> None:
            if group is not None:
                group.write_text(str(os.getpid()))

        process = subprocess.Popen(
            words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, preexec_fn=enter,
            process_group=0,
        )  # fmt: skip
        try:
            wait_for(port, process)
            yield port
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            process.wait()


def wait_for(port: int, process: subprocess.Popen[str]) -> None:
    """Until it answers. Raises MissingError if it ends before."""
    while True:
        if process.poll() is not None:
            said = (process.stderr.read() if process.stderr else "").strip()
            raise machine.MissingError(said or f"redis-server ended with {process.returncode}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)


def run(program: Path, contender: str, asked: Asked, folder: Path) -> dict[str, Served]:
    """Both workloads on one server of the contender's."""
    found = {}
    with server(contender, asked.near, folder) as port:
        client = [str(program), str(port)]
        machine.output_of([*client, "load", str(asked.records)], dict(os.environ), None)
        for workload in WORKLOADS:
            words = [workload, str(asked.records), str(asked.threads), str(asked.seconds)]
            output = machine.output_of([*client, *words], dict(os.environ), None)
            said = dict(line.split(" ", 1) for line in output.splitlines())
            rate = int(said["operations"]) / float(said["wall"])
            found[workload] = Served(rate, float(said["p99"]))
    return found


def text(values: Sequence[float]) -> str:
    return f"{statistics.median(values):8,.0f} ({min(values):,.0f}..{max(values):,.0f})"


def show(rounds: Sequence[dict[str, dict[str, Served]]]) -> None:
    """Each contender's figures, and the ratios to zram round by round."""
    for workload in WORKLOADS:
        print(f"workload {workload.upper()}")
        for contender in CONTENDERS:
            seen = [one[contender][workload] for one in rounds if contender in one]
            if not seen:
                continue
            rates, tails = [one.per_second for one in seen], [one.p99 for one in seen]
            print(f"  {contender:18} {text(rates):32} /s   p99 {text(tails):30} us")
        for name in OURS:
            show_ratio(name, workload, [one for one in rounds if {name, "zram"} <= set(one)])


def show_ratio(name: str, workload: str, rounds: Sequence[dict[str, dict[str, Served]]]) -> None:
    """What one of ours does of what zram does, by round."""
    if not rounds:
        return
    both = [(one[name][workload], one["zram"][workload]) for one in rounds]
    more = statistics.median(ours.per_second / swap.per_second for ours, swap in both)
    later = statistics.median(ours.p99 / swap.p99 for ours, swap in both)
    print(
        f"  {name} over zram: {more:.2f} times the operations a second (target 1.30), "
        f"{later:.2f} times the p99 (target 1.00)"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=150_000)
    parser.add_argument("--near", type=int, default=80, help="MiB")
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=8.0, help="of each workload")
    parser.add_argument("--rounds", type=int, default=3)
    wanted = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    asked = Asked(wanted.records, wanted.near << 20, wanted.threads, wanted.seconds)
    rounds: list[dict[str, dict[str, Served]]] = []
    with tempfile.TemporaryDirectory(prefix="nearfar-bench-") as folder:
        program = Path(folder) / "ycsb_client"
        source = HERE / "ycsb_client.c"
        subprocess.run(["cc", "-O2", "-pthread", "-o", program, source, "-lm"], check=True)
        print(
            f"{asked.records} records of 1 KiB, {wanted.near} MiB near, {asked.threads} clients; "
            f"load {os.getloadavg()[0]:.1f}; {os.cpu_count()} CPUs; median (least..most) of "
            f"{wanted.rounds}"
        )
        for _ in range(wanted.rounds):
            found = {}
            for contender in CONTENDERS:
                try:
                    found[contender] = run(program, contender, asked, Path(folder))
                except (machine.MissingError, machine.KilledError) as error:
                    print(f"  {contender}: {error}")
            rounds.append(found)
    show(rounds)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("ycsb: interrupted; nothing is told", file=sys.stderr)
        sys.exit(130)
