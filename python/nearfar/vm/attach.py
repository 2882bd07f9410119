"""Machines that run already.

Where far memory is a node, their guests' pages are moved from outside. Elsewhere they would have to
be taken from QEMU by another process, and come back on a fault of QEMU's: only a userfaultfd of
QEMU's own does that, which the library opens that is loaded when it starts.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar.errors import InputError, suggestion
from nearfar.tier.attach.target import Target
from nearfar.vm.machines import running_machines
from nearfar.vm.outside import guest_target
from nearfar.vm.words import has_qmp, is_qemu, machine_name, read_words


@dataclass(frozen=True)
class Found:
    """A QEMU that runs: its number, its words, and its machine's name."""

    process: int
    words: Sequence[str]

    @property
    def name(self) -> str:
        """As `nearfar vm` names it."""
        return machine_name(self.words) or str(self.process)


def find_qemu(name: str) -> Found:
    """The QEMU whose machine has that name, or that has that number. Raises InputError if there is
    none, it is managed already, or it has no QMP."""
    for machine in running_machines():
        if name in (machine.name, str(machine.process), str(machine.tree.process)):
            raise InputError(
                f"{name}: process {machine.tree.process} manages its memory already; "
                f"`nearfar vm set` changes its share"
            )
    qemus = _qemus()
    found = next((qemu for qemu in qemus if name in (qemu.name, str(qemu.process))), None)
    if found is None:
        hint = suggestion(name, [qemu.name for qemu in qemus])
        raise InputError(f"{name}: found no QEMU of that name or number{hint}")
    if not has_qmp(found.words):
        raise InputError(
            f"{name}: QEMU (process {found.process}) was started without QMP (-qmp, or -mon with "
            "mode=control), so that nothing tells where its guest's memory is; expected one with it"
        )
    return found


def refusal(name: str) -> InputError:
    """Why the machine of that name, or of that number of QEMU's, cannot be put on far memory that
    is brought in on faults. Raises InputError as `find_qemu` does."""
    found = find_qemu(name)
    return InputError(
        f"{name}: QEMU (process {found.process}) was started without nearfar's library, and no "
        "other process can bring its guest's memory in on a fault; expected one started by "
        "`nearfar vm run`, or by libvirt with the lines of `nearfar vm xml`, or --flat with "
        "--far node:N"
    )


def target_of(found: Found) -> Target:
    """The guest's memory of a QEMU. Raises InputError if it cannot be managed from outside."""
    machine = read_words(found.words, takes_shared=True)
    return guest_target(found.process, machine.blocks, Path(found.words[0]).name)


def _qemus() -> list[Found]:
    """The QEMUs that run, of all users whose words this one may read."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal():
            continue
        with contextlib.suppress(OSError):
            parts = (folder / "cmdline").read_bytes().split(b"\0")[:-1]
            words = [os.fsdecode(part) for part in parts]
            if words and is_qemu(words[0]):
                found.append(Found(int(folder.name), words))
    return found
