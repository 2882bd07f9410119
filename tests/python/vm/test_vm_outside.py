"""Guests whose memory other processes can map, and machines that run already: managed from outside
QEMU, on nodes that are addressed directly."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import Run
from guests import MIB, expected_sum, holder, machine, needs_qemu, started, vm_run
from nearfar.errors import InputError
from nearfar.tier.attach.machine import attach_obstacle
from nearfar.tier.far import nodes
from nearfar.vm.attach import find_qemu, target_of
from nearfar.vm.outside import guest_target

_OBSTACLE = attach_obstacle()
needs_outside = pytest.mark.skipif(_OBSTACLE is not None, reason=str(_OBSTACLE))
FAR = f"node:{nodes()[-1]}"
# A policy that needs no note of writes, which this machine's kernel may not take.
FLAT = ("--flat", "--far", FAR, "--policy", "static", "--interval", "50ms")
SHARED = {
    "memfd": ("-object", "memory-backend-memfd,id=m,size=64M,share=on"),
    "file": ("-object", "memory-backend-file,id=m,size=64M,share=on,mem-path={folder}/ram"),
    "ram": ("-object", "memory-backend-ram,id=m,size=64M,share=on"),
}

pytestmark = [needs_qemu, needs_outside]


Vm = Callable[..., dict[str, Any]]


def _sharing(folder: Path, kind: str) -> list[str]:
    words = [word.format(folder=folder) for word in SHARED[kind]]
    return [*machine(holder(folder)), *words, "-machine", "memory-backend=m", "-name", "web"]


@pytest.mark.parametrize("kind", SHARED)
def test_a_guest_whose_memory_is_shared_has_a_tenth_of_it_near(
    tmp_path: Path, vm: Vm, kind: str
) -> None:
    result = tmp_path / "run.json"
    run = vm_run("--near", "10%", *FLAT, "--json", result, qemu=_sharing(tmp_path, kind))
    with started(run) as guest:
        guest.begun()
        while (stats := vm("stats", "web"))["near_bytes"] > stats["near_limit_bytes"]:
            assert guest.process.poll() is None
        while (stats := vm("stats", "web"))["far_bytes"] < 16 * MIB:
            assert guest.process.poll() is None
        assert (stats["state"], stats["guest_bytes"]) == ("running", 64 * MIB)
        assert stats["unmanaged_guest_bytes"] == 0
        assert 24 * MIB <= stats["managed_bytes"] <= 64 * MIB
        less = vm("set", "--near", "5%", "web")
        assert less["near_bytes"] <= less["near_limit_bytes"] == 64 * MIB // 20 // 4096 * 4096
        assert guest.sum() == expected_sum(0)
        status, err = guest.end()
    assert status == 0
    assert "pages promoted" in err
    assert json.loads(result.read_text())["demoted"] > 16 * MIB // 4096


@pytest.mark.parametrize("kind", [(), ("-object", "memory-backend-memfd,id=m,size=64M,share=on",
                                       "-machine", "memory-backend=m")])  # fmt: skip
def test_a_machine_that_runs_already_is_managed_and_left_again(
    tmp_path: Path, vm: Vm, nearfar: Run, kind: tuple[str, ...]
) -> None:
    talks = ("-qmp", f"unix:{tmp_path / 'q'},server=on,wait=off", "-name", "web")
    command = [sys.executable, "-m", "nearfar", "vm", "attach", "--near", "10%", *FLAT, "web"]
    quiet, told = subprocess.DEVNULL, subprocess.PIPE
    with started([*machine(holder(tmp_path)), *kind, *talks]) as guest:
        guest.begun()
        with subprocess.Popen(command, stdout=quiet, stderr=told, text=True) as manager:
            assert manager.stderr is not None
            while "from now on" not in (line := manager.stderr.readline()):
                assert line
            stats = vm("stats", "web")
            assert stats["near_bytes"] <= stats["near_limit_bytes"]
            assert stats["managed_bytes"] <= stats["guest_bytes"] == 64 * MIB
            assert stats["state"] == "unknown"
            assert guest.sum() == expected_sum(0)
            assert nearfar("tier", "detach", str(guest.process.pid), "--quiet") == (0, "", "")
            assert manager.wait() == 0
        assert guest.sum() == expected_sum(1)
        guest.end()


def test_a_killed_manager_leaves_a_machine_that_runs_on(tmp_path: Path, vm: Vm) -> None:
    with started(vm_run("--near", "10%", *FLAT, qemu=_sharing(tmp_path, "memfd"))) as guest:
        guest.begun()
        assert vm("stats", "web")["state"] == "running"
        guest.process.send_signal(signal.SIGKILL)
        guest.process.wait()
        assert guest.sum() == expected_sum(0)
        guest.tell("q")
        assert guest.line() == ""  # QEMU has ended, and closed it


def test_memory_that_cannot_move_is_refused_from_outside_too(
    tmp_path: Path, refused: Callable[..., str]
) -> None:
    run = ("vm", "run", "--near", "10%", *FLAT, "--", *_sharing(tmp_path, "memfd"))
    assert "no VFIO" in refused(*run, "-device", "vfio-pci,host=01:00.0")
    assert "mem-lock=off" in refused(*run, "-overcommit", "mem-lock=on")


def test_a_guest_whose_memory_is_not_where_its_words_say_is_not_managed(tmp_path: Path) -> None:
    talks = ("-qmp", f"unix:{tmp_path / 'q'},server=on,wait=off")
    with started([*machine(holder(tmp_path)), *talks]) as guest:
        guest.begun()
        found = find_qemu(str(guest.process.pid))
        assert target_of(found).guest_blocks == (64 * MIB,)
        with pytest.raises(InputError, match=r"found no memory of 96\.0 MiB"):
            guest_target(guest.process.pid, (96 * MIB,), "qemu")
        guest.end()
