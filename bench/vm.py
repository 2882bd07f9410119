"""A Linux guest with parts of its memory near: checksums, the limit, and processor time.

    .venv/bin/python bench/vm.py --kernel vmlinuz [--memory 256] [--near 25%,10%,5%] [--rounds 3]

Boots a kernel (such as /boot/vmlinuz, or that of Debian's linux-image-cloud-amd64, unpacked) with
busybox alone in QEMU's interpreter, where it makes files in memory, sorts, compresses and sums
them. Each round runs it untiered and then with each share near, so that a load that comes and goes
meets all of them; the table has the least processor time of the rounds, of QEMU and the pager
together. The guest's sums must be those of the untiered run. Exit status 1 if a sum differs, a
limit was exceeded, or 10 % took more than 1.3 times the untiered processor time.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TARGETS = {"10%": 1.3}  # times the untiered processor time, at most
QEMU = "qemu-system-x86_64"
JOB = """#!/bin/busybox sh
export PATH=/bin
/bin/busybox mkdir -p /proc /sys /dev /tmp
/bin/busybox --install -s /bin
mount -t devtmpfs none /dev
mount -t proc none /proc
mount -t tmpfs -o size=80% none /tmp
cd /tmp
seq 1 {lines} > numbers
awk '{{ printf "%d %d %s\\n", ($1 * 7919) % 1000003, $1, "line of text" }}' numbers > table
echo SUM $(md5sum < numbers) $(md5sum < table)
for turn in 1 2; do
  echo SUM $turn $(sort -n table | md5sum) $(gzip -1 -c table | md5sum)
done
grep -c 77 table
awk '{{ a[$1 % 4096] += $2 }} END {{ for (i = 0; i < 4096; i++) print a[i] }}' table > sums
echo SUM $(md5sum < sums)
echo USED $(awk '/^(MemTotal|MemFree)/ {{ print $2 }}' /proc/meminfo)
poweroff -f
"""


@dataclass(frozen=True)
class Ran:
    """A run: what the guest printed, processor and other time in seconds, and the report."""

    sums: list[str]
    used: str
    processor: float
    wall: float
    report: dict[str, Any]


def initrd(folder: Path, lines: int) -> Path:
    """busybox, and what it is to do."""
    busybox = shutil.which("busybox")
    if busybox is None:
        sys.exit("bench/vm.py: busybox is not there; to get it: apt-get install busybox-static")
    root = folder / "root"
    (root / "bin").mkdir(parents=True)
    shutil.copy(busybox, root / "bin" / "busybox")
    (root / "init").write_text(JOB.format(lines=lines))
    (root / "init").chmod(0o755)
    file = folder / "initrd"
    names = subprocess.run(["find", "."], cwd=root, capture_output=True, check=True).stdout
    with file.open("wb") as out:
        subprocess.run(
            [busybox, "cpio", "-o", "-H", "newc"],
            cwd=root, input=names, stdout=out, stderr=subprocess.DEVNULL, check=True,
        )  # fmt: skip
    return file


def run(words: list[str], near: str | None, far: str, folder: Path) -> Ran:
    """One run of the machine; untiered without `near`."""
    result = folder / "result.json"
    tiered = [
        *(sys.executable, "-m", "nearfar", "vm", "run", "--near", near or "", "--far", far),
        *("--quiet", "--json", str(result), "--"),
    ]
    before, begun = os.times(), time.monotonic()
    process = subprocess.run(
        [*(tiered if near else ()), *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    after = os.times()
    if process.returncode != 0:
        sys.exit(f"bench/vm.py: status {process.returncode}: {process.stderr.decode()}")
    lines = process.stdout.decode(errors="replace").replace("\r", "").split("\n")
    used = next((line for line in lines if line.startswith("USED")), "")
    return Ran(
        sums=[line for line in lines if line.startswith("SUM")],
        used=used,
        processor=sum(after[2:4]) - sum(before[2:4]),
        wall=time.monotonic() - begun,
        report=json.loads(result.read_text()) if near else {},
    )


def within(report: dict[str, Any]) -> bool:
    """Whether a run's near memory was within its own limit. One without tiers has none."""
    if not report:
        return True
    return bool(
        report["near_peak_bytes"] <= report["near_limit_bytes"] and report["over_budget"] == 0
    )


def row(near: str, runs: list[Ran], plain: list[Ran]) -> bool:
    """Print a row; whether all in it is as it should be."""
    least = min(one.processor for one in runs)
    ratio = least / min(one.processor for one in plain)
    last = runs[-1].report
    limit = last.get("near_limit_bytes", 0)
    right = all(one.sums == plain[0].sums for one in runs)
    held = all(within(one.report) for one in runs)
    print(
        f"{near:>8} {least:9.2f} {ratio:6.2f} {min(one.wall for one in runs):7.1f} "
        f"{limit / 2**20:8.1f} {last.get('near_peak_bytes', 0) / 2**20:8.1f} "
        f"{last.get('managed_peak_bytes', 0) / 2**20:8.1f} {last.get('faults', 0):8} "
        f"{last.get('copies_in', 0) * 4096 / 2**20:9.0f}  "
        f"{'right' if right else 'WRONG'} {('held' if held else 'EXCEEDED') if last else '-'}",
        flush=True,
    )
    return right and held and ratio <= TARGETS.get(near, float("inf"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernel", required=True)
    parser.add_argument("--memory", type=int, default=256, help="of the guest, in MiB")
    parser.add_argument("--near", default="25%,10%,5%")
    parser.add_argument("--far", default="anonymous")
    parser.add_argument("--lines", type=int, default=600_000, help="what the guest sorts")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    shares: list[str] = args.near.split(",")
    with tempfile.TemporaryDirectory(prefix="nearfar-vm-") as name:
        folder = Path(name)
        words = [
            *(QEMU, "-accel", "tcg", "-cpu", "max,-erms,-fsrm", "-m", f"{args.memory}M"),
            *("-display", "none", "-no-reboot", "-nic", "none", "-serial", "stdio"),
            *("-kernel", args.kernel, "-initrd", str(initrd(folder, args.lines))),
            *("-append", "console=ttyS0 loglevel=3 panic=-1"),
        ]
        plain: list[Ran] = []
        tiered: dict[str, list[Ran]] = {share: [] for share in shares}
        for _ in range(args.rounds):
            plain.append(run(words, None, args.far, folder))
            for share in shares:
                tiered[share].append(run(words, share, args.far, folder))
    if not plain[0].sums:
        sys.exit("bench/vm.py: the guest printed no sums; its kernel may not boot here")
    print(f"guest of {args.memory} MiB, least of {args.rounds} rounds; {plain[0].used} KiB\n")
    print(
        "    near  CPU sec  ratio wall s  limit MiB  near MiB managed  faults   in MiB  sums limit"
    )
    good = row("all", plain, plain)
    rows = [row(share, tiered[share], plain) for share in shares]  # all of them are printed
    return 0 if good and all(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
