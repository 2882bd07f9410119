"""Finds the running trees of this user, and asks them for something."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nearfar.errors import InputError, NearfarError, suggestion
from nearfar.tier import control, directory
from nearfar.tier.process_stat import stat_behind_name
from nearfar.tier.tree import Tree, program_of

_PATIENCE = 3.0  # seconds for a launcher, unless it is stopped, to say how its tree is


@dataclass(frozen=True)
class Running:
    """A tree that runs: how it was when it was found, and where it is asked."""

    stats: Mapping[str, Any]
    folder: Path | None  # of its socket; None: it has no launcher

    @property
    def process(self) -> int:
        """The launcher, or the first process of a tree without one."""
        number: int = self.stats["process"]
        return number

    @property
    def processes(self) -> list[int]:
        """Every process by which it can be named."""
        return [self.process, *(part["process"] for part in self.stats["processes"])]

    def ask(self, **request: Any) -> dict[str, Any]:
        """Ask it for something. Raises what the tree raised; NearfarError if it has ended."""
        try:
            if self.folder is not None:
                return _ask(self.folder, self.process, request)
            with _opened(self.process) as tree:
                return tree.answer(request)
        except OSError:
            raise NearfarError(f"{self.process}: has ended") from None


def running() -> list[Running]:
    """All trees of this user, by number. Sockets of launchers that were killed are removed."""
    first, *others = directory.folders()
    launched = [*_launched(first)]
    for folder in others:
        with contextlib.suppress(NearfarError):  # another's: there is none of ours in it
            launched += _launched(folder)
    known = {process for tree in launched for process in tree.processes}
    return sorted([*launched, *_without_launcher(known)], key=lambda tree: tree.process)


def find(process: int) -> Running:
    """The tree of a process, or of the nearest of its parents. Raises InputError."""
    trees = running()
    by_process = {number: tree for tree in trees for number in tree.processes}
    number = process
    while number > 1 and number not in by_process:
        number = _parent(number)
    if number in by_process:
        return by_process[number]
    if not trees:
        raise InputError(f"{process}: no program of this user runs on two tiers")
    names = ", ".join(f"{tree.process} ({tree.stats['program']})" for tree in trees)
    hint = suggestion(str(process), map(str, by_process))
    raise InputError(f"{process}: does not run on two tiers, but {names} does{hint}")


def find_member(process: int) -> control.Member:
    """One managed process: that of the number, or the only one below it. Raises InputError."""
    tree = find(process)
    if tree.stats.get("attached"):
        raise InputError(
            f"{process}: is managed from outside, with all its pages in their places, expected a "
            "program that was started on two tiers; gcore writes a core file of others"
        )
    with _memory(tree.process) as memory:
        members = {member.process: member for member in control.members(memory)}
    there = [part["process"] for part in tree.stats["processes"] if part["process"] in members]
    if process in there:
        return members[process]
    if len(there) == 1:
        return members[there[0]]
    known = ", ".join(map(str, there))
    raise InputError(f"{process}: found {len(there)} processes, expected one of {known}")


def _launched(folder: Path) -> Iterator[Running]:
    if not folder.is_dir():
        return
    for process in directory.launchers(folder):
        try:
            yield Running(_ask(folder, process, {"do": "stats"}), folder)
        except ConnectionRefusedError:
            (folder / directory.socket_name(process)).unlink(missing_ok=True)
        except (OSError, NearfarError):
            continue  # it has just ended, or cannot tell


def _ask(folder: Path, process: int, request: Mapping[str, Any]) -> dict[str, Any]:
    with (
        directory.opened(folder) as short,
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection,
    ):
        if request["do"] == "stats":
            connection.settimeout(_PATIENCE)
        connection.connect(str(short / directory.socket_name(process)))
        connection.sendall(json.dumps(request).encode() + b"\n")
        line = connection.makefile("rb").readline()
    if not line:
        raise ConnectionResetError
    return parse_reply(line)


def parse_reply(line: bytes) -> dict[str, Any]:
    """What a launcher answered. Raises what it says that it raised, and NearfarError for what no
    launcher of this version answers.
    """
    try:
        reply = json.loads(line)
    except (ValueError, RecursionError):
        reply = None
    if not isinstance(reply, dict):
        raise NearfarError(f"found the answer {line[:40]!r}, expected one of this nearfar")
    if "error" in reply:
        kind = InputError if reply.get("status") == InputError.exit_code else NearfarError
        raise kind(str(reply["error"]))
    return reply


def _without_launcher(known: set[int]) -> Iterator[Running]:
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal() or int(folder.name) in known:
            continue
        with contextlib.suppress(OSError):
            if folder.stat().st_uid == os.getuid():
                with _opened(int(folder.name)) as tree:
                    yield Running(tree.stats(), None)


@contextlib.contextmanager
def _opened(process: int) -> Iterator[Tree]:
    """The tree of which a process is the first. Raises OSError if it is of none."""
    with _memory(process) as memory:
        owner = control.owner(memory)
        if owner.process != process:
            raise ProcessLookupError(process)
        flags = os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC
        bell = os.open(f"/proc/{process}/fd/{owner.bell}", flags)
        try:
            yield Tree(memory, bell, process, program_of(process))
        finally:
            os.close(bell)


@contextlib.contextmanager
def _memory(process: int) -> Iterator[int]:
    """What the processes of a tree share, which `process` has open. Raises OSError."""
    memory = _open_memory(process)
    try:
        yield memory
    finally:
        os.close(memory)


def _open_memory(process: int) -> int:
    for name in Path(f"/proc/{process}/fd").iterdir():
        with contextlib.suppress(OSError):  # the process has closed it meanwhile
            if str(name.readlink()).startswith(f"/memfd:{control.NAME}"):
                return os.open(name, os.O_RDWR | os.O_CLOEXEC)
    raise ProcessLookupError(process)


def _parent(process: int) -> int:
    """The parent of a process; 0 if it is gone."""
    try:
        return int(stat_behind_name(Path(f"/proc/{process}"))[1])
    except OSError:
        return 0
