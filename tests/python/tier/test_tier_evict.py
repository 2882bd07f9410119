"""How pages leave: moved, or copied where the kernel cannot move them."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nearfar.tier.machine import preloaded
from tiered import FORKS, native, needs_tier, run_tiered

pytestmark = needs_tier
Run = Callable[..., tuple[int, str, str]]
Lacking = Callable[..., None]

MOVE, PROTECT = 1 << 16, 1 << 0
RISK = (
    "tier: pages leave by being copied: what a device writes to memory meanwhile is lost "
    "(O_DIRECT, buffers registered with io_uring)\n"
)
HOLDS = "held = [str(i) * 20 for i in range(90000)]; assert sum(map(len, held)) == 8777800"


@pytest.fixture
def lacking(monkeypatch: pytest.MonkeyPatch) -> Lacking:
    """Pretend that this kernel's userfaultfd lacks features."""
    plain = fcntl.ioctl

    def pretend(features: int) -> None:
        def without(descriptor: int, request: int, argument: object = 0) -> object:
            if isinstance(argument, bytearray) and struct.unpack("<3Q", argument)[1] & features:
                raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
            return plain(descriptor, request, argument)  # type: ignore[call-overload]

        monkeypatch.setattr(fcntl, "ioctl", without)

    return pretend


def words(tmp_path: Path, *options: str) -> tuple[str, ...]:
    far, result = str(tmp_path / "far"), str(tmp_path / "result.json")
    run = ("tier", "run", "--near", "4MiB", "--far", far, "--json", result, "--quiet")
    return (*run, *options, "--", sys.executable, "-c", HOLDS)


def test_where_pages_cannot_be_moved_they_are_copied_and_the_risk_is_said(
    lacking: Lacking, nearfar: Run, tmp_path: Path
) -> None:
    lacking(MOVE)
    status, out, err = nearfar(*words(tmp_path))
    assert (status, out, err) == (0, "", f"nearfar: {RISK}")
    counts = json.loads((tmp_path / "result.json").read_text())
    assert counts["eviction"] == "copy"
    assert counts["evictions"] > 1000
    assert counts["near_peak_bytes"] <= 4 << 20


def test_where_pages_can_be_moved_they_are_and_nothing_is_said(
    nearfar: Run, tmp_path: Path
) -> None:
    assert nearfar(*words(tmp_path)) == (0, "", "")
    assert json.loads((tmp_path / "result.json").read_text())["eviction"] == "move"


def test_a_kernel_that_can_neither_move_nor_protect_pages_is_refused(
    lacking: Lacking, nearfar: Run, tmp_path: Path
) -> None:
    lacking(MOVE | PROTECT)
    status, out, err = nearfar(*words(tmp_path))
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert "userfaultfd can neither move nor write-protect pages in Linux" in err
    assert err.endswith("but in 5.7 and newer\n")
    assert list(tmp_path.iterdir()) == []


def test_a_kernel_that_cannot_move_pages_is_refused_where_they_must_be_moved(
    lacking: Lacking, nearfar: Run, tmp_path: Path
) -> None:
    lacking(MOVE)
    status, out, err = nearfar(*words(tmp_path, "--evict", "move"))
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert "userfaultfd cannot move pages in Linux" in err
    assert err.endswith("but in 6.8 and newer; without --evict, they leave by copy\n")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--evict", "mov"), "--evict: found 'mov', expected one of best, move, copy; did you"),
        (("--backend", "swap", "--evict", "copy"), "--evict: is for --backend uffd"),
    ],
)
def test_another_way_to_leave_is_refused(
    refused: Callable[..., str], options: tuple[str, ...], said: str
) -> None:
    far = () if "swap" in options else ("--far", "far")
    assert said in refused("tier", "run", "--near", "8MiB", *far, *options, "--", "true")


@pytest.mark.parametrize("compress", ["none", "lz4"])
def test_forked_children_find_what_was_copied_out(tmp_path: Path, compress: str) -> None:
    options = ("--evict", "copy", "--compress", compress)
    program = (sys.executable, "-c", FORKS)
    ran = run_tiered(tmp_path, "8MiB", *program, options=options).covered()
    assert ran.out == native(*program)
    assert ran.counts["forks"] == 2
    assert ran.counts["second_chances"] > 0
    assert ran.counts["clean_drops"] > 0


def test_a_program_by_itself_copies_as_its_environment_says(tmp_path: Path) -> None:
    def alone(evict: str) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
        report = tmp_path / "report.json"
        report.unlink(missing_ok=True)
        environment = {
            "LD_PRELOAD": preloaded(),
            "NEARFAR_TIER_NEAR": "4MiB",
            "NEARFAR_TIER_FAR": str(tmp_path / "far"),
            "NEARFAR_TIER_EVICT": evict,
            "NEARFAR_TIER_REPORT": str(report),
        }
        ran = subprocess.run(
            [sys.executable, "-c", HOLDS],
            env=environment, capture_output=True, text=True, check=False, timeout=100,
        )  # fmt: skip
        return ran, json.loads(report.read_text()) if report.exists() else {}

    ran, report = alone("copy")
    assert (ran.returncode, ran.stderr) == (0, f"nearfar {RISK}")
    assert (report["eviction"], report["evictions"] > 1000) == ("copy", True)
    ran, report = alone("best")
    assert (ran.returncode, ran.stderr, report["eviction"]) == (0, "", "move")
    ran, _ = alone("send")
    assert (ran.returncode, "expected best, move or copy" in ran.stderr) == (2, True)


@pytest.mark.parametrize("options", [(), ("--evict", "copy")])
def test_pages_brought_in_by_a_write_are_written_out_and_others_are_compared(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    touches = (
        "import sys\n"
        "pages, step = 4096, 1237\n"
        "held = bytearray(pages * 4096)\n"
        "for i in range(pages): held[i * 4096] = i % 255 + 1\n"
        "for i in range(3 * pages):\n"
        "    at = i * step % pages\n"
        "    if sys.argv[1] == 'write': held[at * 4096] = at % 255 + 1\n"
        "    else: assert held[at * 4096] == at % 255 + 1\n"
        "assert all(held[i * 4096] == i % 255 + 1 for i in range(pages))\n"
    )
    counts = {
        touch: run_tiered(
            tmp_path, "4MiB", sys.executable, "-c", touches, touch, options=options
        ).counts
        for touch in ("read", "write")
    }
    faults = 2 * 4096  # of three rounds, those that are not served by what is near already
    assert counts["read"]["clean_drops"] > faults
    assert counts["read"]["copies_out"] < counts["write"]["copies_out"] - faults
    # Where pages are moved, one that left unchanged is known to be, and one that is written is not.
    assert (counts["read"]["protected_drops"] > faults / 3) == (options == ())
    assert counts["write"]["protected_ins"] < counts["write"]["copies_in"] / 16
