"""Pre-translation by `nearfar measure`: what marks do, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import Run

# Small caches and TLBs: every node of the list is a page walk and a read of memory.
SMALL = (
    "model:optane-100,cpu.page=4KiB,cpu.l1.size=4KiB,cpu.l2.size=16KiB,cpu.l3.size=66KiB,"
    "cpu.l3.slices=3,cpu.tlb.l2.entries=384"
)
ON = ",nvdimm.pretranslation.enabled=true"
# Nodes 9 pages apart: each has an entry line of the page table to itself.
LIST = (
    *("chase", "--op", "load,load+mkpt", "--region", "64KiB", "--stride", "36KiB"),
    *("--regions", "repeat", "--lines", "3072", "--json", "-"),
)
NODES = 1024


def walked(nearfar: Run, target: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The plain walk and the marked one."""
    status, out, err = nearfar("measure", target, *LIST)
    assert status == 0, err
    plain, marked = json.loads(out)["points"]
    return plain, marked


def test_a_marked_list_walks_to_each_page_once(nearfar: Run) -> None:
    plain, marked = walked(nearfar, SMALL + ON)
    assert plain["counters"]["cpu.tlb.walks"] == 4 * NODES
    assert marked["counters"]["cpu.tlb.walks"] <= 1.01 * NODES
    assert 0.99 * NODES <= marked["counters"]["cpu.pretranslation.updates"] <= NODES
    assert marked["ns_per_line"] < plain["ns_per_line"]
    assert marked["stride_bytes"] == 36 << 10


def test_marks_do_nothing_on_a_machine_without_pretranslation(nearfar: Run) -> None:
    plain, marked = walked(nearfar, SMALL)
    assert marked["counters"]["cpu.tlb.walks"] == plain["counters"]["cpu.tlb.walks"]
    assert not any("pretranslation" in name for name in marked["counters"])


def test_a_stride_takes_as_much_more_memory_as_it_is_wider(refused: Callable[..., str]) -> None:
    small = "model:optane-100,nvdimm.media.capacity=16MiB"
    message = refused("measure", small, *LIST)
    assert "region" in message
    assert str((64 << 10) // 64 * (36 << 10)) in message


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("nvdimm.pretranslation.rlb.size=0B", "holds no entry; expected at least 8 B"),
        ("nvdimm.pretranslation.table=32GiB", "leave of the on-DIMM DRAM; shrink it or enlarge"),
        ("imc.rpq.lines=1", "imc.rpq.lines is 1, expected at least 2"),
    ],
)
def test_what_the_dimm_or_the_processor_cannot_be_is_one_line(
    refused: Callable[..., str], settings: str, said: str
) -> None:
    message = refused("measure", f"{SMALL}{ON},{settings}", *LIST)
    assert said in message


def test_its_keys_need_it_to_be_on(refused: Callable[..., str]) -> None:
    message = refused("measure", SMALL + ",cpu.pretranslation.speculate=true", *LIST)
    assert "nvdimm.pretranslation.enabled" in message


def test_marks_found_by_registers_need_more_than_a_trace(
    refused: Callable[..., str], tmp_path: Path
) -> None:
    trace = tmp_path / "t.trace"
    trace.write_text("0x40 READ 1\n")
    message = refused("replay", SMALL + ON + ",cpu.pretranslation.mark=auto", str(trace))
    assert (
        "a trace has none: expected mkpt (for marks that were recorded), or nearfar run" in message
    )


# docs/studies-pre-translation.md says so of a list of 65,536 nodes.
@pytest.mark.parametrize(
    ("settings", "gain"),
    [
        ("cpu.page=4KiB,cpu.l3.size=2112KiB", 0.065),
        ("cpu.page=4KiB,cpu.l3.size=2112KiB,cpu.pretranslation.speculate=true", 0.184),
        ("cpu.page=4KiB,cpu.l3.size=2112KiB,cpu.table.place=memory", 0.043),
        (
            "cpu.page=4KiB,cpu.l3.size=2112KiB,cpu.table.place=memory,"
            "cpu.pretranslation.speculate=true",
            0.77,
        ),
        ("cpu.page=2MiB", 0.0),
    ],
)
def test_the_gains_of_the_page_are_the_models(nearfar: Run, settings: str, gain: float) -> None:
    status, out, err = nearfar(
        *("measure", f"model:optane-100{ON},{settings}", "chase", "--op", "load,load+mkpt"),
        *("--region", "4MiB", "--stride", "36KiB", "--regions", "repeat", "--lines", "1024"),
        *("--json", "-"),
    )
    assert status == 0, err
    plain, marked = json.loads(out)["points"]
    assert plain["ns_per_line"] / marked["ns_per_line"] - 1 == pytest.approx(gain, abs=0.01)


def test_the_look_aside_buffer_draws_energy_for_each_look_up_and_each_entry_written(
    nearfar: Run,
) -> None:
    _, marked = walked(nearfar, SMALL + ON + ",nvdimm.pretranslation.rlb.energy=3pJ")
    counters = marked["counters"]
    own = "channel.0.dimm.pretranslation."
    accesses = sum(counters[own + name] for name in ("reads", "updates", "table.hits"))
    assert accesses >= 4 * NODES
    assert marked["energy"]["dimm.rlb"] == 3 * accesses
    _, off = walked(nearfar, SMALL)
    assert "dimm.rlb" not in off["energy"]
