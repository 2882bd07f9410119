"""`nearfar vm run --flat`: guests that address both tiers directly."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Run
from guests import MIB, QEMU, expected_sum, holder, machine, needs_machines, started, vm_run
from nearfar.tier.control import MOVE, PAGE
from nearfar.tier.machine import evictions, obstacle

needs_move = pytest.mark.skipif(
    obstacle() is not None or MOVE not in evictions(), reason="this kernel cannot move pages"
)


@needs_machines
@needs_move
def test_pages_of_a_busy_guest_change_places_and_none_is_copied_in(
    tmp_path: Path, nearfar: Run, refused: Callable[..., str]
) -> None:
    flat = ("--flat", "--interval", "50ms", "--detector", "probe", "--policy", "raminate")
    run = (*flat, "--near", "10%", "--far", "node:0", "--quiet")
    qemu = [*machine(holder(tmp_path, stride=PAGE)), "-name", "web"]

    def stats() -> dict[str, int]:
        status, out, _ = nearfar("vm", "stats", "web", "--json", "-")
        assert status == 0
        return dict(json.loads(out))

    with started(vm_run(*run, qemu=qemu)) as guest:
        guest.begun()
        guest.tell("b")
        while stats()["promoted"] == 0:
            pass
        now = stats()
        assert now["near_bytes"] <= now["near_limit_bytes"] == 64 * MIB // 10 // PAGE * PAGE
        assert (now["copies_in"], now["copies_out"]) == (0, 0)
        assert guest.sum() == expected_sum(0)
        assert "expected machines without --flat" in refused("vm", "pool", "--near", "8MiB", "web")
        assert guest.end()[0] == 0


@needs_machines
@needs_move
def test_far_memory_that_is_no_node_is_refused_beside_flat(
    tmp_path: Path, refused: Callable[..., str]
) -> None:
    words = ("--near", "10%", "--far", str(tmp_path / "far"), "--", QEMU)
    assert "expected node:N with --flat" in refused("vm", "run", "--flat", *words)
