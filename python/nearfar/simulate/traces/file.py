"""What is in a trace file, with one line about files that hold no trace at all."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

from nearfar.errors import InputError
from nearfar.measuring.run import Progress
from nearfar.results.faults import MAGIC
from nearfar.simulate.traces.formats import trace_formats
from nearfar.simulate.traces.unpack import pieces

# Packed files within packed files, for which the core has a line of its own.
_PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")
_LOOKED_AT = 512
_NO_TEXT = frozenset(range(32)) - frozenset(b"\t\n\v\f\r\x1b")


def peeked(stream: Iterator[bytes], count: int) -> tuple[bytes, Iterator[bytes]]:
    """The beginning of a stream, `count` bytes or more if there are, and all of it again."""
    start = b""
    while len(start) < count and (piece := next(stream, b"")):
        start += piece
    return start, itertools.chain([start], stream)


def shown(path: str | Path) -> str:
    """The name of a file in messages of the core, which takes only what is text."""
    return os.fsencode(path).decode(errors="backslashreplace")


def trace_pieces(
    path: str | Path, format: str = "auto", progress: Progress | None = None
) -> Iterator[bytes]:
    """The unpacked content of a trace, as `unpack.pieces` has it.

    Raises InputError as that does, and for a record of faults, and for bytes that are no text
    where `format` is one of text or told by the file.
    """
    start, stream = peeked(pieces(path, progress), _LOOKED_AT)
    refuse_others(path, start, format)
    yield from stream


def refuse_others(path: str | Path, start: bytes, format: str) -> None:
    """Raise InputError if a file that begins so is a record of faults, or cannot be a trace."""
    if start.startswith(MAGIC):
        raise InputError(
            f"{path}: found a record of faults, expected a trace; "
            f"`nearfar tier replay {path}` reads it"
        )
    of_bytes = [one for one in trace_formats() if not one.text]
    magics = tuple(one.magic for one in of_bytes if one.magic)
    untold = [one.name for one in of_bytes if not one.magic]
    if format in untold or start.startswith((*magics, *_PACKED)):
        return
    if not _NO_TEXT.isdisjoint(start[:_LOOKED_AT]):
        hint = "; a trace of ChampSim needs --format champsim" if format == "auto" else ""
        raise InputError(f"{path}: found binary data, expected a trace{hint}")
