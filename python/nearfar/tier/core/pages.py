"""What a managed program's memory consists of, seen from outside: mappings, and pages that hold
something, near or far."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nearfar import _lists
from nearfar.errors import NearfarError
from nearfar.layout import record, values
from nearfar.tier import control, far
from nearfar.tier.control import PAGE, Member

_GROUP = _lists.PAGE_GROUP
_ENTRY_BYTES, _STATE_AT = _lists.PAGE_ENTRY_BYTES, _lists.PAGE_STATE_AT
_REGION_FIELDS = {name: _lists.REGION[name] for name in ("base", "length", "pages", "groups")}
_RANK_BYTES = 4
_PRESENT_OR_SWAPPED, _OF_FILE = 3 << 62, 1 << 61
_AT_ONCE = 1 << 20
_LINE = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (....) ([0-9a-f]+) \S+ (\d+) *(.*)")


@dataclass(frozen=True)
class Mapping:
    """A line of /proc/PID/maps."""

    begin: int
    end: int
    access: str
    offset: int
    inode: int
    name: str

    @property
    def of_file(self) -> bool:
        """Whether its pages are those of a file until they are written."""
        return self.inode != 0

    @property
    def readable(self) -> bool:
        """Whether it is of memory that may be read, and no device, window of the kernel or
        what the pager shares with others."""
        kernels = self.name in ("[vvar]", "[vsyscall]", "[vvar_vclock]")
        device = self.name.startswith("/dev/")
        far_memory = self.access.endswith("s") and self.end - self.begin == far.LARGEST
        pagers = far_memory or self.name.startswith(f"/memfd:{control.NAME} ")
        return self.access != "---p" and not (kernels or device or pagers)


def pagers_of(member: Member) -> set[int]:
    """The threads that bring in a process's pages; the first alone where its memory cannot be
    read."""
    pagers = {member.pager_thread}
    with contextlib.suppress(NearfarError):
        offset, kind = _lists.REGION["pagers"]
        words = struct.Struct(f"<{_lists.REGION_PAGERS}{kind}")
        data = read_memory(member.process, member.region + offset, words.size)
        pagers.update(number for number in words.unpack(data) if number)
    return pagers


def read_memory(process: int, at: int, length: int) -> bytes:
    """Contents of a process's memory. Raises NearfarError."""
    memory = ctypes.create_string_buffer(length)
    done = 0
    while done < length:
        here = _Vector(ctypes.addressof(memory) + done, min(length - done, _AT_ONCE))
        there = _Vector(at + done, here.length)
        got = _read_process(process, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
        if got <= 0:
            reason = os.strerror(ctypes.get_errno())
            raise NearfarError(f"{process}: memory at {at + done:#x}: {reason}")
        done += got
    return memory.raw


class Memory:
    """The memory of a process whose pager runs; missing pages are brought in as they are read."""

    def __init__(self, member: Member) -> None:
        """Raise NearfarError if it cannot be read."""
        self._process = member.process
        data = self.read(member.region, record(_REGION_FIELDS).size)
        region = values(_REGION_FIELDS, data)
        self._table = _Table(
            self, region["base"], region["length"], region["pages"], region["groups"]
        )

    def mappings(self) -> list[Mapping]:
        """All of them but the pager's table, in order of address."""
        text = os.fsdecode(Path(f"/proc/{self._process}/maps").read_bytes())
        found = []
        for line in text.removesuffix("\n").split("\n"):  # names may have other ends of lines
            match = _LINE.match(line)
            assert match is not None, line
            begin, end, access, offset, inode, name = match.groups()
            numbers = int(begin, 16), int(end, 16), access, int(offset, 16), int(inode)
            mapping = Mapping(*numbers, name)
            if not self._table.holds(mapping):
                found.append(mapping)
        return found

    def runs(self, mapping: Mapping) -> Iterator[tuple[int, int]]:
        """The ranges of a mapping that hold something: not zeros, and not what its file has."""
        if mapping.name == "[vdso]":
            yield mapping.begin, mapping.end
            return
        present = self.present(mapping.begin, mapping.end, written=mapping.of_file)
        pages = sorted({*present, *self._table.used(mapping.begin, mapping.end)})
        if mapping.of_file and mapping.offset == 0 and mapping.begin // PAGE not in pages[:1]:
            pages.insert(0, mapping.begin // PAGE)  # a program's head, by which it is known
        for _, side_by_side in itertools.groupby(enumerate(pages), lambda pair: pair[1] - pair[0]):
            run = [page for _, page in side_by_side]
            yield run[0] * PAGE, (run[-1] + 1) * PAGE

    def read(self, at: int, length: int) -> bytes:
        """Its contents. Raises NearfarError."""
        return read_memory(self._process, at, length)

    def present(self, begin: int, end: int, *, written: bool = False) -> Iterator[int]:
        """The pages between two addresses that are in RAM or swapped out; if `written`, no page
        that is as a file has it.
        """
        with Path(f"/proc/{self._process}/pagemap").open("rb", buffering=0) as pagemap:
            for page in range(begin // PAGE, end // PAGE, _AT_ONCE):
                count = min(_AT_ONCE, end // PAGE - page)
                pagemap.seek(page * 8)
                words = memoryview(pagemap.read(count * 8)).cast("Q")
                for i, word in enumerate(words):
                    if word & _PRESENT_OR_SWAPPED and not (written and word & _OF_FILE):
                        yield page + i


class _Table:
    """The pager's table of pages, in the memory of the process itself."""

    def __init__(self, memory: Memory, base: int, length: int, entries: int, ranks: int) -> None:
        self._memory, self._first, self._entries = memory, base // PAGE, entries
        self._groups = list(self._in_use(ranks, ranks + length // PAGE // _GROUP * _RANK_BYTES))

    def _in_use(self, ranks: int, end: int) -> Iterator[int]:
        """The groups whose rank is not 0. Of millions that are mostly gaps only what is there is
        read: the rest would be there afterwards.
        """
        for page in self._memory.present(ranks, end):
            words = memoryview(self._memory.read(page * PAGE, PAGE)).cast("I")
            first = (page * PAGE - ranks) // _RANK_BYTES
            yield from (first + i for i, rank in enumerate(words) if rank)

    def holds(self, mapping: Mapping) -> bool:
        """Whether a mapping is of the table itself, which lies before the memory that it is of."""
        return self._entries <= mapping.begin and mapping.end <= self._first * PAGE

    def used(self, begin: int, end: int) -> Iterator[int]:
        """The pages between two addresses that are not fresh, wherever they are."""
        for group in self._groups:
            first = self._first + group * _GROUP
            if first >= end // PAGE or first + _GROUP <= begin // PAGE:
                continue
            size = _GROUP * _ENTRY_BYTES
            states = self._memory.read(self._entries + group * size, size)[_STATE_AT::_ENTRY_BYTES]
            for i, state in enumerate(states):
                if state and begin // PAGE <= first + i < end // PAGE:
                    yield first + i


class _Vector(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


_read_process = ctypes.CDLL(None, use_errno=True).process_vm_readv
_read_process.restype = ctypes.c_ssize_t
_read_process.argtypes = (
    ctypes.c_int, ctypes.c_void_p, ctypes.c_ulong, ctypes.c_void_p, ctypes.c_ulong, ctypes.c_ulong,
)  # fmt: skip
