"""Trace files as a stream of pieces, whatever they are packed with.

The packing is told by the first bytes, not by the name. Memory does not grow with the
file, and a file that ends early is an error with its name, never a silently shorter trace.
"""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from nearfar.errors import InputError, file_error
from nearfar.measuring.run import Progress

PIECE = 1 << 20  # bytes
# Of a packed file at a time. All that zstandard makes of it comes at once, which is 128 MiB at
# most: a block of 128 KiB takes 4 bytes or more.
_PACKED = 4096

_GZIP = b"\x1f\x8b"
_ZSTANDARD = b"\x28\xb5\x2f\xfd"
_XZ = b"\xfd7zXZ\x00"
_BZIP2 = b"BZh"
_ZIP = b"PK\x03\x04"


class TruncatedError(InputError):
    """A packed file that ends before its content does."""


class TraceReader(Protocol):
    """The part of the core's readers of traces that is asked when a file ends early."""

    def format(self) -> str: ...
    def finish(self) -> Any: ...


@contextlib.contextmanager
def exact_end(reader: TraceReader) -> Iterator[None]:
    """Around feeding `reader` the pieces of a file: a trace of our own format that was cut off
    is told with the number of its records that can be read.
    """
    try:
        yield
    except TruncatedError:
        if reader.format() == "nearfar":
            reader.finish()
        raise


def pieces(path: str | Path, progress: Progress | None = None) -> Iterator[bytes]:
    """The unpacked content of `path`; `progress` is told how much of the file is used up.

    Raises InputError, in one line that names the file: it cannot be read, it is empty, or
    it is packed and damaged or truncated.
    """
    try:
        with Path(path).open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            for piece in _unpacked(path, file):
                yield piece
                if progress is not None and size:  # a pipe has no size
                    progress(min(file.tell(), size), size)
    except OSError as error:
        raise file_error(path, error) from None


def _unpacked(path: str | Path, file: BinaryIO) -> Iterator[bytes]:
    start = file.read(_PACKED)
    if not start:
        raise InputError(f"{path}: empty file, expected a trace")
    if start.startswith(_GZIP):
        yield from _stream(path, file, start, "gzip")
    elif start.startswith(_ZSTANDARD):
        yield from _stream(path, file, start, "zstandard")
    elif start.startswith(_XZ):
        yield from _stream(path, file, start, "xz")
    elif start.startswith(_BZIP2):
        yield from _stream(path, file, start, "bzip2")
    elif start.startswith(_ZIP):
        yield from _members(path, file)
    else:
        yield start
        while piece := file.read(PIECE):
            yield piece


def _stream(path: str | Path, file: BinaryIO, start: bytes, packing: str) -> Iterator[bytes]:
    """All packings allow several members one after another; each must be whole."""
    unpacker = _unpacker(packing)
    packed = start
    empty = True
    while packed:
        try:
            for unpacked in _expanded(unpacker, packing, packed):
                if unpacked:
                    empty = False
                    yield unpacked
        except Exception as error:
            raise InputError(f"{path}: damaged {packing} file: {error}") from None
        packed = unpacker.unused_data if unpacker.eof else b""
        packed = packed or file.read(_PACKED)
        if unpacker.eof and packed:
            unpacker = _unpacker(packing)
    if not unpacker.eof:
        raise TruncatedError(f"{path}: truncated {packing} file")
    if empty:
        raise InputError(f"{path}: {packing} file without content, expected a trace")


def _expanded(unpacker: Any, packing: str, packed: bytes) -> Iterator[bytes]:
    """What `packed` holds up to the end of its member, not much at a time."""
    if packing == "zstandard":
        yield unpacker.decompress(packed)
    elif packing == "gzip":
        while packed and not unpacker.eof:
            yield unpacker.decompress(packed, PIECE)
            packed = unpacker.unconsumed_tail
    else:
        yield unpacker.decompress(packed, PIECE)
        while not (unpacker.eof or unpacker.needs_input):
            yield unpacker.decompress(b"", PIECE)


def _members(path: str | Path, file: BinaryIO) -> Iterator[bytes]:
    """The files in a zip archive, one behind the other, as drmemtrace cuts a trace into them."""
    import zipfile

    if not file.seekable():
        raise InputError(f"{path}: found a zip archive in a pipe, expected it in a file")
    empty = True
    try:
        with zipfile.ZipFile(file) as archive:
            for member in archive.infolist():
                with archive.open(member) as stream:
                    while piece := stream.read(PIECE):
                        empty = False
                        yield piece
    except (zipfile.BadZipFile, EOFError, RuntimeError, zlib.error, ValueError) as error:
        # RuntimeError: what has a password; and of that NotImplementedError, an unknown packing.
        raise InputError(f"{path}: damaged zip file: {error}") from None
    if empty:
        raise InputError(f"{path}: zip file without content, expected a trace")


def _unpacker(packing: str) -> Any:
    if packing == "gzip":
        return zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    if packing == "bzip2":
        import bz2

        return bz2.BZ2Decompressor()
    if packing == "xz":
        import lzma

        return lzma.LZMADecompressor(lzma.FORMAT_XZ)
    import zstandard

    return zstandard.ZstdDecompressor().decompressobj()
