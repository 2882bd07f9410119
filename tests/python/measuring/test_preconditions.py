"""Preconditions are read off the kernel's files and judged; where they say nothing, unknown."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from host_standin import HostStandIn
from nearfar.measuring import conditions, machine, preconditions, prefetchers
from nearfar.results import Precondition

Kernel = Callable[[str, str], None]

BARE = "vendor_id\t: GenuineIntel\nmodel name\t: Xeon\nflags\t\t: fpu sse2\n"
VIRTUAL = BARE.replace("sse2", "sse2 hypervisor")


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Kernel:
    """A machine without any of the kernel's files; call it with a path and what it holds."""
    monkeypatch.setattr(machine, "PROC", tmp_path / "proc")
    monkeypatch.setattr(machine, "SYS", tmp_path / "sys")

    def write(path: str, text: str) -> None:
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    write("proc/cpuinfo", BARE)
    return write


def test_each_precondition_has_its_effect_and_a_bad_one_its_remedy() -> None:
    found = preconditions()
    assert [one.name for one in found] == [
        *("prefetchers", "smt", "governor", "huge pages", "tlb reach"),
        *("migration", "virtualisation", "load", "timer"),
    ]
    for one in found:
        assert one.state in ("ok", "bad", "unknown")
        assert one.found
        assert one.effect
        assert one.state != "bad" or one.mend
        assert one.state != "ok" or not one.mend


@pytest.mark.parametrize(
    ("vendor", "register", "value", "state"),
    [
        ("GenuineIntel", 0x1A4, 0xF, "ok"),
        ("GenuineIntel", 0x1A4, 0x0, "bad"),
        ("GenuineIntel", 0x1A4, 0x3, "bad"),
        ("GenuineIntel", 0x1A4, 0x2F, "ok"),
        ("AuthenticAMD", 0xC0000108, 0x2F, "ok"),
        ("AuthenticAMD", 0xC0000108, 0x0F, "bad"),
    ],
)
def test_prefetchers_are_read_from_their_register(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch, vendor: str, register: int, value: int,
    state: str,
) -> None:  # fmt: skip
    kernel("proc/cpuinfo", BARE.replace("GenuineIntel", vendor))

    def read(_: Path, asked: int) -> int:
        assert asked == register
        return value

    monkeypatch.setattr(prefetchers, "_read", read)
    found = conditions.prefetchers()
    assert found.state == state
    assert (f"wrmsr -a 0x{register:x}" in found.mend) == (state == "bad")


def test_a_register_is_eight_bytes_at_its_number(tmp_path: Path) -> None:
    device = tmp_path / "msr"
    device.write_bytes(bytes(0x1A4) + struct.pack("<Q", 0xF))
    assert prefetchers._read(device, 0x1A4) == 0xF
    with pytest.raises(OSError, match="ends too soon"):
        prefetchers._read(device, 0x1A8)


def test_prefetchers_that_cannot_be_read_are_unknown(kernel: Kernel) -> None:
    on, found, mend = prefetchers.prefetcher_state(Path("/nonexistent"))
    assert on is None
    assert "cannot be read: No such file" in found
    assert mend.startswith("modprobe msr")
    kernel("proc/cpuinfo", VIRTUAL)
    assert conditions.prefetchers().state == "unknown"
    kernel("proc/cpuinfo", BARE.replace("GenuineIntel", "Other"))
    assert "a processor of Other" in conditions.prefetchers().found


@pytest.mark.parametrize(
    ("active", "cpuinfo", "state"),
    [("0", BARE, "ok"), ("1", BARE, "bad"), ("1", VIRTUAL, "bad"), ("0", VIRTUAL, "unknown"),
     (None, BARE, "unknown")],
)  # fmt: skip
def test_the_state_of_smt_follows_the_kernel(
    kernel: Kernel, active: str | None, cpuinfo: str, state: str
) -> None:
    kernel("proc/cpuinfo", cpuinfo)
    if active is not None:
        kernel("sys/devices/system/cpu/smt/active", active + "\n")
    assert conditions.smt().state == state


@pytest.mark.parametrize(
    ("setting", "state"), [("performance", "ok"), ("powersave", "bad"), (None, "unknown")]
)
def test_the_state_of_the_governor_follows_the_kernel(
    kernel: Kernel, setting: str | None, state: str
) -> None:
    if setting is not None:
        kernel("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", setting + "\n")
    found = conditions.governor()
    assert found.state == state
    assert (found.mend == "cpupower frequency-set --governor performance") == (state == "bad")


def test_migration_virtualisation_and_load_are_reported(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel("proc/sys/kernel/numa_balancing", "1\n")
    assert conditions.migration().state == "bad"
    kernel("proc/sys/kernel/numa_balancing", "0\n")
    assert conditions.migration().state == "ok"
    assert conditions.virtualisation().state == "ok"
    kernel("proc/cpuinfo", VIRTUAL)
    kernel("proc/stat", "cpu  10 0 10 70 0 0 0 10 0 0\n")
    assert "10.00% of its time" in conditions.virtualisation().found
    monkeypatch.setattr(machine, "processors", lambda: [0, 1])
    for average, state in ((0.9, "ok"), (1.1, "bad")):
        monkeypatch.setattr(os, "getloadavg", lambda average=average: (average, 0.0, 0.0))
        assert conditions.load().state == state


def of_pages(core: HostStandIn) -> tuple[Precondition, Precondition]:
    huge, reach = conditions.pages(core)
    return huge, reach


def small_above(pages: int, huge_ns: float = 1.0) -> Callable[[str, int], float]:
    """Loads on 4 KiB pages slow down beyond so many pages."""
    return lambda kind, count: huge_ns if kind == "2MiB" else 3.0 if count > pages else 1.0


@pytest.mark.usefixtures("kernel")
def test_huge_pages_are_whole_when_they_spare_translation() -> None:
    core = HostStandIn()
    core.walk_ns = small_above(64)
    huge, reach = of_pages(core)
    assert huge.state == "ok"
    assert "reaches 64 pages of 4 KiB, 256 KiB" in reach.found


def test_huge_pages_that_a_hypervisor_has_split_are_found_out(kernel: Kernel) -> None:
    kernel("proc/cpuinfo", VIRTUAL)
    core = HostStandIn()
    core.walk_ns = lambda _, count: 3.0 if count > 96 else 1.0
    huge, reach = of_pages(core)
    assert huge.state == "bad"
    assert "something splits them" in huge.found
    assert "on its host" in huge.mend
    assert "96 pages" in reach.found


@pytest.mark.usefixtures("kernel")
def test_where_translation_never_shows_nothing_is_claimed() -> None:
    huge, reach = of_pages(HostStandIn())
    assert huge.state == "unknown"
    assert "beyond 256 pages" in reach.found


@pytest.mark.usefixtures("kernel")
def test_pages_are_measured_once() -> None:
    core = HostStandIn()
    of_pages(core)
    maps = len(core.mapped)
    of_pages(core)
    assert len(core.mapped) == maps == 2


def test_without_the_core_pages_and_timer_are_unknown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing() -> None:
        raise ImportError("nearfar._core")

    monkeypatch.setattr(conditions, "load_host_core", missing)
    states = {one.name: one.state for one in preconditions()}
    assert {states[name] for name in ("huge pages", "tlb reach", "timer")} == {"unknown"}


@pytest.mark.usefixtures("kernel")
def test_the_timer_needs_a_constant_rate() -> None:
    core = HostStandIn()
    assert conditions.timer(core).state == "ok"
    core.isa["invariant_tsc"] = False
    assert conditions.timer(core).state == "bad"
    core.isa["rdtscp"] = False
    assert conditions.timer(core).found == "no rdtscp"


# Plain readings


def test_threads_take_whole_cores_first_and_processor_0_late(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3})
    for cpu, siblings in ((0, "0,2"), (1, "1,3"), (2, "0,2"), (3, "1,3")):
        kernel(f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list", siblings + "\n")
    assert machine.processors() == [1, 0, 2, 3]


def test_memory_is_read_from_the_machine_or_the_node(kernel: Kernel) -> None:
    kernel("proc/meminfo", "MemTotal: 9 kB\nMemAvailable:    7 kB\n")
    kernel("sys/devices/system/node/node1/meminfo", "Node 1 MemTotal: 5 kB\nNode 1 MemFree: 3 kB\n")
    kernel("sys/devices/system/node/has_memory", "0-1,4\n")
    assert machine.free_memory(None) == 7 * 1024
    assert machine.free_memory(1) == 3 * 1024
    assert machine.free_memory(2) == 0
    assert machine.memory_nodes() == [0, 1, 4]


def test_huge_pages_cpu_name_and_cache_are_read_from_the_kernel(kernel: Kernel) -> None:
    kernel("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n")
    assert machine.transparent_huge_pages() == "madvise"
    assert machine.cpu_name() == "Xeon"
    kernel("sys/devices/system/cpu/cpu0/cache/index0/size", "48K\n")
    kernel("sys/devices/system/cpu/cpu0/cache/index3/size", "32768K\n")
    assert machine.last_level_cache() == 32 << 20
    assert machine.governor() is None
