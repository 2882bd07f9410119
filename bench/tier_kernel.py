"""Pages promoted by `nearfar tier --flat` and by Linux's own tiering, in guest seconds.

    .venv/bin/python bench/tier_kernel.py [--suite bookworm-backports]

Boots one of Debian's kernels (scripts/kernels) in QEMU's interpreter with a second memory node that
the machine's tables call slower (ACPI's HMAT, as a CXL expander's node is), so that the kernel puts
it into a tier of its own. There a C program reads a tenth of its memory again and again, all of it
far at first:

* under the kernel: `numa_balancing=2` with demotion, as it is by default, and scanning as often as
  ten times a second;
* under `nearfar tier run --flat`, whose near memory is full of the program's other pages;
* under `nearfar tier attach --flat`, which is told of the program before that begins to read, with
  each of its detectors.

It prints how many of the pages in use are near after how many guest seconds. Exit status 1 unless
one of ours has promoted, after half of the time in which the better of the kernel's runs had
promoted nine tenths of them, at least as many as that had by then, without a fault that the pager
served for a far page.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
_MIB = 64
_HOT = 10  # per cent
_SECONDS = 20
_NEAR = "16MiB"
_PAIRS = 2000
_NEARFAR = [sys.executable, "-m", "nearfar", "tier"]
_TIERS = ["--flat", "--near", _NEAR, "--far", "node:1"]
# Detectors of `tier attach` and policies of `tier run`, each with an interval.
_ATTACHED = (("damon", "250ms"), ("dirty", "250ms"))
_RUN = (("payback", "500ms"),)
_BALANCING = Path("/proc/sys/kernel/numa_balancing")
_DEMOTION = Path("/sys/kernel/mm/numa/demotion_enabled")
_SCAN = Path("/sys/kernel/debug/sched/numa_balancing")
_VMSTAT = Path("/proc/vmstat")
# Latencies and bandwidths of both nodes, by which the kernel tells tiers apart.
_MACHINE = " ".join(
    f"-numa hmat-lb,initiator=0,target={node},hierarchy=memory,data-type=access-{what}"
    for node, latency, bandwidth in ((0, 100, "20G"), (1, 350, "5G"))
    for what in (f"latency,latency={latency}", f"bandwidth,bandwidth={bandwidth}")
)


@dataclass(frozen=True)
class Seen:
    """How many of the pages in use were near after so many milliseconds."""

    ms: int
    near: int
    hot: int


def _follow(words: list[str]) -> list[Seen]:
    return _seen(subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout)


def _seen(out: str) -> list[Seen]:
    lines = (line.split() for line in out.splitlines())
    return [Seen(int(ms), int(near), int(hot)) for ms, near, hot, _ in lines]


def _when(seen: list[Seen], share: float) -> Seen | None:
    """The first moment at which so much of the pages in use was near."""
    return next((one for one in seen if one.near >= share * one.hot), None)


def _near_at(seen: list[Seen], ms: float) -> int:
    return max((one.near for one in seen if one.ms <= ms), default=0)


def _tell(name: str, seen: list[Seen]) -> None:
    times = ", ".join(
        f"{int(share * 100)} % after {found.ms / 1000:.1f} s"
        if found
        else f"{int(share * 100)} % never"
        for share in (0.5, 0.9, 0.99)
        for found in (_when(seen, share),)
    )
    print(f"{name}: {times}; {seen[-1].near} of {seen[-1].hot} pages at the end", flush=True)


def _promotions() -> int:
    lines = (line.split() for line in _VMSTAT.read_text().splitlines())
    return next(int(count) for name, count in lines if name == "pgpromote_success")


def _under_kernel(program: str, scan_ms: int | None) -> list[Seen]:
    _DEMOTION.write_text("1")
    _BALANCING.write_text("2")
    if scan_ms is not None:
        (_SCAN / "scan_period_min_ms").write_text(str(scan_ms))
        (_SCAN / "scan_size_mb").write_text("1024")
    before = _promotions()
    seen = _follow([program, str(_MIB), str(_HOT), str(_SECONDS), "1"])
    _BALANCING.write_text("0")
    often = f"each {scan_ms} ms" if scan_ms is not None else "by default"
    _tell(f"numa_balancing=2, scanning {often}", seen)
    print(f"  {_promotions() - before} promotions by the kernel's own count", flush=True)
    return seen


@dataclass(frozen=True)
class Ours:
    """A run under nearfar: by what name, what was seen, and whether a fault was served."""

    name: str
    seen: list[Seen]
    faulted: bool


def _run(program: str, policy: str, interval: str) -> Ours:
    words = ["--policy", policy, "--interval", interval, "--pairs", str(_PAIRS)]
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        seen = _follow(
            [*_NEARFAR, "run", *_TIERS, *words, "--quiet", "--json", str(result), "--", program,
             str(_MIB), str(_HOT), str(_SECONDS), "-1"],
        )  # fmt: skip
        return _told(f"nearfar tier run --flat {' '.join(words)}", seen, result)


def _attach(program: str, detector: str, interval: str) -> Ours:
    """The program waits until it is managed, and reads then."""
    words = ["--detector", detector, "--interval", interval, "--pairs", str(_PAIRS)]
    pipe = subprocess.PIPE
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        reading = subprocess.Popen(
            [program, str(_MIB), str(_HOT), str(_SECONDS), "1", "wait"],
            stdin=pipe, stdout=pipe, text=True,
        )  # fmt: skip
        assert reading.stdin is not None
        assert reading.stdout is not None
        reading.stdout.readline()
        with subprocess.Popen(
            [*_NEARFAR, "attach", *_TIERS, *words, "--json", str(result), str(reading.pid)],
            stdout=subprocess.DEVNULL, stderr=pipe, text=True,
        ) as manager:  # fmt: skip
            assert manager.stderr is not None
            for line in manager.stderr:
                if "from now on" in line:
                    break
                print(f"  {line.rstrip()}", flush=True)
            out, _ = reading.communicate("\n")
        return _told(f"nearfar tier attach --flat {' '.join(words)}", _seen(out), result)


def _told(name: str, seen: list[Seen], result: Path) -> Ours:
    """Print what was seen and counted."""
    counts: dict[str, Any] = json.loads(result.read_text())
    _tell(name, seen)
    print(
        f"  {counts['promoted']} promoted, {counts['demoted']} demoted, {counts['refused']} "
        f"refused; {counts['copies_in']} faults for far pages, {counts['probe_faults']} at "
        f"probed ones, {counts['scanned']} looked at, {counts['found_used']} found used; "
        f"detector {counts['detector_ns'] / 1e9:.2f} s and mover "
        f"{counts['mover_ns'] / 1e9:.2f} s of a processor",
        flush=True,
    )
    return Ours(name, seen, counts["copies_in"] != 0)


def _inside(program: str) -> int:
    """Measure in the guest."""
    subprocess.run(["mount", "-t", "debugfs", "none", "/sys/kernel/debug"], check=True)
    for tier in sorted(Path("/sys/devices/virtual/memory_tiering").glob("memory_tier*")):
        print(f"{tier.name}: nodes {(tier / 'nodelist').read_text().strip()}", flush=True)
    kernel = [_under_kernel(program, scan_ms) for scan_ms in (None, 100)]
    ours = [
        *(_attach(program, *way) for way in _ATTACHED),
        *(_run(program, *way) for way in _RUN),
    ]
    reached = [found for seen in kernel if (found := _when(seen, 0.9))]
    if not reached:
        print("the kernel did not promote nine tenths of the pages in use")
        return 1
    goal = min(reached, key=lambda found: found.ms)
    best = max(ours, key=lambda one: (not one.faulted, _near_at(one.seen, goal.ms / 2)))
    near = _near_at(best.seen, goal.ms / 2)
    print(
        f"the best of ours is {best.name}: after {goal.ms / 2000:.2f} s it has {near}, the kernel "
        f"after {goal.ms / 1000:.2f} s {goal.near}"
    )
    return int(near < goal.near or best.faulted)


def _outside(suite: str) -> int:
    """Boot the guest, and show what it prints."""
    folder = ROOT / "build" / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "hot_part"
    subprocess.run(["gcc", "-O2", "-o", program, ROOT / "bench" / "hot_part.c"], check=True)
    here = Path(__file__).resolve()
    job = f"{ROOT}/.venv/bin/python {here} --inside {program}"
    environment = {**os.environ, "NEARFAR_GUEST_JOB": job, "NEARFAR_GUEST_MACHINE": _MACHINE}
    return subprocess.run([ROOT / "scripts" / "kernels", suite], env=environment).returncode


def main() -> int:
    """Measure; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--suite", default="bookworm-backports", help="of Debian")
    parser.add_argument("--inside", metavar="PROGRAM", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.inside is not None:
        return _inside(given.inside)
    return _outside(given.suite)


if __name__ == "__main__":
    sys.exit(main())
