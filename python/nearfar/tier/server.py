"""Answers requests about a tree through a Unix socket, for as long as its launcher runs."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct
import threading
from collections.abc import Iterator
from typing import Any

from nearfar.errors import InputError, NearfarError
from nearfar.tier import directory
from nearfar.tier.tree import Tree

LONGEST = 4096  # of a request, in bytes
_PATIENCE = 10.0  # seconds for a request to arrive, or an answer to be taken
_CREDENTIALS = struct.Struct("3i")  # process, user, group


@contextlib.contextmanager
def serving(tree: Tree) -> Iterator[None]:
    """Answer requests in threads of their own. Raises NearfarError if there is no place for it."""
    name = directory.socket_name(tree.process)
    with directory.listening(name, "the socket of `nearfar tier`") as place:
        threading.Thread(target=_accept, args=(place.socket, tree), daemon=True).start()
        yield


def _accept(listening: socket.socket, tree: Tree) -> None:
    with contextlib.suppress(OSError):  # closed: the tree has ended
        while True:
            connection, _ = listening.accept()
            threading.Thread(target=_serve, args=(connection, tree), daemon=True).start()


def _serve(connection: socket.socket, tree: Tree) -> None:
    with connection, contextlib.suppress(OSError):
        connection.settimeout(_PATIENCE)
        if _user(connection) in (0, os.getuid()):
            reply = _reply(connection.makefile("rb").readline(LONGEST), tree)
            connection.sendall(json.dumps(reply).encode() + b"\n")


def _user(connection: socket.socket) -> int:
    peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    user: int = _CREDENTIALS.unpack(peer)[1]
    return user


def _reply(line: bytes, tree: Tree) -> dict[str, object]:
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
