"""What `nearfar tier attach --flat` costs: looking at pages, and moving them.

    .venv/bin/python bench/tier_attach.py

A program holds memory and does nothing; it is attached to, and its limit goes down to a quarter.
Times are processor time, as the manager counts it. On one node, pages that move stay where they
are: what their copies take is not in it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from nearfar.tier.attach.machine import notes_writes
from nearfar.tier.far import nodes

_MIB = 1 << 20
_HELD = 512  # MiB
_HOLDS = f"""
import mmap, sys
held = mmap.mmap(-1, {_HELD} << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
held.madvise(mmap.MADV_NOHUGEPAGE)
for at in range(0, {_HELD} << 20, 4096):
    held[at] = 1
print("held", flush=True)
sys.stdin.readline()
"""


def _tier(*words: str) -> dict[str, Any]:
    ran = subprocess.run(
        [sys.executable, "-m", "nearfar", "tier", *words, "--json", "-"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def measure(policy: str) -> None:
    """Print the figures with one policy."""
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", _HOLDS], stdin=pipe, stdout=pipe) as program:
        assert program.stdout is not None
        program.stdout.readline()
        words = ("--near", "100%", "--far", f"node:{nodes()[-1]}", "--policy", policy)
        manager = subprocess.Popen(
            [sys.executable, "-m", "nearfar", "tier", "attach", "--flat", "--interval", "500ms",
             "--quiet", "--json", "/dev/null", *words, str(program.pid)],
        )  # fmt: skip
        number = str(manager.pid)
        while True:
            try:
                before = _tier("stats", number)
            except subprocess.CalledProcessError:
                continue
            if before["scanned"] > 3 * before["managed_bytes"] // 4096:
                break
        later = before
        while later["scanned"] < before["scanned"] + 20 * before["managed_bytes"] // 4096:
            later = _tier("stats", number)
        moved = _tier("set", "--near", "25%", number)
        _tier("detach", number)
        manager.wait()
        program.communicate(b"\n")
    pages = moved["demoted"] - before["demoted"]
    took_ns = moved["mover_ns"] - before["mover_ns"]
    look_ns = (later["detector_ns"] - before["detector_ns"]) / (
        later["scanned"] - before["scanned"]
    )
    print(f"--policy {policy}, {_HELD} MiB")
    print(f"  a page looked at: {look_ns:.1f} ns")
    print(f"  4 GiB looked at once a second: {look_ns * _MIB / 1e7:.2f} % of a processor")
    print(f"  a page moved: {took_ns / pages / 1000:.2f} us, of {pages}")


def main() -> None:
    """With a policy that needs no note of writes, and with another where the kernel takes it."""
    measure("static")
    if notes_writes():
        measure("raminate")


if __name__ == "__main__":
    main()
