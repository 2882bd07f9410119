"""Targets inside the kernel: how they are named, and what stands in their way."""

from __future__ import annotations

import ctypes
import errno
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, cast

import pytest

from nearfar import InputError
from nearfar.measuring import Chase, Contention, Effort, Loaded, Stream, machine, measure
from nearfar.measuring.kernel import device, protocol
from nearfar.measuring.kernel.core import KernelCore, dax_bytes
from nearfar.measuring.kernel.target import Kernel, parse_kernel

MODULE = Path(__file__).resolve().parents[3] / "integrations" / "linux-module"
STRUCTS = {
    "nearfar_info": protocol.Info,
    "nearfar_memory": protocol.Place,
    "nearfar_chunk": protocol.Chunk,
    "nearfar_run": protocol.Run,
    "nearfar_chase": protocol.Chase,
    "nearfar_stream": protocol.Stream,
    "nearfar_overwrite": protocol.Overwrite,
    "nearfar_follow": protocol.Follow,
    "nearfar_drop": protocol.Drop,
    "nearfar_contention": protocol.Contention,
}
COMMANDS = {
    "NEARFAR_IOC_INFO": protocol.Info,
    "NEARFAR_IOC_MEMORY": protocol.Place,
    "NEARFAR_IOC_CHASE": protocol.Chase,
    "NEARFAR_IOC_STREAM": protocol.Stream,
    "NEARFAR_IOC_OVERWRITE": protocol.Overwrite,
    "NEARFAR_IOC_FOLLOW": protocol.Follow,
    "NEARFAR_IOC_DROP": protocol.Drop,
    "NEARFAR_IOC_CONTENTION": protocol.Contention,
}
NUMBERS = {
    "NEARFAR_PROTOCOL": protocol.PROTOCOL,
    "NEARFAR_MOST_ALLOCATED": protocol.MOST_ALLOCATED,
    "NEARFAR_MOST_CHUNKS": protocol.MOST_CHUNKS,
    "NEARFAR_MOST_PAUSE_PS": protocol.MOST_PAUSE_PS,
    "NEARFAR_DAX": protocol.DAX,
    "NEARFAR_SMALL_PAGES": protocol.SMALL_PAGES,
    "NEARFAR_TABLE": protocol.TABLE,
    "NEARFAR_HAS_HELD": protocol.HAS_HELD,
    "NEARFAR_READS": protocol.READS,
    "NEARFAR_GENERATES": protocol.GENERATES,
    "NEARFAR_CHASES": protocol.CHASES,
    "NEARFAR_DISTURBS": protocol.DISTURBS,
    "NEARFAR_OPS": len(protocol.OPS),
    "NEARFAR_STORE": protocol.OPS.index("store"),
    "NEARFAR_STORE_CLFLUSHOPT": protocol.OPS.index("store+clflushopt"),
    "NEARFAR_CPUID": protocol.FENCES.index("cpuid"),
    "NEARFAR_FENCE_BLOCK": protocol.FENCE_PLACES.index("block"),
    "NEARFAR_HAS_SSE41": protocol.FEATURES["sse41"],
    "NEARFAR_HAS_AVX512": protocol.FEATURES["avx512f"],
}


def numbers_of(expressions: list[str], folder: Path) -> list[int]:
    """What expressions are worth in C, with the module's header."""
    prints = "".join(f'  printf("%lu\\n", (unsigned long)({one}));\n' for one in expressions)
    program = folder / "numbers.c"
    program.write_text(
        '#include "nearfar_ioctl.h"\n#include <stddef.h>\n#include <stdio.h>\n'
        f"int main(void) {{\n{prints}}}\n"
    )
    subprocess.run(["cc", f"-I{MODULE}", "-o", folder / "numbers", program], check=True)
    done = subprocess.run([folder / "numbers"], check=True, capture_output=True, text=True)
    return [int(line) for line in done.stdout.split()]


def test_python_and_c_say_the_same_protocol(tmp_path: Path) -> None:
    expected = dict(NUMBERS)
    for name, struct in STRUCTS.items():
        expected[f"sizeof(struct {name})"] = ctypes.sizeof(struct)
        for field in struct._fields_:
            at = getattr(struct, field[0]).offset
            expected[f"offsetof(struct {name}, {field[0]})"] = at
    for name, struct in COMMANDS.items():
        expected[name] = protocol.command(struct)
    assert dict(zip(expected, numbers_of(list(expected), tmp_path), strict=True)) == expected


@pytest.mark.parametrize(
    "spec",
    [
        "kernel",
        "kernel:node=1",
        "kernel:pages=4KiB",
        "kernel:dax=/dev/dax0.0",
        "kernel:range=0x40000000",
    ],
)
def test_a_target_is_named_as_it_is_written(spec: str) -> None:
    assert parse_kernel(spec).spec() == spec


@pytest.mark.parametrize(
    ("spec", "line"),
    [
        ("kernel:", "found target 'kernel:', expected kernel"),
        ("kernel:rnge=1", "unknown 'rnge', .* did you mean range"),
        ("kernel:range=", "'range' has no value"),
        ("kernel:range=here", "found range 'here', expected a whole number"),
        ("kernel:range=+4096", r"found range '\+4096', expected a whole number"),
        ("kernel:range=4_096", "found range '4_096', expected a whole number"),
        ("kernel:node=+1", r"found node '\+1', expected a whole number"),
        ("kernel:range=100", "100 is not a multiple of 4096"),
        ("kernel:node=1,node=2", "'node' is given twice"),
        ("kernel:node=1,range=4096", "found 2 places, expected one"),
        ("kernel:pages=1GiB", "found pages '1GiB', expected one of 2MiB, 4KiB"),
        ("kernel:range=4096,pages=4KiB", "leave out pages"),
    ],
)
def test_a_mistake_in_a_target_is_one_line(spec: str, line: str) -> None:
    with pytest.raises(InputError, match=line) as raised:
        measure(spec, Chase(region="4KiB"))
    assert "\n" not in str(raised.value)


def test_without_the_module_the_line_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not loaded; build and load it: make -C integrations"):
        device.Device(str(tmp_path / "nearfar"))


def test_only_root_may_and_others_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(path: str, _flags: int) -> int:
        raise OSError(errno.EACCES, os.strerror(errno.EACCES), path)

    monkeypatch.setattr(device.os, "open", refused)
    with pytest.raises(InputError, match="opens for root alone; run this command as root"):
        device.Device(str(tmp_path))


def test_a_module_of_another_version_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(_fd: int, _command: int, info: protocol.Info, _change: bool) -> int:
        info.protocol = protocol.PROTOCOL + 1
        return 0

    monkeypatch.setattr(device.fcntl, "ioctl", answer)
    (tmp_path / "nearfar").touch()
    with pytest.raises(InputError, match="speaks protocol 2, this nearfar 1; build and load"):
        device.Device(str(tmp_path / "nearfar"))


def test_what_is_no_dax_device_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"found no DAX device, expected one such as /dev/dax0\.0"):
        dax_bytes("/dev/null")
    with pytest.raises(InputError, match="No such file"):
        dax_bytes(str(tmp_path / "dax0.0"))


class FakeDevice:
    """Takes every call and answers two timings for it."""

    asked: ClassVar[list[ctypes.Structure]] = []
    info = protocol.Info(protocol=1, features=31, tsc_khz=2_000_000, overhead=(20, 24, 40))

    def ask(self, struct: ctypes.Structure, _meanings: object = None) -> None:
        self.asked.append(struct)
        run = getattr(struct, "run", None)
        if isinstance(struct, protocol.Contention) and struct.role != protocol.READS:
            struct.lines, struct.stored, struct.cycles = 4000, 1000, 20_000
        elif run is not None:
            chunks = (protocol.Chunk * run.room).from_address(run.chunks)
            chunks[0] = protocol.Chunk(2000, 10, 0)
            chunks[1] = protocol.Chunk(4000, 10, 10)
            run.made = 2

    def ns(self, cycles: int) -> float:
        return cycles / 2


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[ctypes.Structure]:
    """The calls made of a device that is not there; two processors are."""

    def module(self: Kernel) -> KernelCore:
        return KernelCore(self, cast("type[device.Device]", FakeDevice))

    monkeypatch.setattr(Kernel, "module", module)
    monkeypatch.setattr(machine, "processors", lambda: [*os.sched_getaffinity(0)] * 2)
    FakeDevice.asked.clear()
    return FakeDevice.asked


def test_threads_of_a_stream_begin_together_each_in_its_own_area(
    asked: list[ctypes.Structure],
) -> None:
    pattern = Stream(op="load", area="1MiB", threads=2, lines=32768)
    measure("kernel", pattern, effort=Effort(1, 1))
    runs = [one for one in asked if isinstance(one, protocol.Stream)]
    assert sorted(one.run.base for one in runs) == [0, 1 << 20]
    assert [one.run.members for one in runs] == [2, 2]
    assert len({one.seed for one in runs}) == 2


def test_cycles_of_the_module_are_told_in_ns(asked: list[ctypes.Structure]) -> None:
    result = measure("kernel", Chase(region="4KiB", op="load", lines=64), effort=Effort(1, 1))
    # 2000 cycles at 2 GHz for 10 lines, and 4000 for 10.
    assert 100 <= result.points[0].ns_per_line <= 200
    assert result.environment.timer is not None
    assert "2000.0 MHz; a reading costs 12.0 ns (10.0 to 20.0)" in result.environment.timer
    assert [type(one) for one in asked][-1] is protocol.Chase


def test_a_node_without_memory_is_named_before_anything_is_allocated(
    asked: list[ctypes.Structure], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "memory_nodes", lambda: [0, 2])
    with pytest.raises(InputError, match="no memory on node 9; this machine has it on 0, 2"):
        measure("kernel:node=9", Chase(region="4KiB"))
    with pytest.raises(InputError, match="no memory on node 9"):
        KernelCore(Kernel(node=9), cast("type[device.Device]", FakeDevice)).obtainable()
    assert not asked


def others(asked: list[ctypes.Structure]) -> list[protocol.Contention]:
    """The calls of those beside the last reader."""
    calls = [one for one in asked if isinstance(one, protocol.Contention)]
    assert [one.role for one in calls].count(protocol.READS) >= 1
    return [one for one in calls if one.role != protocol.READS]


def test_a_reader_and_a_chaser_contend_each_in_its_own_area(asked: list[ctypes.Structure]) -> None:
    pattern = Contention(other="load", delay="20ns", area="1MiB", reads=100)
    result = measure("kernel", pattern, effort=Effort(1, 1))
    (other,) = others(asked)
    reader = next(one for one in asked if isinstance(one, protocol.Contention) and one.reads)
    assert (other.role, other.pause_ps, other.area) == (protocol.CHASES, 20_000, 1 << 20)
    assert {reader.run.base, other.run.base} == {0, 1 << 20}
    assert {reader.run.members, other.run.members} == {2}
    # 4000 lines in 20,000 cycles at 2 GHz.
    assert result.points[0].other_gb_per_s == pytest.approx(4000 * 64 / 10_000)


def test_stores_of_a_disturber_are_those_that_were_asked_for(asked: list[ctypes.Structure]) -> None:
    measure("kernel", Contention(other="ntstore", area="1MiB", reads=100), effort=Effort(1, 1))
    (other,) = others(asked)
    assert (other.role, other.op) == (protocol.DISTURBS, protocol.OPS.index("ntstore"))


@pytest.mark.usefixtures("asked")
def test_a_pause_longer_than_the_module_takes_is_one_line() -> None:
    pattern = Contention(other="ntstore", delay="2s", area="1MiB", reads=100)
    with pytest.raises(InputError, match=r"delay: found 2e\+09 ns, expected at most 1 s"):
        measure("kernel", pattern, effort=Effort(1, 1))


def test_a_loaded_curve_has_its_generators_at_the_paces_of_its_rates(
    asked: list[ctypes.Structure],
) -> None:
    pattern = Loaded(reads=(75,), points=3, threads=1, area="1MiB", lines=100)
    result = measure("kernel", pattern, effort=Effort(1, 1))
    generators = others(asked)
    assert {one.role for one in generators} == {protocol.GENERATES}
    assert {(one.stores, one.accesses) for one in generators} == {pattern.mix(75)}
    # Of a line that is stored, both ways count: 3000 loads, 1000 stores, in 10,000 ns.
    unpaced, paced, idle = result.points
    assert unpaced.write_gb_per_s == pytest.approx(1000 * 64 / 10_000)
    assert unpaced.read_gb_per_s == pytest.approx(unpaced.gb_per_s + 4000 * 64 / 10_000)
    assert paced.delay_ns is not None
    assert {one.pause_ps for one in generators} == {0, round(1000 * paced.delay_ns)}
    assert idle.delay_ns is None
    assert idle.write_gb_per_s == 0


class FullDevice(FakeDevice):
    """Finds no room for the timings of any call."""

    def ask(self, struct: ctypes.Structure, meanings: Mapping[int, str] | None = None) -> None:
        super().ask(struct)
        if hasattr(struct, "run"):
            raise InputError(device.refusal(errno.ENOSPC, meanings))


@pytest.mark.parametrize(
    ("pattern", "room"),
    [(Stream(op="load", area="1MiB"), 65536), (Chase(region="4KiB", lines=64), 16384)],
)
def test_a_call_with_too_many_timings_says_how_many_it_had_room_for(
    pattern: Chase | Stream, room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = cast("type[device.Device]", FullDevice)
    monkeypatch.setattr(Kernel, "module", lambda self: KernelCore(self, full))
    with pytest.raises(InputError, match=f"more than {room} timings in one call"):
        measure("kernel", pattern, effort=Effort(1, 1))


def made(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", "-s", "-C", MODULE, *words], capture_output=True, text=True, check=False
    )


def test_a_module_for_another_kernel_is_not_loaded(tmp_path: Path) -> None:
    (tmp_path / "nearfar.ko").write_bytes(b"\0vermagic=1.2.3-other SMP mod_unload\0")
    done = made("load", f"OUT={tmp_path}")
    assert done.returncode != 0
    assert "nearfar.ko was built for kernel 1.2.3-other, this is" in done.stderr


def test_without_headers_make_says_what_to_install() -> None:
    done = made("KERNEL=1.2.3-other")
    assert done.returncode != 0
    assert "apt-get install linux-headers-1.2.3-other" in done.stderr


def test_what_dkms_builds_from_is_complete_and_of_this_version(tmp_path: Path) -> None:
    from nearfar import __version__

    done = made("dkms", f"DKMS_TREE={tmp_path / 'tree'}")
    assert done.returncode == 0, done.stderr
    assert f"dkms install nearfar/{__version__}" in done.stdout
    assert f'PACKAGE_VERSION="{__version__}"' in (MODULE / "dkms.conf").read_text()
    for name in ("Kbuild", "Makefile", "dkms.conf", "device.c", "core/probe/kernels.cpp"):
        assert (tmp_path / "tree" / name).exists()
