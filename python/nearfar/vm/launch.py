"""Starts a virtual machine whose guest's memory is on two tiers, and waits for it."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from nearfar.errors import InputError
from nearfar.tier import far_names
from nearfar.tier.far import LARGEST, compressed
from nearfar.tier.launch import LaunchOptions
from nearfar.tier.launch import run as launch
from nearfar.tier.outcome import Outcome, mib
from nearfar.vm.machines import running_named
from nearfar.vm.monitor import VARIABLE, monitored
from nearfar.vm.near import Near
from nearfar.vm.words import read_words

_MEMORY = ("SC_PHYS_PAGES", "SC_PAGE_SIZE")


@dataclass(frozen=True)
class Qemu:
    """A QEMU that was found: the file, its words with the name in front, and whether it names a
    dynamic linker."""

    file: str
    words: tuple[str, ...]
    dynamic: bool


def run_machine(qemu: Qemu, near: Near, far: str, options: LaunchOptions) -> Outcome:
    """Run QEMU with at most `near` of its guest's memory near; wait for it.

    What QEMU has for itself stays outside. The machine has the name that its words give it, or one
    with this process's number; `far` and `options` are those of a program on two tiers.

    Raises InputError for a guest whose memory cannot be managed or that is larger than both tiers,
    a near memory that is too small, or a name that another machine has; NearfarError if this
    machine cannot.
    """
    machine = read_words(qemu.words)
    near_bytes = near.of(machine.guest_bytes)
    _refuse_too_large(machine.guest_bytes, near_bytes, far, options.compress)
    name = machine.name or f"vm-{os.getpid()}"
    _refuse_second(name)
    with monitored() as monitor:
        outcome = launch(
            qemu.file,
            [*qemu.words, *([] if machine.name else ["-name", f"guest={name}"]), *monitor.words],
            dynamic=qemu.dynamic,
            near_bytes=near_bytes,
            far=far,
            options=replace(
                options,
                guest=",".join(map(str, machine.blocks)),
                variables={VARIABLE: monitor.path},
                beside=partial(monitor.looking, machine.blocks),
            ),
        )
        if outcome.runs_on:
            monitor.stay()
    if monitor.problem:
        raise InputError(f"{name}: {monitor.problem}; the machine was ended")
    return outcome


def _refuse_second(name: str) -> None:
    other = running_named(name)
    if other is not None:
        raise InputError(
            f"-name {name}: process {other.process} runs a machine of this name on two tiers "
            "already; expected another name"
        )


def _refuse_too_large(guest_bytes: int, near_bytes: int, far: str, compress: str | None) -> None:
    """Raise InputError for a guest that both tiers together have no room for. Far memory that is
    compressed has room for as much as its pages leave, which is not known before."""
    place, compression = compressed(far, compress)
    if compression != "none":
        return
    room = min(_room(place, near_bytes), LARGEST)
    if guest_bytes > near_bytes + room:
        raise InputError(
            f"found a guest of {mib(guest_bytes)}, expected at most {mib(near_bytes + room)}: "
            f"--near {mib(near_bytes)}, and {mib(room)} of --far {far}"
        )


def _room(place: str, near_bytes: int) -> int:
    """The bytes that far memory has room for."""
    match far_names.backing(far_names.kind_of(place)):
        case "memory":
            return max(0, os.sysconf(_MEMORY[0]) * os.sysconf(_MEMORY[1]) - near_bytes)
        case "node":
            return _of_node(place.removeprefix(far_names.NODE))
        case _:
            folder = Path(place).resolve().parent
            if not folder.is_dir():
                return LARGEST  # what cannot be made is refused when it is to be made
            free = os.statvfs(folder)
            return free.f_bavail * free.f_frsize


def _of_node(number: str) -> int:
    try:
        text = Path(f"/sys/devices/system/node/node{number}/meminfo").read_text(encoding="ascii")
    except OSError:
        return LARGEST  # no such node, or no NUMA: refused when it is to be opened
    for line in text.splitlines():
        if "MemTotal:" in line:
            return int(line.split()[-2]) << 10
    return LARGEST
