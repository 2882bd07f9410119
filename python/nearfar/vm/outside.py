"""Guests whose memory is managed from outside QEMU: shared with other processes, a file's, or of a
QEMU that was started without nearfar."""

from __future__ import annotations

import contextlib
import os
import queue
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nearfar.errors import InputError
from nearfar.tier.attach.machine import attach_settings
from nearfar.tier.attach.target import Span, Target
from nearfar.tier.flat import FlatOptions
from nearfar.tier.outcome import Outcome, mib
from nearfar.tier.server import serving
from nearfar.tier.waiting import held_back, start, wait_for
from nearfar.vm.monitor import Monitor, unnamed_memory
from nearfar.vm.qmp import Qmp

if TYPE_CHECKING:
    import subprocess

    from nearfar.tier.attach.attached import Attached


@dataclass(frozen=True)
class OutsideMachine:
    """A QEMU to be started: the file, its words, variables that are added to its environment, and
    the bytes of each block of its guest's memory."""

    file: str
    words: Sequence[str]
    variables: Mapping[str, str]
    blocks: tuple[int, ...]


@dataclass(frozen=True)
class _Mapping:
    """Neighbouring lines of a process's maps with the same rights and the same file."""

    begin: int
    end: int
    rights: str
    file: str


def guest_target(process: int, blocks: Sequence[int], program: str) -> Target:
    """The guest's memory of a QEMU that runs, of which each block is a mapping of its own. Raises
    InputError if one is not found."""
    mappings = _mappings(process)
    spans: list[Span] = []
    for block in blocks:
        found = next((one for one in mappings if one.end - one.begin == block), None)
        if found is None:
            raise InputError(
                f"{process}: found no memory of {mib(block)} that QEMU has mapped as a block of "
                "its guest's, as its words say"
            )
        mappings = [one for one in mappings if found.end <= one.begin or one.end <= found.begin]
        spans.append((found.begin, found.end))
    return Target(process, program, tuple(sorted(spans)), tuple(blocks))


def run_outside(
    machine: OutsideMachine, near_bytes: int, far: str, flat: FlatOptions, monitor: Monitor
) -> Outcome:
    """Start QEMU with nothing loaded into it, and keep at most `near_bytes` of its guest's memory
    near from outside; wait for it. Raises what `attach_settings` raises."""
    from nearfar.tier.attach.launch import outcome_outside
    from nearfar.tier.attach.run import managing

    settings = attach_settings(far, flat)
    started: queue.SimpleQueue[subprocess.Popen[bytes]] = queue.SimpleQueue()
    managers: list[Attached] = []
    with held_back() as let_through, contextlib.ExitStack() as stack:

        def begin(qmp: Qmp) -> str:
            """QEMU answers, so its memory is there."""
            problem = unnamed_memory(machine.blocks, qmp)
            if problem:
                return problem
            try:
                target = guest_target(
                    started.get().pid, machine.blocks, Path(machine.words[0]).name
                )
                attached = stack.enter_context(managing(target, near_bytes, settings))
            except InputError as error:
                return str(error)
            stack.enter_context(serving(attached))
            managers.append(attached)
            return ""

        with monitor.looking(begin):
            environment = {**os.environ, **machine.variables}
            process = start(machine.words, machine.file, let_through, environment)
            started.put(process)
            waited = wait_for(process)
        # The thread that looks has ended.
        return outcome_outside(waited, managers[0] if managers else None, settings, near_bytes)


def _mappings(process: int) -> list[_Mapping]:
    """What a process has mapped to read and to write: its mappings as the kernel has them, which
    tells QEMU's advice apart, and behind these the runs of neighbours of one file. Raises
    InputError if it has ended."""
    try:
        lines = Path(f"/proc/{process}/maps").read_text(errors="replace").splitlines()
    except OSError:
        raise InputError(f"{process}: found no process of this number to look at") from None
    found: list[_Mapping] = []
    joined: list[_Mapping] = []
    for line in lines:
        places, rights, _, *file = line.split(maxsplit=3)
        if not rights.startswith("rw"):
            continue
        begin, end = (int(place, 16) for place in places.split("-"))
        one = _Mapping(begin, end, rights, "".join(file))
        found.append(one)
        last = joined[-1] if joined else one
        if (last.end, last.rights, last.file) == (begin, rights, one.file):
            joined[-1] = _Mapping(last.begin, end, rights, one.file)
        else:
            joined.append(one)
    return [*found, *joined]
