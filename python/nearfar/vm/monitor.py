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
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from nearfar.errors import NearfarError
from nearfar.tier import control, directory
from nearfar.tier.outcome import mib
from nearfar.vm.qmp import Qmp, reach

VARIABLE = "NEARFAR_VM"  # of QEMU's environment: the path of the socket
_ID = "nearfar"
_PLACE = re.compile(r"is (0x[0-9a-f]+)")  # what the monitor says of the guest's address 0
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
    def looking(self, blocks: Collection[int], memory: int) -> Iterator[None]:
        """Look, as soon as QEMU answers, whether its machine has these blocks of memory and no
        others, and whether they are managed. QEMU is ended where they are not: no memory is left
        out silently.

        `memory` is what the processes of the tree share.
        """
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            args = (connection, tuple(blocks), memory)
            thread = threading.Thread(target=self._look, args=args, name="monitor", daemon=True)
            reach(connection, self.path)  # it waits in the listening socket
            thread.start()
            try:
                yield
            finally:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
                thread.join()

    def _look(self, connection: socket.socket, blocks: tuple[int, ...], memory: int) -> None:
        with contextlib.suppress(OSError):  # QEMU has ended
            try:
                qmp = Qmp(connection)
                try:
                    problem = _problem(qmp, blocks, memory)
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


def _problem(qmp: Qmp, blocks: tuple[int, ...], memory: int) -> str:
    """What of the machine's memory is not managed; empty if all of it is."""
    left = list(blocks)
    for backend in qmp.ask("query-memdev"):
        name = backend.get("id", "without a name")
        if backend.get("share"):
            return f"the machine's memory {name} is shared with other processes"
        if backend["size"] not in left:
            return (
                f"the machine has memory ({name}, {mib(backend['size'])}) that its words do not "
                "name (-m, -object); expected all of it on the command line"
            )
        left.remove(backend["size"])
    place = _PLACE.search(qmp.told("gpa2hva 0"))
    processes = [member.process for member in control.members(memory)]
    if place and not any(is_managed(process, int(place[1], 16)) for process in processes):
        return "this QEMU reserves its guest's memory in a way that the pager does not know"
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


def state(qmp: Qmp, blocks: Collection[int]) -> dict[str, Any]:
    """What QEMU says of a machine that began with these blocks of memory: whether it runs, the
    memory that was plugged in, and how much of that is not managed."""
    backends = qmp.ask("query-memdev")
    left = [one for one in backends if one.get("share") or not _is_block(one["size"], blocks)]
    return {
        "state": qmp.ask("query-status")["status"],
        "plugged_bytes": sum(one["size"] for one in backends) - sum(blocks),
        "unmanaged_guest_bytes": sum(one["size"] for one in left),
    }


def _is_block(size: int, blocks: Collection[int]) -> bool:
    """Whether the preloaded library takes a block of that size for the guest's (guest.h)."""
    return size in blocks or size % _PLUGGED == 0
