"""Runs of programs on two tiers, for the tests: what they printed, and what was counted."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from nearfar.results.faults import DEFAULT_POLICY
from nearfar.tier.control import COPY, MOVE
from nearfar.tier.machine import evictions, obstacle

# Times as long as on a machine whose processors are not interpreted.
SLOWER = int(os.environ.get("NEARFAR_SLOWER", "1"))
_OBSTACLE = obstacle()
_MISSING = str(_OBSTACLE) if _OBSTACLE else "" if shutil.which("gcc") else "no gcc"
needs_tier = pytest.mark.skipif(_MISSING != "", reason=_MISSING)
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only for root")
_HUGE = Path("/sys/kernel/mm/transparent_hugepage/enabled")
needs_huge = pytest.mark.skipif(
    not _HUGE.exists() or "[never]" in _HUGE.read_text(), reason="no transparent huge pages"
)
PROGRAMS = Path(__file__).resolve().parents[1] / "tier"
MIB = 1 << 20
# How pages leave, and what they are where they are far.
WAYS = {
    "moved": (),
    "copied": ("--evict", "copy"),
    "compressed": ("--far", "compressed"),
    "compressed in a file": ("--compress", "lz4"),
    "in memory": ("--far", "anonymous"),
}


def need(way: str) -> None:
    """Skip where pages cannot leave in this way."""
    eviction = COPY if way == "copied" else MOVE
    if eviction not in evictions():
        pytest.skip(f"this kernel cannot {eviction} pages")


# A Python program whose forked children and it itself change what they share, and print a digest.
FORKS = """
import hashlib, os
held = {i: str(i) * 20 for i in range(40000)}
def look():
    return hashlib.sha1(repr(sorted(held.items())).encode()).hexdigest()
for child in range(2):
    process = os.fork()
    if process == 0:
        for i in range(child, 40000, 7):
            held[i] = f"child {child}"
        print(child, look(), flush=True)
        os._exit(0)
    for i in range(child, 40000, 11):
        held[i] = f"parent {child}"
    assert os.waitpid(process, 0)[1] == 0
print(look())
"""


class Tiered:
    """A finished run: what it printed, its status, and what was counted."""

    def __init__(self, process: subprocess.CompletedProcess[str], result: Path) -> None:
        self.out, self.err, self.status = process.stdout, process.stderr, process.returncode
        self.counts: dict[str, Any] = json.loads(result.read_text()) if result.exists() else {}

    def covered(self) -> Tiered:
        """Itself, if the run says something about the pager."""
        assert self.status == 0, self.out + self.err
        assert self.counts["evictions"] > 0
        assert self.counts["managed_share"] >= 0.9
        return self


def command(
    near: str,
    far: Path | str,
    *words: str | Path,
    result: Path,
    policy: str = DEFAULT_POLICY,
    options: Sequence[str] = (),
) -> list[str]:
    """The command line of a run."""
    return [
        *(sys.executable, "-m", "nearfar", "tier", "run", "--near", near, "--far", str(far)),
        *("--policy", policy, "--json", str(result), "--quiet", *options),
        *("--", *map(str, words)),
    ]


def run_tiered(
    folder: Path,
    near: str,
    *words: str | Path,
    policy: str = DEFAULT_POLICY,
    options: Sequence[str] = (),
    **settings: Any,
) -> Tiered:
    """Run a program with so much near memory, its far file and its result in `folder`."""
    result, far = folder / "result.json", folder / "far"
    result.unlink(missing_ok=True)
    process = subprocess.run(
        command(near, far, *words, result=result, policy=policy, options=options),
        **{"capture_output": True, "text": True, "check": False, "timeout": 120 * SLOWER}
        | settings,
    )
    assert not far.exists()
    return Tiered(process, result)


def native(*words: str | Path, **settings: Any) -> str:
    """What a program prints by itself."""
    usual = {"capture_output": True, "text": True, "check": True, "timeout": 100 * SLOWER}
    return subprocess.run(words, **usual | settings).stdout


def compiled(source: Path, program: Path, *options: str) -> Path:
    """A C program of the tests, compiled."""
    subprocess.run(["gcc", "-O1", "-pthread", *options, "-o", program, source], check=True)
    return program
