"""`nearfar run --system` by the plug-in for interface 4: what becomes of a guest's accesses.

A stand-in for QEMU plays a guest whose page table this test knows.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import Compile, Run, needs_front_end

pytestmark = needs_front_end

SOURCE = Path(__file__).resolve().parents[1] / "fake_system_qemu.c"
KERNEL = 0xFFFF_8880_0000_0000
Play = Callable[..., dict[str, Any]]


@pytest.fixture
def play(nearfar: Run, compiled: Compile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Play:
    """What a run of a guest of 64 MiB that does some lines comes to."""
    qemu = compiled(
        "qemu-system-x86_64", SOURCE.read_text(), f"-I{SOURCE.parent}", "-rdynamic", "-ldl"
    )

    def run(*lines: str) -> dict[str, Any]:
        script = tmp_path / "script"
        script.write_text("".join(f"{line}\n" for line in lines))
        monkeypatch.setenv("FAKE_QEMU_SCRIPT", str(script))
        status, out, err = nearfar(
            *("run", "model:ddr4-2666", "--system", "--json", "-", "--", str(qemu), "-m", "64M")
        )
        assert status == 0, err
        document: dict[str, Any] = json.loads(out)
        assert document["qemu"] == "9.2.0"
        return document

    return run


def machine_of(document: dict[str, Any]) -> tuple[dict[str, int], dict[int, tuple[int, int]]]:
    """Counters; lines read and written by physical page."""
    found = document["processes"][0]["machine"]
    pages = {page["address"]: (page["reads"], page["writes"]) for page in found["memory"]["pages"]}
    return found["counters"], pages


def test_caches_know_a_guests_memory_by_its_physical_addresses_and_tlbs_by_virtual_ones(
    play: Play,
) -> None:
    counters, pages = machine_of(
        play("map 10000 400000", "map 20000 400000", "load 10040", "load 20040")
    )
    assert counters["cache.tlb.walks"] == 2
    assert counters["cache.loads"] == 2
    assert pages == {0x400000: (1, 0)}


def test_a_page_that_the_guest_maps_elsewhere_is_walked_to_again_and_has_other_lines(
    play: Play,
) -> None:
    counters, pages = machine_of(
        play("map 10000 400000", "load 10040", "map 10000 500000", "load 10040")
    )
    assert counters["cache.tlb.walks"] == 2
    assert pages == {0x400000: (1, 0), 0x500000: (1, 0)}


def test_a_write_to_cr3_voids_translations_of_user_programs_and_not_the_kernels(
    play: Play,
) -> None:
    setting = ("map 10000 400000", f"map {KERNEL:x} 500000")
    loads = ("load 10040", f"kload {KERNEL:x}")
    counters, _ = machine_of(play(*setting, *loads, *loads))
    assert counters["cache.tlb.walks"] == 2
    counters, _ = machine_of(play(*setting, *loads, "switch", *loads))
    assert counters["cache.tlb.walks"] == 3


def test_an_access_across_the_end_of_a_page_reaches_both_if_the_second_is_known(
    play: Play,
) -> None:
    setting = ("map 10000 400000", "map 11000 700000")
    document = play(*setting, "load 10ffc 3")
    assert machine_of(document)[1] == {0x400000: (1, 0)}
    assert document["guest"]["unseen"]["cut"] == 1
    document = play(*setting, "load 11800", "load 10ffc 3")
    assert machine_of(document)[1] == {0x400000: (1, 0), 0x700000: (2, 0)}
    assert document["guest"]["unseen"]["cut"] == 0


def test_a_flush_writes_back_by_the_physical_line_and_one_of_an_unknown_page_is_counted(
    play: Play,
) -> None:
    document = play("map 10000 400000", "load 10040", "flush 10040", "flush 99040")
    assert document["counts"]["clwb"] == 2
    assert document["counts"]["flushes_unresolved"] == 1
    assert document["processes"][0]["machine"]["core"]["counts"]["flushes"] == 1


def test_what_is_not_simulated_is_counted_by_why_it_is_not(play: Play) -> None:
    document = play(
        "load 77000",  # of no page: a device's
        "map 10000 fffc0000",  # beyond the guest's memory
        "load 10000",
        "segment 10040",
        "halt",
        "halt",
    )
    assert document["guest"]["unseen"] == {"device": 1, "rom": 1, "hidden": 1, "cut": 0}
    assert document["guest"]["halts"] == 2
    assert machine_of(document)[1] == {}


def test_kernel_user_and_firmware_are_told_apart_by_where_their_code_is(play: Play) -> None:
    document = play(
        "map 10000 400000", "load 10000", "load 10000", f"map {KERNEL:x} 500000",
        f"kload {KERNEL:x}", "load 10000", "load 10000", "load 10000",
    )  # fmt: skip
    shares = document["guest"]["shares"]
    instructions = {side: share["instructions"] for side, share in shares.items()}
    assert instructions == {"firmware": 2, "kernel": 1, "user": 3}
    busy = sum(document["processes"][0]["machine"]["core"]["stack_ps"].values()) / 1000
    # To the picosecond, each time that another has its turn.
    assert sum(share["busy_ns"] for share in shares.values()) == pytest.approx(busy, abs=0.01)


def test_the_same_guest_gives_the_same_result(play: Play) -> None:
    lines = ["map 10000 400000", *(f"load {0x10000 + at:x}" for at in range(0, 4096, 8))]
    assert play(*lines) == play(*lines)
