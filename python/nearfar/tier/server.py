"""Answers requests about a tree through a Unix socket, for as long as its launcher runs."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from nearfar.errors import InputError, NearfarError
from nearfar.tier import directory

LONGEST = 4096  # of a request, in bytes
_PATIENCE = 10.0  # seconds for a request to arrive, or an answer to be taken
_LAST_PATIENCE = 1.0  # seconds for all answers when the tree has ended
_CREDENTIALS = struct.Struct("3i")  # process, user, group


class Answering(Protocol):
    """A tree, or a process that is managed from outside: the process by whose number it is found,
    and its answers to requests."""

    @property
    def process(self) -> int: ...

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]: ...


@contextlib.contextmanager
def serving(tree: Answering) -> Iterator[None]:
    """Answer requests in threads of their own. Raises NearfarError if there is no place for it.

    What is being answered at the end of the block is, if that takes no longer than a moment.
    """
    name = directory.socket_name(tree.process)
    answering: list[threading.Thread] = []
    with directory.listening(name, "the socket of `nearfar tier`") as place:
        args = (place.socket, tree, answering)
        accepting = threading.Thread(target=_accept, args=args, daemon=True)
        accepting.start()
        try:
            yield
        finally:
            place.socket.shutdown(socket.SHUT_RDWR)  # the thread waits no more
            accepting.join()
    until = time.monotonic() + _LAST_PATIENCE
    for thread in list(answering):
        thread.join(max(0.0, until - time.monotonic()))


def _accept(listening: socket.socket, tree: Answering, answering: list[threading.Thread]) -> None:
    with contextlib.suppress(OSError):  # shut down: the tree has ended
        while True:
            connection, _ = listening.accept()
            answering[:] = [thread for thread in answering if thread.is_alive()]
            thread = threading.Thread(target=_serve, args=(connection, tree), daemon=True)
            thread.start()
            answering.append(thread)


def _serve(connection: socket.socket, tree: Answering) -> None:
    with connection, contextlib.suppress(OSError):
        connection.settimeout(_PATIENCE)
        if _user(connection) in (0, os.getuid()):
            reply = _reply(connection.makefile("rb").readline(LONGEST), tree)
            connection.sendall(json.dumps(reply).encode() + b"\n")


def _user(connection: socket.socket) -> int:
    peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    user: int = _CREDENTIALS.unpack(peer)[1]
    return user


def _reply(line: bytes, tree: Answering) -> dict[str, object]:
    try:
        return tree.answer(_request(line))
    except NearfarError as error:
        return {"error": str(error), "status": error.exit_code}
    except Exception as error:  # standard error is the program's
        return {"error": f"internal error: {type(error).__name__}: {error}", "status": 1}


def _request(line: bytes) -> dict[str, Any]:
    try:
        request = json.loads(line)
    except (ValueError, RecursionError):
        raise InputError('found no JSON, expected a line such as {"do": "stats"}') from None
    if not isinstance(request, dict):
        raise InputError('expected a request such as {"do": "stats"}')
    return request
