"""A Linux guest with a tenth of its memory near, to which memory is added and taken from.

    .venv/bin/python bench/vm_devices.py --kernel vmlinuz --modules lib/modules

Plugs 128 MiB into a guest of 256 MiB that fills both, then has the balloon take memory and give it
back, and saves and loads a snapshot; after each, files in the guest's memory must have the sums
that they have here, and near memory must be within its limit. `--modules` is the folder of the
kernel's modules, such as that of Debian's linux-image-cloud-amd64, unpacked. Exit status 1 if
anything is wrong.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nearfar.vm.machines import running_named
from nearfar.vm.qmp import connected

MIB = 1 << 20
NAME = f"bench-{os.getpid()}"
SIZE = 190_000_000  # of the guest's file: more than its memory without what is plugged in
KEPT = 60_000_000
MODULES = (
    *("virtio", "virtio_ring", "virtio_pci", "virtio_pci_legacy_dev", "virtio_pci_modern_dev"),
    "virtio_balloon",
)
INIT = """#!/bin/busybox sh
export PATH=/bin
/bin/busybox mkdir -p /proc /sys /dev /files
/bin/busybox --install -s /bin
mount -t devtmpfs none /dev
mount -t proc none /proc
mount -t sysfs none /sys
mount -t tmpfs none /files
for turn in 1 2 3; do for module in /modules/*; do insmod $module; done; done 2>/dev/null
stty -echo -F /dev/ttyS0
echo DONE
while read line; do eval "$line"; echo DONE; done
"""


class Guest:
    """A shell in a guest, and the machine around it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.said()

    def said(self) -> list[str]:
        """What it printed until it was done."""
        assert self.process.stdout is not None
        lines: list[str] = []
        for line in self.process.stdout:
            if line.strip() == "DONE":
                return lines
            lines.append(line.strip())
        sys.exit(f"bench/vm_devices.py: the guest has ended: {lines[-3:]}")

    def told(self, line: str) -> list[str]:
        """What it prints when it is told to do that."""
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.said()

    def number(self, line: str) -> int:
        """The first number of what it prints."""
        return int(next(word for word in " ".join(self.told(line)).split() if word.isdecimal()))

    def until(self, memory: Callable[[int], bool]) -> None:
        """Wait until its memory, in KiB, is so."""
        while not memory(self.number("grep MemTotal /proc/meminfo")):
            time.sleep(0.5)

    def ask(self, command: str, **arguments: Any) -> None:
        """Have QEMU do something."""
        machine = running_named(NAME)
        assert machine is not None
        with connected(machine.socket) as qmp:
            if command == "monitor":
                assert qmp.told(arguments["line"]) == ""
            else:
                qmp.ask(command, **arguments)


def numbers(size: int) -> str:
    """The sum of the numbers from 1 on, a line each, cut to so many bytes."""
    digest, left = hashlib.md5(), size
    for begin in itertools.count(1, 100_000):
        text = "".join(f"{n}\n" for n in range(begin, begin + 100_000)).encode()[:left]
        digest.update(text)
        left -= len(text)
        if left == 0:
            return digest.hexdigest()
    raise AssertionError


def checked(guest: Guest, what: str, file: str, expected: str) -> bool:
    """Print a row; whether the file has its sum, and near memory is within its limit."""
    found = guest.told(f"md5sum < /files/{file}")[0].split()[0]
    machine = running_named(NAME)
    assert machine is not None
    stats = machine.stats()
    held = stats["near_peak_bytes"] <= stats["near_limit_bytes"] and stats["over_budget"] == 0
    print(
        f"{what:>22} {stats['near_bytes'] / MIB:7.1f} {stats['near_limit_bytes'] / MIB:7.1f} "
        f"{stats['managed_bytes'] / MIB:9.1f}  {'right' if found == expected else 'WRONG'} "
        f"{'held' if held else 'EXCEEDED'}",
        flush=True,
    )
    return found == expected and held


def play(guest: Guest) -> list[bool]:
    """All that is done to the machine."""
    whole, part = numbers(SIZE), numbers(KEPT)
    before = guest.number("grep MemTotal /proc/meminfo")
    new = {"qom-type": "memory-backend-ram", "id": "m", "size": 128 * MIB}
    guest.ask("object-add", **new)
    guest.ask("device_add", driver="pc-dimm", id="d", memdev="m")
    guest.until(lambda memory: memory >= before + (120 << 10))
    guest.told(f"mount -o remount,size=90% /files; seq 1 32000000 | head -c {SIZE} > /files/a")
    print("                            near   limit   managed  sum   limit")
    good = [checked(guest, "memory was plugged in", "a", whole)]
    guest.told(f"head -c {KEPT} /files/a > /files/b; rm /files/a")
    full = guest.number("grep MemTotal /proc/meminfo")
    guest.ask("balloon", value=200 * MIB)
    guest.until(lambda memory: memory <= full - (180 << 10))
    good.append(checked(guest, "the balloon took some", "b", part))
    guest.ask("balloon", value=384 * MIB)
    guest.until(lambda memory: memory == full)
    good.append(checked(guest, "the balloon gave it back", "b", part))
    guest.ask("monitor", line="savevm before")
    guest.told("echo changed > /files/b")
    guest.ask("monitor", line="loadvm before")
    good.append(checked(guest, "a snapshot was loaded", "b", part))
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernel", required=True)
    parser.add_argument("--modules", required=True, type=Path)
    args = parser.parse_args()
    busybox = shutil.which("busybox") or sys.exit("bench/vm_devices.py: no busybox-static")
    with tempfile.TemporaryDirectory(prefix="nearfar-vm-") as name:
        root, initrd = Path(name, "root"), Path(name, "initrd")
        for folder in ("bin", "modules"):
            (root / folder).mkdir(parents=True)
        shutil.copy(busybox, root / "bin")
        for module in MODULES:
            for file in args.modules.rglob(f"{module}.ko"):
                shutil.copy(file, root / "modules")
        (root / "init").write_text(INIT)
        (root / "init").chmod(0o755)
        pack = f"find . | {busybox} cpio -o -H newc > {initrd} 2>/dev/null"
        subprocess.run(pack, shell=True, cwd=root, check=True)
        disk = Path(name, "disk")
        disk.write_bytes(bytes(MIB))
        words = [
            *("qemu-system-x86_64", "-accel", "tcg", "-cpu", "max,-erms,-fsrm", "-name", NAME),
            *("-m", "256M,slots=1,maxmem=1G", "-device", "virtio-balloon-pci"),
            *("-display", "none", "-no-reboot", "-nic", "none", "-serial", "stdio"),
            *("-drive", f"format=raw,file={disk},snapshot=on"),
            *("-kernel", args.kernel, "-initrd", str(initrd)),
            *("-append", "console=ttyS0 loglevel=3 panic=-1 memhp_default_state=online"),
        ]
        tiers = ("--near", "10%", "--far", "anonymous", "--quiet")
        command = [sys.executable, "-m", "nearfar", "vm", "run", *tiers, "--", *words]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, text=True, stdin=pipe, stdout=pipe) as process:
            good = play(Guest(process))
            assert process.stdin is not None
            process.stdin.write("poweroff -f\n")
            process.stdin.close()
        if process.returncode != 0:
            print(f"bench/vm_devices.py: the machine ended with status {process.returncode}")
    return 0 if all(good) and process.returncode == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
