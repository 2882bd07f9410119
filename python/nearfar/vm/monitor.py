"""A QMP socket of our own of each machine, and a look at its memory once it has begun.

The socket listens before QEMU begins and is handed to it, so that there is no moment without it.
It is in the folder of nearfar's other sockets and has the launcher's number; a QEMU whose launcher
was killed still answers there.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import threading
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

from nearfar.errors import NearfarError
from nearfar.tier import control, directory
from nearfar.tier.outcome import mib
from nearfar.vm.qmp import Qmp, reach

VARIABLE = "NEARFAR_VM"  # of QEMU's environment: the path of the socket
_ID = "nearfar"
_RAM = re.compile(r"^ *([0-9a-f]+)-[0-9a-f]+ \(prio -?\d+, ram\)", re.MULTILINE)  # info mtree -f
_PLACE = re.compile(r"is (0x[0-9a-f]+)")  # gpa2hva
_MAPPING = re.compile(r"([0-9a-f]+)-([0-9a-f]+) ")
_PLUGGED = 128 << 20  # what is plugged in comes in blocks of so much
_MANAGED = "um"  # a mapping's flag: its missing pages are brought by a userfaultfd


class Monitor:
    """The socket, and what was found wrong with the machine that has it."""

    def __init__(self, place: directory.Listening) -> None:
        self._place = place
        self.path = str(place.path)
        self.problem = ""

    def stay(self) -> None:
        """The machine runs on, and answers there as long as it does."""
        self._place.stays = True

    @property
    def words(self) -> list[str]:
        """What QEMU has to be told to serve it."""
        place = f"socket,id={_ID},fd={self._place.socket.fileno()},server=on,wait=off"
        return ["-chardev", place, "-mon", f"chardev={_ID},mode=control"]

    @contextlib.contextmanager
    def looking(self, problem: Callable[[Qmp], str]) -> Iterator[None]:
        """Ask, as soon as QEMU answers, what the `problem` is with how its machine's memory is
        managed. QEMU is ended where there is one: no memory is left out silently.
        """
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            args = (connection, problem)
            thread = threading.Thread(target=self._look, args=args, name="monitor", daemon=True)
            reach(connection, self.path)  # it waits in the listening socket
            thread.start()
            try:
                yield
            finally:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
                thread.join()

    def _look(self, connection: socket.socket, problem_of: Callable[[Qmp], str]) -> None:
        with contextlib.suppress(OSError):  # QEMU has ended
            try:
                qmp = Qmp(connection)
                try:
                    problem = problem_of(qmp)
                except (NearfarError, KeyError, ValueError) as error:
                    problem = f"QMP: {error}"
                if problem:
                    qmp.ask("query-status")  # one that has ended by itself is no problem
                    self.problem = problem
                    qmp.ask("quit")
            except NearfarError as error:
                self.problem = f"QMP: {error}"
            finally:
                connection.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def monitored() -> Iterator[Monitor]:
    """A socket for the machine that this process launches. Raises NearfarError if there is no place
    for it."""
    name = f"{os.getpid()}.qmp"
    with directory.listening(name, "the machine's QMP socket") as place:
        with directory.opened(place.path.parent) as short:
            _remove_stale(short)
        place.socket.set_inheritable(True)
        yield Monitor(place)


def _remove_stale(folder: Path) -> None:
    """Remove the sockets of machines that have ended after their launcher was killed."""
    for path in folder.glob("*.qmp"):
        if Path("/proc", path.stem).exists():
            continue
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.setblocking(False)
            try:
                connection.connect(str(path))
            except ConnectionRefusedError:
                path.unlink(missing_ok=True)
            except OSError:  # it is busy, or is gone already
                continue


def problem_inside(blocks: Collection[int], memory: int, qmp: Qmp) -> str:
    """What of the machine's memory is not managed by the pager inside QEMU; empty if all of it is:
    these blocks and no others. `memory` is what the processes of the tree share."""
    for backend in qmp.ask("query-memdev"):
        if backend.get("share"):
            name = backend.get("id", "without a name")
            return f"the machine's memory {name} is shared with other processes"
    if unnamed := unnamed_memory(blocks, qmp):
        return unnamed
    places = places_of_ram(qmp)
    processes = [member.process for member in control.members(memory)]
    if not places:
        return "this QEMU does not tell where its guest's memory lies"
    if not any(is_managed(process, place) for process in processes for place in places):
        return "this QEMU reserves its guest's memory in a way that the pager does not know"
    return ""


def places_of_ram(qmp: Qmp) -> list[int]:
    """Where in QEMU's own memory the guest's ranges of RAM begin, as far as QEMU tells; some may be
    a device's."""
    begins = sorted({int(begin, 16) for begin in _RAM.findall(qmp.told("info mtree -f"))})
    told = (_PLACE.search(qmp.told(f"gpa2hva {begin:#x}")) for begin in begins)
    return [int(place[1], 16) for place in told if place]


def unnamed_memory(blocks: Collection[int], qmp: Qmp) -> str:
    """Which memory the machine has beside these blocks; empty if none."""
    left = list(blocks)
    for backend in qmp.ask("query-memdev"):
        name = backend.get("id", "without a name")
        if backend["size"] not in left:
            return (
                f"the machine has memory ({name}, {mib(backend['size'])}) that its words do not "
                "name (-m, -object); expected all of it on the command line"
            )
        left.remove(backend["size"])
    return ""


def is_managed(process: int, at: int) -> bool:
    """Whether the mapping at `at` is one whose pages the pager brings."""
    inside = False
    with contextlib.suppress(OSError), Path(f"/proc/{process}/smaps").open() as lines:
        for line in lines:
            if mapping := _MAPPING.match(line):
                inside = int(mapping[1], 16) <= at < int(mapping[2], 16)
            elif inside and line.startswith("VmFlags:"):
                return _MANAGED in line.split()
    return False


def state(qmp: Qmp, blocks: Collection[int], *, outside: bool) -> dict[str, Any]:
    """What QEMU says of a machine that began with these blocks of memory: whether it runs, the
    memory that was plugged in, and how much of that is not managed. From `outside`, none is."""
    backends = qmp.ask("query-memdev")
    if outside:
        left = [one for one in backends if one["size"] not in blocks]
    else:
        left = [one for one in backends if one.get("share") or not _is_block(one["size"], blocks)]
    return {
        "state": qmp.ask("query-status")["status"],
        "plugged_bytes": sum(one["size"] for one in backends) - sum(blocks),
        "unmanaged_guest_bytes": sum(one["size"] for one in left),
    }


def _is_block(size: int, blocks: Collection[int]) -> bool:
    """Whether the preloaded library takes a block of that size for the guest's (guest.h)."""
    return size in blocks or size % _PLUGGED == 0
