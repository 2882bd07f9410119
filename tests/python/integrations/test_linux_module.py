"""The Linux module, in a virtual machine: its rules, its figures, and the front end over it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

import pytest

from guest import RESERVED, Guest, checks, environment_calls, errors_answered
from nearfar import InputError
from nearfar.measuring import (
    Chase,
    Contention,
    Effort,
    Loaded,
    Overwrite,
    Stream,
    machine,
    measure,
)
from nearfar.measuring.kernel import core as kernel_core
from nearfar.measuring.kernel.target import Kernel
from nearfar.probing import aist
from nearfar.probing.probe import probe

CALLS = 4000
# What differs without a leak: slabs that are kept for later, and free pages that each processor
# keeps for itself, up to some 16 MiB. Of pages, a leak in each twentieth call shows among a million
# calls (NEARFAR_MODULE_CALLS).
SLAB_SLACK_KIB, PAGES_SLACK_KIB = 2 << 10, 64 << 10

pytestmark = pytest.mark.timeout(1800)


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guest]:
    machine = Guest(tmp_path_factory.mktemp("guest"), environment_calls(CALLS))
    try:
        yield machine
    finally:
        machine.kill()


def two_processors() -> list[int]:
    """As many as the machine has; calls for the second may come from the first here."""
    return [*sorted(os.sched_getaffinity(0)), *os.sched_getaffinity(0)][:2]


@pytest.fixture
def _by_guest(guest: Guest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Targets that are named here are measured there."""
    device = guest.device()

    def module(self: Kernel) -> kernel_core.KernelCore:
        return kernel_core.KernelCore(self, device)

    monkeypatch.setattr(Kernel, "module", module)
    monkeypatch.setattr(machine, "processors", lambda: sorted(os.sched_getaffinity(0))[:1])
    monkeypatch.setattr(kernel_core, "dax_bytes", lambda _: 60 << 20)
    monkeypatch.setattr("nearfar.measuring.kernel.memory._opened", lambda _: 0)
    monkeypatch.setattr("nearfar.measuring.kernel.memory.os.close", lambda _: None)


@pytest.mark.usefixtures("_by_guest")
@pytest.mark.parametrize(
    "target",
    ["kernel", "kernel:pages=4KiB", f"kernel:range={RESERVED:#x}", "kernel:dax=/dev/dax0.0"],
)
def test_a_chase_is_measured_on_each_kind_of_memory(target: str) -> None:
    pattern = Chase(op="load", region="4KiB,64KiB", regions="repeat", lines=8192)
    result = measure(target, pattern, destructive="/dev/dax0.0" if "dax" in target else None)
    assert [point.region_bytes for point in result.points] == [4 << 10, 64 << 10]
    assert all(point.ns_per_line > 0 and point.nivcsw == 0 for point in result.points)
    assert (result.target.kind, result.target.spec) == ("kernel", target)


@pytest.mark.usefixtures("_by_guest")
def test_every_line_of_a_fresh_chase_is_walked() -> None:
    pattern = Chase(op="ntstore,ntload,raw", region="4KiB", block="256B", lines=4096)
    result = measure("kernel", pattern)
    assert [point.op for point in result.points] == ["ntstore", "ntload", "raw"]
    assert [point.lines for point in result.points] == [4096, 4096, 8192]


@pytest.mark.usefixtures("_by_guest")
def test_every_write_of_an_overwrite_is_a_sample() -> None:
    result = measure("kernel", Overwrite(region="1KiB", writes=1000))
    assert result.samples is not None
    assert len(result.samples) == 1000


@pytest.mark.usefixtures("_by_guest")
def test_a_stream_goes_over_its_lines() -> None:
    result = measure("kernel", Stream(op="load,ntstore", access="256B", area="1MiB", lines=16384))
    assert [point.lines for point in result.points] == [16384, 16384]


@pytest.mark.usefixtures("_by_guest")
def test_a_range_that_nothing_reserves_is_refused_in_one_line() -> None:
    with pytest.raises(InputError, match=r"command line reserves nothing at 0x1000000; boot with"):
        measure("kernel:range=0x1000000", Chase(region="4KiB"))


@pytest.mark.usefixtures("_by_guest")
def test_a_dax_device_is_measured_only_if_it_may_lose_what_it_holds() -> None:
    with pytest.raises(InputError, match=r"to allow that: --destructive /dev/dax0\.0"):
        measure("kernel:dax=/dev/dax0.0", Chase(region="4KiB"))


@pytest.mark.usefixtures("_by_guest")
@pytest.mark.parametrize("other", ["load", "ntstore"])
def test_a_reader_is_timed_beside_another_thread(
    other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "processors", two_processors)
    pattern = Contention(area="64KiB", other=other, delay="200ns", reads=2000)
    (point,) = measure("kernel", pattern, effort=Effort(1, 1)).points
    assert point.lines == 2000
    assert point.ns_per_line > 0
    assert point.other_gb_per_s is not None
    assert 0 < point.other_gb_per_s < 64 / 200 + 0.01


@pytest.mark.usefixtures("_by_guest")
def test_a_curve_of_latency_over_bandwidth_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "processors", two_processors)
    pattern = Loaded(reads=(75,), points=3, area="64KiB", lines=2000)
    unpaced, paced, idle = measure("kernel", pattern, effort=Effort(1, 1)).points
    assert [one.lines for one in (unpaced, paced, idle)] == [2000, 2000, 2000]
    for one in (unpaced, paced):
        assert one.write_gb_per_s is not None
        assert one.write_gb_per_s > 0
    assert idle.write_gb_per_s == 0


@pytest.mark.usefixtures("_by_guest")
def test_a_prober_of_hosts_runs_inside_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aist, "_HOST_REGIONS", ("256KiB", "1MiB"))
    monkeypatch.setattr(aist, "_HOST_AREA", 1 << 20)
    result = probe("kernel", ["aist"], quick=True)
    assert result.target is not None
    assert result.target.kind == "kernel"
    assert {one.prober for one in result.observations} == {"aist"}
    assert result.findings


@pytest.fixture(scope="module")
def console(guest: Guest) -> str:
    """All that was said; comes last, because the machine then ends."""
    return guest.end()


def test_wrong_arguments_are_refused_and_right_ones_measured(console: str) -> None:
    found = checks(console)
    assert [line for line in found if line.startswith("FAILED")] == []
    assert len(found) > 80
    assert "checks end with 0\n" in console


def test_random_calls_do_no_harm_and_lose_no_memory(console: str) -> None:
    answers = errors_answered(console)
    assert sum(answers.values()) == environment_calls(CALLS)
    assert answers["0"] > environment_calls(CALLS) // 20, "hardly any call went through"
    lost = re.search(r"^lost slab_kib=(-?\d+) free_kib=(-?\d+)$", console, re.MULTILINE)
    assert lost is not None
    assert int(lost[1]) < SLAB_SLACK_KIB
    assert int(lost[2]) < PAGES_SLACK_KIB
    assert "storm ends with 0\n" in console


def test_nothing_is_left_when_the_module_has_gone(console: str) -> None:
    assert "module unloaded\nreservation given back\nmachine ends\n" in console
    assert re.findall(r"BUG|WARNING|Oops|Call Trace", console) == []


def test_figures_are_those_of_the_same_code_in_a_process(console: str) -> None:
    found = re.findall(
        r"^latency region_kib=(\d+) module_ns=([\d.]+) process_ns=([\d.]+)$", console, re.MULTILINE
    )
    assert [region for region, _, _ in found] == ["16", "256", "4096"]
    for _, module, process in found:
        assert 0.1 < float(module) / float(process) < 10
