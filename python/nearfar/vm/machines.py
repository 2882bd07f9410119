"""The virtual machines of this user whose guests' memory is on two tiers.

Nothing is written down about them: what runs is found among the trees on two tiers, by what QEMU
was started with. So machines whose launcher was killed are found, and those of libvirt.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nearfar.errors import InputError, NearfarError, suggestion
from nearfar.tier.client import Running, running
from nearfar.tier.launch import GUEST
from nearfar.vm.monitor import VARIABLE, state
from nearfar.vm.qmp import connected
from nearfar.vm.words import is_qemu, machine_name

SCHEMA = "nearfar/vm-stats/1"
UNKNOWN = "unknown"  # the state of a machine that has no QMP socket of ours
SILENT = "silent"  # of one whose QEMU does not answer


@dataclass(frozen=True)
class RunningMachine:
    """A machine that runs: its name, QEMU's number, the bytes of each block of its guest's memory
    at its start, its tree, and the path of its QMP socket, empty if it has none of ours."""

    name: str
    process: int
    blocks: tuple[int, ...]
    tree: Running
    socket: str

    @property
    def guest_bytes(self) -> int:
        """All of its guest's memory at its start."""
        return sum(self.blocks)

    def stats(self) -> dict[str, Any]:
        """What it has near and far, and what was counted, as JSON has it."""
        return {
            "schema": SCHEMA,
            "name": self.name,
            "qemu": self.process,
            "guest_bytes": self.guest_bytes,
            **self._state(),
            **{name: value for name, value in self.tree.stats.items() if name != "schema"},
        }

    def set_near(self, near_bytes: int) -> RunningMachine:
        """Give it another limit and wait until it holds. Raises what its tree raises."""
        stats = self.tree.ask(do="set", near_bytes=near_bytes)
        return replace(self, tree=Running(stats, self.tree.folder))

    def _state(self) -> dict[str, Any]:
        found: dict[str, Any] = dict.fromkeys(("plugged_bytes", "unmanaged_guest_bytes"))
        found["state"] = UNKNOWN
        if self.socket:
            try:
                with connected(self.socket) as qmp:
                    outside = bool(self.tree.stats.get("attached"))
                    found = state(qmp, self.blocks, outside=outside)
            except (OSError, NearfarError):
                found["state"] = SILENT
        return found


def running_machines() -> list[RunningMachine]:
    """All machines of this user, by name."""
    found = [machine for tree in running() for machine in _machines(tree)]
    return sorted(found, key=lambda machine: (machine.name, machine.process))


def running_named(name: str) -> RunningMachine | None:
    """The machine of that name, if it runs."""
    return next((machine for machine in running_machines() if machine.name == name), None)


def find_machine(name: str) -> RunningMachine:
    """The machine of that name, or of that number of QEMU's or its launcher's. InputError."""
    machines = running_machines()
    for machine in machines:
        if name in (machine.name, str(machine.process), str(machine.tree.process)):
            return machine
    if not machines:
        raise InputError(f"{name}: no machine of this user runs on two tiers")
    names = [machine.name for machine in machines]
    raise InputError(
        f"{name}: found no such machine on two tiers, expected one of {', '.join(names)}"
        f"{suggestion(name, names)}"
    )


def _machines(tree: Running) -> Iterator[RunningMachine]:
    """Of a tree: its process that is a QEMU, if there is one."""
    outside = tuple(tree.stats.get("guest_blocks", ()))  # of a machine managed from outside
    for part in tree.stats["processes"]:
        with contextlib.suppress(OSError, ValueError):
            variables = _variables(part["process"])
            if GUEST not in variables and not outside:
                continue
            folder = Path(f"/proc/{part['process']}")
            words = [os.fsdecode(w) for w in (folder / "cmdline").read_bytes().split(b"\0")[:-1]]
            blocks = outside or tuple(int(size) for size in variables[GUEST].split(","))
            if not words or not is_qemu(words[0]):
                continue  # it is about to end, or QEMU has started it
            name = machine_name(words) or str(part["process"])
            path = variables.get(VARIABLE, "")
            yield RunningMachine(name, part["process"], blocks, tree, path)
            return


def _variables(process: int) -> Mapping[str, str]:
    entries = Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
    pairs = (os.fsdecode(entry).partition("=") for entry in entries)
    return {name: value for name, equals, value in pairs if equals}
