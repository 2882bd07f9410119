"""What is said of a part that is not there, or switched off, is refused and not passed over."""

from __future__ import annotations

from pathlib import Path

import pytest

from nearfar.errors import InputError
from nearfar.model import load, load_target

MODE = "optane-memory-mode,"
TIER = "optane-100,near.kind=tier,"
ABSENT = "or no such key"


@pytest.mark.parametrize(
    ("target", "key", "expected"),
    [
        ("ddr4-2666,imc.domain=eadr", "imc.domain", "machine = 'nvdimm'"),
        ("ddr4-2666,imc.wpq.lines=16", "imc.wpq.lines", "machine = 'nvdimm'"),
        ("cxl-expander,imc.rpq.lines=16", "imc.rpq.lines", "machine = 'nvdimm'"),
        (TIER + "near.ways=4", "near.ways", "near.kind = 'cache'"),
        (TIER + "near.app_direct=4KiB", "near.app_direct", "near.kind = 'cache'"),
        (TIER + "near.queue.read=4", "near.queue.read", "near.kind = 'cache'"),
        ("optane-100,cpu.prefetch.degree=4", "cpu.prefetch.degree", "cpu.prefetch.stream = true"),
        (
            "optane-100,nvdimm.ait.data_latency=1us",
            "nvdimm.buffer.2.data_latency",
            "sector or page",
        ),
        ("optane-100,nvdimm.wear.writes=0,nvdimm.wear.stall=1us", "nvdimm.wear.stall", "1 or more"),
        (
            "ddr4-2666,dram.refresh.enabled=false,dram.refresh.postpone=2",
            "dram.refresh.postpone",
            "dram.refresh.enabled = true",
        ),
        (
            "optane-100,cpu.core.kind=simple,cpu.core.rob=64",
            "cpu.core.rob",
            "cpu.core.kind = window",
        ),
    ],
)
def test_a_key_of_an_absent_part_is_refused(target: str, key: str, expected: str) -> None:
    with pytest.raises(InputError) as error:
        load_target(f"model:{target}")
    message = str(error.value)
    assert f"found {key} " in message
    assert f"{expected} {ABSENT}" in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (MODE + "near.write=through,near.dirty=sector", "expected line: what is written through"),
        (MODE + "imc.domain=eadr", "expected adr: in Memory Mode nothing survives"),
        (TIER + "near.capacity=1TiB", "expected at most the near DRAM (8 GiB)"),
    ],
)
def test_values_that_contradict_each_other_are_refused(target: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        load_target(f"model:{target}")
    assert message in str(error.value)


@pytest.mark.parametrize(
    "target",
    [
        MODE + "near.kind=tier",
        MODE + "imc.domain=eadr,near.app_direct=4GiB",
        "optane-100-remote,link.directory.kept=none",
        "optane-100,nvdimm.wear.writes=0",
        "optane-100,cpu.prefetch.stream=true,cpu.prefetch.degree=4",
        "ddr4-2666,dram.refresh.enabled=false",
    ],
)
def test_the_keys_of_a_part_go_when_the_part_is_switched_off(target: str) -> None:
    load_target(f"model:{target}")


def test_a_flat_tier_has_all_of_its_dram_and_nothing_of_a_cache() -> None:
    tier = load("optane-memory-mode").override("near.kind=tier")
    keys = [key for key in tier.values if key.startswith("near.") and ".dram." not in key]
    assert keys == ["near.kind", "near.channels", "near.interleave", "near.capacity"]
    assert tier["near.capacity"] == 192 << 30


def test_a_file_may_describe_a_part_that_it_switches_off(tmp_path: Path) -> None:
    file = tmp_path / "off.toml"
    file.write_text('base = "ddr4-2666"\n[cpu.prefetch]\nstream = false\ndegree = 4\n')
    assert load(file).override("cpu.prefetch.stream=true")["cpu.prefetch.degree"] == 4
