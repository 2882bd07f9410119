"""Pages promoted by `nearfar tier run --flat` and by Linux's own tiering, in guest seconds.

    .venv/bin/python bench/tier_kernel.py [--suite bookworm-backports] [--interval 500ms]
                                          [--policy payback]

Boots one of Debian's kernels (scripts/kernels) in QEMU's interpreter with a second memory node that
the machine's tables call slower (ACPI's HMAT, as a CXL expander's node is), so that the kernel puts
it into a tier of its own. There a C program reads a tenth of its memory again and again, all of it
far at first:

* under the kernel: `numa_balancing=2` with demotion, as it is by default, and scanning as often as
  ten times a second;
* under `nearfar tier run --flat`, whose near memory is full of the program's other pages.

It prints how many of the pages in use are near after how many guest seconds. Exit status 1 unless
ours has promoted, after half of the time in which the better of the kernel's runs had promoted nine
tenths of them, at least as many as that had by then; or if the pager served a fault for a far page.
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
    ran = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
    lines = (line.split() for line in ran.stdout.splitlines())
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


def _flat(program: str, interval: str, policy: str) -> tuple[list[Seen], dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        seen = _follow(
            [sys.executable, "-m", "nearfar", "tier", "run", "--flat", "--near", _NEAR, "--far",
             "node:1", "--interval", interval, "--pairs", str(_PAIRS), "--policy", policy,
             "--quiet", "--json", str(result), "--", program, str(_MIB), str(_HOT),
             str(_SECONDS), "-1"],
        )  # fmt: skip
        counts: dict[str, Any] = json.loads(result.read_text())
    words = f"--policy {policy} --interval {interval} --pairs {_PAIRS}"
    _tell(f"nearfar tier run --flat {words}", seen)
    print(
        f"  {counts['promoted']} promoted, {counts['demoted']} demoted, {counts['refused']} "
        f"refused; {counts['copies_in']} faults for far pages, {counts['probe_faults']} at "
        f"probed ones, {counts['scanned']} looked at; "
        f"detector {counts['detector_ns'] / 1e9:.2f} s and mover "
        f"{counts['mover_ns'] / 1e9:.2f} s of a processor",
        flush=True,
    )
    return seen, counts


def _inside(program: str, interval: str, policy: str) -> int:
    """Measure in the guest."""
    subprocess.run(["mount", "-t", "debugfs", "none", "/sys/kernel/debug"], check=True)
    for tier in sorted(Path("/sys/devices/virtual/memory_tiering").glob("memory_tier*")):
        print(f"{tier.name}: nodes {(tier / 'nodelist').read_text().strip()}", flush=True)
    kernel = [_under_kernel(program, scan_ms) for scan_ms in (None, 100)]
    ours, counts = _flat(program, interval, policy)
    reached = [found for seen in kernel if (found := _when(seen, 0.9))]
    if not reached:
        print("the kernel did not promote nine tenths of the pages in use")
        return 1
    best = min(reached, key=lambda found: found.ms)
    near = _near_at(ours, best.ms / 2)
    print(
        f"after {best.ms / 2000:.1f} s ours has {near}, the kernel after {best.ms / 1000:.1f} s "
        f"{best.near}"
    )
    return int(near < best.near or counts["copies_in"] != 0)


def _outside(suite: str, interval: str, policy: str) -> int:
    """Boot the guest, and show what it prints."""
    folder = ROOT / "build" / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "hot_part"
    subprocess.run(["gcc", "-O2", "-o", program, ROOT / "bench" / "hot_part.c"], check=True)
    here = Path(__file__).resolve()
    job = (
        f"{ROOT}/.venv/bin/python {here} --inside {program} --interval {interval} --policy {policy}"
    )
    environment = {**os.environ, "NEARFAR_GUEST_JOB": job, "NEARFAR_GUEST_MACHINE": _MACHINE}
    return subprocess.run([ROOT / "scripts" / "kernels", suite], env=environment).returncode


def main() -> int:
    """Measure; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--suite", default="bookworm-backports", help="of Debian")
    parser.add_argument("--interval", default="500ms", help="from one decision of ours to the next")
    parser.add_argument("--policy", default="payback", help="of placement")
    parser.add_argument("--inside", metavar="PROGRAM", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.inside is not None:
        return _inside(given.inside, given.interval, given.policy)
    return _outside(given.suite, given.interval, given.policy)


if __name__ == "__main__":
    sys.exit(main())
