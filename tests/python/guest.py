"""A virtual machine with Debian's kernel and the Linux module, interpreted by QEMU.

Programs in it print what they find; calls of the module are carried in over a serial line.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
import shutil
import socket
import struct
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from nearfar.errors import InputError
from nearfar.measuring.kernel import device, protocol

ROOT = Path(__file__).resolve().parents[2]
MODULE = ROOT / "integrations" / "linux-module"
PROGRAMS = ROOT / "tests" / "integrations" / "linux-module"
RESERVED = 0x30000000
KERNEL_WORDS = (
    "console=ttyS0 loglevel=4 panic=-1 oops=panic panic_on_warn=1 slub_debug=FZPU page_poison=1 "
    "no_timer_check "  # a machine under load may miss the ticks that the check waits for
    "memmap=32M$0x30000000 memmap=64M!0x34000000"
)
SECONDS = 1800  # for a machine that is loaded
_DRIVERS = ("libnvdimm", "nd_btt", "nd_e820", "nd_pmem", "device_dax", "dax_pmem")
_NONE = (1 << 64) - 1

# The reserved memory marked "!" is made a DAX device, as ndctl does it.
_INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t devtmpfs none /dev
mount -t proc none /proc
mount -t sysfs none /sys
for driver in {drivers}; do insmod /drivers/$driver.ko; done
insmod /nearfar.ko
nd=/sys/bus/nd
echo namespace0.0 >$nd/drivers/nd_pmem/unbind
echo pmem >$nd/devices/dax0.0/mode
echo 2097152 >$nd/devices/dax0.0/align
echo 6e656172-6661-7200-0000-000000000001 >$nd/devices/dax0.0/uuid
echo namespace0.0 >$nd/devices/dax0.0/namespace
echo dax0.0 >$nd/drivers/dax_pmem/bind
echo "checks begin"
checks
echo "checks end with $?"
storm {calls}
echo "storm ends with $?"
relay /dev/ttyS1
rmmod nearfar && echo "module unloaded"
grep -q nearfar /proc/iomem || echo "reservation given back"
dmesg | grep -E 'BUG|WARNING|Oops'
echo "machine ends"
poweroff -f
"""


def kernel_folder() -> Path:
    """Debian's kernel that the installed headers belong to. Skips without them."""
    if not list(Path("/usr/src").glob("linux-headers-*-amd64/Makefile")):
        pytest.skip("no headers of Debian's kernel (linux-headers-amd64)")
    if shutil.which("qemu-system-x86_64") is None or shutil.which("busybox") is None:
        pytest.skip("no virtual machine (qemu-system-x86, busybox-static)")
    done = subprocess.run(
        [ROOT / "scripts" / "guest-kernel"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip())


def build_module(folder: Path, release: str) -> Path:
    """The module for a kernel, stripped; built in `folder`."""
    words = ["make", "-s", "-j2", "-C", MODULE, f"KERNEL={release}", f"OUT={folder}"]
    words.append(f"HEADERS=/usr/src/linux-headers-{release}")
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    subprocess.run(["strip", "-g", folder / "nearfar.ko"], check=True)
    return folder / "nearfar.ko"


def _program(name: str, folder: Path, *others: Path) -> None:
    words = [*("g++", "-std=c++20", "-O1", "-static", "-Wall", "-Wextra", "-Werror")]
    words += ["-Wno-missing-field-initializers", f"-I{MODULE}", f"-I{ROOT / 'core'}"]
    subprocess.run([*words, "-o", folder / name, PROGRAMS / f"{name}.cpp", *others], check=True)


class Guest:
    """The machine, from its boot on: runs the checks, then `calls` random calls, then relays."""

    def __init__(self, folder: Path, calls: int) -> None:
        self._kernel = kernel_folder()
        self._folder = folder
        self._pack(calls)
        self._said = (folder / "console").open("w")
        ours, theirs = socket.socketpair()
        self._line = ours
        self._ready, self._ended = False, False
        self._sending, self._receiving = threading.Lock(), threading.Lock()
        self._asked: dict[int, tuple[int, int]] = {}  # bytes of the structure, room for timings
        self._answers: dict[int, tuple[int, bytes, bytes]] = {}
        self._calls = 0
        words = "-accel tcg,thread=multi -cpu max,-erms,-fsrm -smp 2 -m 1G -display none -no-reboot"
        self._machine = subprocess.Popen(
            [
                *("qemu-system-x86_64", *words.split(), "-nic", "none", "-serial", "stdio"),
                *("-chardev", f"socket,id=line,fd={theirs.fileno()}", "-serial", "chardev:line"),
                *("-kernel", self._kernel / "vmlinuz", "-initrd", folder / "initrd"),
                *("-append", KERNEL_WORDS),
            ],
            stdin=subprocess.DEVNULL,
            stdout=self._said,
            stderr=subprocess.STDOUT,
            pass_fds=[theirs.fileno()],
        )
        theirs.close()
        self._line.settimeout(SECONDS)

    def _pack(self, calls: int) -> None:
        root = self._folder / "root"
        for name in ("bin", "drivers", "proc", "sys", "dev"):
            (root / name).mkdir(parents=True)
        shutil.copy(shutil.which("busybox") or "", root / "bin" / "busybox")
        for name in _DRIVERS:
            (found,) = self._kernel.rglob(f"{name}.ko")
            shutil.copy(found, root / "drivers")
        shutil.copy(build_module(self._folder / "module", self._kernel.name), root)
        kernels = ROOT / "core" / "probe" / "kernels.cpp"
        contention = PROGRAMS / "contention.cpp"
        _program("checks", root / "bin", contention, MODULE / "access.cpp", kernels)
        _program("storm", root / "bin")
        _program("relay", root / "bin")
        (root / "init").write_text(_INIT.format(drivers=" ".join(_DRIVERS), calls=calls))
        (root / "init").chmod(0o755)
        names = "\n".join(str(path.relative_to(root)) for path in sorted(root.rglob("*")))
        with (self._folder / "initrd").open("wb") as file:
            subprocess.run(
                ["busybox", "cpio", "-o", "-H", "newc"],
                cwd=root, input=names.encode(), stdout=file, stderr=subprocess.DEVNULL, check=True,
            )  # fmt: skip

    def console(self) -> str:
        """What has been said so far."""
        return (self._folder / "console").read_text(errors="replace").replace("\r", "")

    def end(self) -> str:
        """What was said in all. The line is closed, so that the relay ends."""
        self.call(_NONE - 1, b"")
        self._ended = True
        self._machine.wait(SECONDS)
        return self.console()

    def is_there(self) -> bool:
        """Whether the machine still takes calls."""
        return not self._ended

    def kill(self) -> None:
        """Ends the machine if it still runs."""
        self._ended = True
        if self._machine.poll() is None:
            self._machine.kill()
            self._machine.wait()
        self._line.close()
        self._said.close()

    def call(
        self,
        command: int,
        structure: bytes,
        *,
        descriptor: int = _NONE,
        sent: tuple[int, bytes] = (_NONE, b""),
        timings: int = 0,
        dax_at: int = _NONE,
    ) -> tuple[int, bytes, bytes]:
        """The result or the negative error, the structure, and the timings. Threads may call."""
        at, bytes_ = sent
        with self._sending:
            if not self._ready:
                self._ready = self._read(1) == b"!"
            self._calls += 1
            number = self._calls
            self._asked[number] = len(structure), timings
            head = (number, command, descriptor, len(structure), at, len(bytes_), timings, dax_at)
            self._line.sendall(struct.pack("<8Q", *head) + structure + bytes_)
        while True:
            with self._receiving:
                if number in self._answers:
                    return self._answers.pop(number)
                self._receive()

    def _receive(self) -> None:
        number, answer = struct.unpack("<Qq", self._read(16))
        bytes_, timings = self._asked.pop(number)
        structure = self._read(bytes_)
        made = struct.unpack_from("<Q", structure, 32)[0] if timings and answer == 0 else 0
        found = answer, structure, self._read(made * ctypes.sizeof(protocol.Chunk))
        self._answers[number] = found

    def _read(self, count: int) -> bytes:
        found = b""
        while len(found) < count:
            more = self._line.recv(count - len(found))
            assert more, f"the machine has ended:\n{self.console()[-2000:]}"
            found += more
        return found

    def device(self) -> type[device.Device]:
        """Stands for the device in this process: its calls are made in the machine."""
        guest = self

        class Relayed(device.Device):
            def __init__(self) -> None:
                self._descriptor = -1
                self._opened = guest.call(1, b"")[0]
                self.info = protocol.Info()
                self.ask(self.info)

            def __del__(self) -> None:
                if guest.is_there():
                    guest.call(0, b"", descriptor=self._opened)

            def ask(
                self, asked: ctypes.Structure, meanings: Mapping[int, str] | None = None
            ) -> None:
                answer = guest.relay(self._opened, asked)
                if answer < 0:
                    raise InputError(device.refusal(-answer, meanings))

        return Relayed

    def relay(self, descriptor: int, asked: ctypes.Structure) -> int:
        """Makes a call that a client makes; answers its result or the negative error."""
        sent, timings, dax_at = (_NONE, b""), 0, _NONE
        if isinstance(asked, protocol.Follow):
            bytes_ = ctypes.string_at(asked.offsets, 8 * asked.count)
            sent = (protocol.Follow.offsets.offset, bytes_)
        if isinstance(asked, protocol.Place) and asked.kind == protocol.DAX:
            dax_at = protocol.Place.fd.offset
        run = getattr(asked, "run", None)
        if run is not None:
            timings = run.room
            chunks = run.chunks
        answer, structure, made = self.call(
            protocol.command(type(asked)), bytes(asked), descriptor=descriptor, sent=sent,
            timings=timings, dax_at=dax_at,
        )  # fmt: skip
        ctypes.memmove(ctypes.addressof(asked), structure, len(structure))
        if run is not None:
            ctypes.memmove(chunks, made, len(made))
            asked.run.chunks = chunks
        return answer


def checks(console: str) -> list[str]:
    """What the checks in the machine found, a line each."""
    return re.findall(r"^(?:ok|FAILED) .*$", console, re.MULTILINE)


def errors_answered(console: str) -> dict[str, int]:
    """How often random calls were answered by each error; "0" is success."""
    found = re.findall(r"^answered (\w+) (\d+)$", console, re.MULTILINE)
    assert all(name == "0" or hasattr(errno, name) for name, _ in found)
    return {name: int(times) for name, times in found}


def environment_calls(default: int) -> int:
    """How many random calls to make: NEARFAR_MODULE_CALLS, or the default."""
    return int(os.environ.get("NEARFAR_MODULE_CALLS", default))


__all__: Sequence[str] = ("Guest", "checks", "environment_calls", "errors_answered")
