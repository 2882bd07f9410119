"""A few questions to a QEMU that runs, by its machine protocol (QMP) over a Unix socket."""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nearfar.errors import NearfarError
from nearfar.tier import directory

_PATIENCE = 5.0  # seconds for an answer
_LONGEST = 1 << 24  # of an answer, in bytes


class Qmp:
    """A connection. QEMU serves one of a socket at a time, so it is closed soon."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._lines = connection.makefile("rb")
        greeting = self._read()
        if "QMP" not in greeting:
            raise NearfarError("found a socket that does not greet as QEMU's QMP does")
        self.ask("qmp_capabilities")

    def ask(self, command: str, **arguments: Any) -> Any:
        """What QEMU returns. Raises NearfarError for what it refuses or does not answer."""
        request: dict[str, Any] = {"execute": command}
        if arguments:
            request["arguments"] = arguments
        self._connection.sendall(json.dumps(request).encode() + b"\n")
        while True:
            reply = self._read()
            if "return" in reply:
                return reply["return"]
            if "error" in reply:
                raise NearfarError(f"{command}: {reply['error'].get('desc', 'refused')}")

    def told(self, line: str) -> str:
        """What the monitor for people says to a line."""
        return str(self.ask("human-monitor-command", **{"command-line": line}))

    def _read(self) -> dict[str, Any]:
        line = self._lines.readline(_LONGEST)
        if not line:
            raise ConnectionResetError
        try:
            reply = json.loads(line)
        except (ValueError, RecursionError):
            reply = None
        if not isinstance(reply, dict):
            raise NearfarError(f"found the answer {line[:40]!r}, expected QMP's")
        return reply


@contextlib.contextmanager
def connected(path: str) -> Iterator[Qmp]:
    """A connection to a socket in a folder of ours. Raises OSError if no QEMU answers there,
    NearfarError if it is no QMP that does."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_PATIENCE)
        reach(connection, path)
        try:
            yield Qmp(connection)
        finally:
            with contextlib.suppress(OSError):  # QEMU has ended
                connection.shutdown(socket.SHUT_RDWR)


def reach(connection: socket.socket, path: str) -> None:
    """Connect to a socket in a folder of ours, whose name may be long. Raises OSError."""
    place = Path(path)
    with directory.opened(place.parent) as short:
        connection.connect(str(short / place.name))
