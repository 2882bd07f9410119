"""Writes a core file of a managed program that goes on: all of its memory, near and far.

The threads are stopped meanwhile, but for those that bring pages in, so that what is written is
one instant. Pages come in as when the program itself touches them, within its limit.
"""

from __future__ import annotations

import contextlib
import functools
import os
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from nearfar.errors import NearfarError
from nearfar.tier.control import PAGE, Member
from nearfar.tier.core.pages import Mapping, Memory, pagers_of
from nearfar.tier.new_file import create
from nearfar.tier.process_stat import stat_behind_name
from nearfar.tier.stopped import EXTENDED, FLOATING, GENERAL, Thread, stopped

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_NOTE = struct.Struct("<III")
_IDENT = b"\x7fELF\x02\x01\x01" + bytes(9)
_CORE, _X86_64 = 4, 62
_LOAD, _NOTES = 1, 4
_GENERAL_BYTES, _FLOATING_BYTES = 216, 512
_INFO, _AUXILIARY, _FILES = 3, 6, 0x46494C45
_STATUS = struct.Struct("<3ih2xQQ4i64x216s2i")
_PROGRAM = struct.Struct("<4b4xQIIiiii16s80s")
_AT_ONCE = 1 << 20


def write_core(member: Member, name: str) -> int:
    """Write the core file `name` of one process, for its owner only: its bytes without holes.

    Raises InputError for a file that is there, NearfarError if the process is stopped or may not be
    looked into.
    """
    if not member.pager_thread or _state(member) in "Tt":
        raise NearfarError(
            f"{member.process}: is stopped, and so is the thread that brings in its pages; "
            f"`kill -CONT {member.process}` comes first"
        )
    running = functools.partial(pagers_of, member)
    with _new_file(name) as file, stopped(member.process, running) as threads:
        memory = Memory(member)
        mappings = memory.mappings()
        notes = b"".join(_notes(member.process, threads, mappings))
        return _write(file, memory, [m for m in mappings if m.access != "---p"], notes)


def _write(file: BinaryIO, memory: Memory, mappings: Sequence[Mapping], notes: bytes) -> int:
    count = len(mappings) + 1
    at = _HEADER.size + count * _SEGMENT.size
    segments = [_SEGMENT.pack(_NOTES, 0, at, 0, 0, len(notes), 0, 4)]
    at = -(-(at + len(notes)) // PAGE) * PAGE
    written = at
    for mapping in mappings:
        runs = list(memory.runs(mapping)) if mapping.readable else []
        size = mapping.end - mapping.begin
        # Of a file's mapping, what comes behind is the file's; memory without a file is zeros.
        held = (runs[-1][1] - mapping.begin if runs else 0) if mapping.of_file else size
        held = held if mapping.readable else 0
        segments.append(
            _SEGMENT.pack(_LOAD, _flags(mapping), at, mapping.begin, 0, held, size, PAGE)
        )
        if mapping.of_file and runs:
            runs = [(mapping.begin, mapping.begin + held)]
        for begin, end in runs:
            written += _copy(file, memory, (begin, end), at + begin - mapping.begin)
        at += held
    head = (_CORE, _X86_64, 1, 0, _HEADER.size, 0, 0, _HEADER.size, _SEGMENT.size, count, 0, 0, 0)
    file.seek(0)
    file.write(_HEADER.pack(_IDENT, *head) + b"".join(segments) + notes)
    file.truncate(at)
    return written


def _copy(file: BinaryIO, memory: Memory, run: tuple[int, int], to: int) -> int:
    begin, end = run
    file.seek(to)
    for at in range(begin, end, _AT_ONCE):
        file.write(memory.read(at, min(_AT_ONCE, end - at)))
    return end - begin


def _flags(mapping: Mapping) -> int:
    read, write, execute = (letter in mapping.access for letter in "rwx")
    return 4 * read + 2 * write + execute


def _notes(process: int, threads: Sequence[Thread], mappings: Sequence[Mapping]) -> Iterator[bytes]:
    stat = stat_behind_name(Path(f"/proc/{process}"))
    parent, group, session = int(stat[1]), int(stat[2]), int(stat[3])
    for thread in threads:
        general = thread.registers.get(GENERAL, b"").ljust(_GENERAL_BYTES, b"\0")
        floating = thread.registers.get(FLOATING, b"")
        ids = (thread.number, parent, group, session)
        status = _STATUS.pack(0, 0, 0, 0, 0, 0, *ids, general, int(bool(floating)), 0)
        yield _note(GENERAL, status)
        if thread is threads[0]:
            yield _note(_INFO, _program(process, parent, group, session))
            yield _note(_AUXILIARY, Path(f"/proc/{process}/auxv").read_bytes())
            yield _note(_FILES, _files(mappings))
        if floating:
            yield _note(FLOATING, floating.ljust(_FLOATING_BYTES, b"\0"))
        if EXTENDED in thread.registers:
            yield _note(EXTENDED, thread.registers[EXTENDED], b"LINUX")


def _note(kind: int, contents: bytes, name: bytes = b"CORE") -> bytes:
    padded = name + b"\0" * (8 - len(name))
    length = -(-len(contents) // 4) * 4
    return _NOTE.pack(len(name) + 1, len(contents), kind) + padded + contents.ljust(length, b"\0")


def _program(process: int, parent: int, group: int, session: int) -> bytes:
    name = Path(f"/proc/{process}/comm").read_bytes().rstrip(b"\n")[:15]
    words = Path(f"/proc/{process}/cmdline").read_bytes().rstrip(b"\0").replace(b"\0", b" ")[:79]
    status = Path(f"/proc/{process}").stat()
    ids = (status.st_uid & 0xFFFFFFFF, status.st_gid & 0xFFFFFFFF, process, parent, group, session)
    return _PROGRAM.pack(0, ord("R"), 0, 0, 0, *ids, name, words)


def _files(mappings: Sequence[Mapping]) -> bytes:
    named = [m for m in mappings if m.of_file and m.name.startswith("/")]
    ranges = [word for m in named for word in (m.begin, m.end, m.offset // PAGE)]
    head = struct.pack(f"<{2 + len(ranges)}Q", len(named), PAGE, *ranges)
    return head + b"".join(os.fsencode(m.name) + b"\0" for m in named)


def _state(member: Member) -> str:
    try:
        folder = Path(f"/proc/{member.process}/task/{member.pager_thread}")
        return stat_behind_name(folder)[0].decode()
    except OSError:
        raise NearfarError(f"{member.process}: has ended") from None


@contextlib.contextmanager
def _new_file(name: str) -> Iterator[BinaryIO]:
    """A file that only its owner may read, and that is gone again if it cannot be completed."""
    descriptor = create(name, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
    except OSError as error:
        Path(name).unlink(missing_ok=True)
        raise NearfarError(f"{name}: {error.strerror}") from None
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
