"""What a sweep costs beside its work, and what a second worker brings.

    .venv/bin/python bench/sweep.py

Prints the overhead a point over 10,000 points of 1 ms each, all of different machines, with one
worker: checking every point, claiming it, sending it, and keeping its result; the time that a
second call takes to find them all; and the speed-up of two workers over one on points of
20 ms, beside that of bare processes. The work spins, so that it costs what it says on any
machine; run it on an idle one.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nearfar.model import Model
from nearfar.results import Environment, MeasureResult, Point, Target
from nearfar.sweeping.ranges import parse_range
from nearfar.sweeping.study import Study
from nearfar.sweeping.sweep import SweepOptions, Tally, sweep


@dataclass(frozen=True)
class Spin:
    """A work that takes so many milliseconds of its worker's time."""

    milliseconds: float

    def identity(self) -> dict[str, Any]:
        """Its length."""
        return {"spin": self.milliseconds}

    def files(self) -> dict[str, str]:
        """None."""
        return {}

    def check(self, model: Model) -> None:
        """Nothing can be wrong."""

    def run(self, model: Model) -> MeasureResult:
        """Spin."""
        spin(self.milliseconds)
        point = Point("ntload", 1, 64, self.milliseconds * 1e6, 1.0, self.milliseconds * 1e6)
        target = Target("model", model.name, f"model:{model.name}", "simulated")
        return MeasureResult(target, Environment("bench", 1), {"kind": "chase"}, (point,))


def spin(milliseconds: float) -> None:
    """Use so much processor time."""
    end = time.thread_time() + milliseconds / 1000
    while time.thread_time() < end:
        pass


def parse_work(text: str) -> Spin:
    """`spin MILLISECONDS`."""
    return Spin(float(text.split()[1]))


def timed(points: int, milliseconds: float, store: Path, jobs: int) -> tuple[float, Tally]:
    """Seconds of a sweep of so many machines, and what it did."""
    ranges = {"nvdimm.media.read_latency": parse_range("k", f"1000ps..{999 + points}ps:1ps")}
    study = Study("bench", ("model:optane-100",), (f"spin {milliseconds}",), ranges)
    start = time.monotonic()
    tally = sweep(study, store, parse_work, SweepOptions(jobs=jobs))
    return time.monotonic() - start, tally


def processor_seconds() -> float:
    """Of this process and its workers that have ended: what a busy machine does not change."""
    used = [resource.getrusage(one) for one in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def bare(points: int, milliseconds: float, processes: int) -> float:
    """Seconds of the same work without a sweep: what the machine gives so many processes."""
    start = time.monotonic()
    fork = multiprocessing.get_context("fork")
    share = points * milliseconds / processes
    running = [fork.Process(target=spin, args=(share,)) for _ in range(processes)]
    for one in running:
        one.start()
    for one in running:
        one.join()
    return time.monotonic() - start


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=10_000)
    parser.add_argument("--long-points", type=int, default=400)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "many.db"
        before = processor_seconds()
        seconds, _ = timed(args.points, 1.0, store, jobs=1)
        used = 1000 * (processor_seconds() - before) / args.points
        each = 1000 * seconds / args.points
        print(f"{args.points} points of 1 ms, 1 worker: {each:.2f} ms a point")
        print(f"  beside the work {each - 1:.2f} ms a point (target: under 2)")
        print(f"  processor time of all processes beside it: {used - 1:.2f} ms a point")
        again, tally = timed(args.points, 1.0, store, jobs=1)
        print(f"  the same again: {tally.found} found in {again:.1f} s, {tally.computed} computed")
        one, _ = timed(args.long_points, 20.0, Path(folder) / "one.db", jobs=1)
        two, _ = timed(args.long_points, 20.0, Path(folder) / "two.db", jobs=2)
        print(f"{args.long_points} points of 20 ms: {one:.2f} s with 1 worker, {two:.2f} s with 2")
        print(f"  speed-up {one / two:.2f} (target: at least 1.8)")
        plain = [bare(args.long_points, 20.0, processes) for processes in (1, 2)]
        print(f"  of bare processes, the same work: {plain[0] / plain[1]:.2f}")
        print(f"  of what these reach: {one / two / (plain[0] / plain[1]):.0%}")


if __name__ == "__main__":
    main()
