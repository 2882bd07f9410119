"""Programs of persistent operations made from a recorded trace or from a pattern.

Neither holds data. Each store writes its number, a trace's record or a pattern's line, so that an
invariant can tell which stores a state has.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from nearfar.errors import InputError, check_one_of
from nearfar.measuring.core import filled, load_core
from nearfar.measuring.patterns import Chase, Overwrite, Pattern, Stream
from nearfar.measuring.quantity import LINE
from nearfar.measuring.run import chase_struct, check_for_model, stream_struct
from nearfar.model import Model
from nearfar.simulate.crashes.program import (
    KINDS,
    STORES,
    WITHOUT_ADDRESS,
    CrashProgram,
    Operation,
)
from nearfar.simulate.traces.file import shown, trace_pieces
from nearfar.simulate.traces.formats import readable
from nearfar.simulate.traces.unpack import exact_end

MOST_OPERATIONS = 100_000
_WORD = 8
_PIECE = 1 << 16  # bytes of a trace whose records are held at a time
_MOVED = 65535  # the thread of lines that a placement policy moves

# In the order of the core's trace::Access.
_READ, _WRITE, _NT_WRITE, _FLUSH, _STORE_FENCE, _FULL_FENCE = range(6)
_FENCES = {_STORE_FENCE: "sfence", _FULL_FENCE: "mfence"}

T = TypeVar("T")
Record = tuple[int, int, int, int, int]  # place, thread, access, address, bytes
Area = tuple[int, int]  # first byte, bytes


def of_trace(
    path: str | Path,
    *,
    format: str = "auto",
    base: int | None = None,
    first: int | None = None,
    last: int | None = None,
    thread: int | None = None,
    area: Area | None = None,
) -> CrashProgram:
    """What a trace's records store, flush and fence, up to but without record `last`.

    Of memory's traffic a line written back is a store of it that may persist from then on, a
    flush a store with its clwb, each of a whole line; of a program's accesses every word written
    is a store. `first` is given a label of its number: crashes after it are those after that
    record. Only `thread`, and only what lies in `area`, if given.

    Raises InputError for a trace that cannot be read, or is too long.
    """
    check_one_of("format", format, readable())
    program = CrashProgram(Path(path).name)
    reading = _Reading(program, first, last, thread, area)
    for record, of_program in _records(path, format, base):
        if not reading.add(record, of_program):
            break
    reading.close()
    return program


def give_frames(program: CrashProgram, frames: str | None, end: int) -> None:
    """Give the pages of a trace frames in the order in which they are stored to, if `frames` says
    so, or says nothing and an address is not below `end`, the memory's capacity.
    """
    if frames is not None:
        check_one_of("frames", frames, ("first-touch", "refuse"))
    stored = [one for one in program.operations if one.kind not in WITHOUT_ADDRESS]
    if frames == "refuse":
        program.frames.clear()
        return
    beyond = any(one.address >= end for one in stored)
    if not program.frames and (frames is not None or beyond):
        program.moved = frames is None
        for one in stored:
            program.touch(one.address, _WORD)


def of_pattern(model: Model, pattern: Pattern) -> CrashProgram:
    """What a microbenchmark of one point stores, flushes and fences, a line a store.

    Raises InputError for a pattern that stores nothing, of several points, or too long.
    """
    check_for_model(pattern)
    lines = _pattern_lines(pattern)
    if lines > MOST_OPERATIONS // 2:
        shorter = "--writes" if isinstance(pattern, Overwrite) else "--lines"
        raise InputError(
            f"{pattern.kind}: found {lines} lines to store, expected at most "
            f"{MOST_OPERATIONS // 2}: give fewer {shorter}"
        )
    program = CrashProgram(pattern.kind)
    number = 0
    steps = struct.iter_unpack("<5Q", _pattern_words(model, pattern))
    for kind, thread, address, value, _ in steps:
        number = value or number
        program.operations.append(Operation(KINDS[kind], thread, number, address, value))
    return _with_stores(program)


def mark(program: CrashProgram, number: int) -> None:
    """Put a label of this name behind the operations of a pattern's line `number`."""
    at = [i for i, operation in enumerate(program.operations) if operation.line == number]
    if not at:
        lines = program.operations[-1].line
        raise InputError(f"--from: found {number}, expected a line of the pattern, 1 to {lines}")
    label = Operation("label", program.operations[at[-1]].thread, number)
    program.operations.insert(at[-1] + 1, label)
    program.labels[str(number)] = 0


def cut(program: CrashProgram, number: int) -> None:
    """Leave out a pattern's lines from `number` on."""
    program.operations = [one for one in program.operations if one.line < number]
    _with_stores(program)


class _Reading:
    """Makes operations of records."""

    def __init__(
        self,
        program: CrashProgram,
        first: int | None,
        last: int | None,
        thread: int | None,
        area: Area | None,
    ) -> None:
        self._program = program
        self._first, self._last = first, last
        self._thread, self._area = thread, area
        self._records = 0

    def add(self, record: Record, of_program: bool) -> bool:
        """Adds one; False when no more are wanted."""
        place, thread = record[:2]
        if self._last is not None and place >= self._last:
            return False
        self._records = place
        if thread == _MOVED:
            raise InputError(
                f"{self._program.name}: record {place} moves a page, expected a recording "
                "whose pages stay where they are (with --place near, far or interleave)"
            )
        if self._thread in (None, thread):
            self._operations(record, of_program)
        if place == self._first:
            self._program.labels[str(place)] = 0
            self._program.operations.append(Operation("label", thread, place))
        if len(self._program.operations) > MOST_OPERATIONS:
            raise InputError(
                f"{self._program.name}: found more than {MOST_OPERATIONS} operations up to record "
                f"{place}, expected fewer: end before with --to, or choose with --thread or --area"
            )
        return True

    def close(self) -> None:
        if self._first is not None and not self._program.labels:
            raise InputError(
                f"--from: found record {self._first}, expected one before "
                f"{self._records + 1}, where {self._program.name} ends or --to stands"
            )
        _with_stores(self._program)

    def _operations(self, record: Record, of_program: bool) -> None:
        place, thread, access, address, size = record
        if access in _FENCES:
            self._append(_FENCES[access], thread, place)
            return
        if access == _READ or not self._wanted(address, size):
            return
        kind = "ntstore" if access == _NT_WRITE else "store"
        if not of_program:
            address -= address % LINE
            self._append(kind, thread, place, address, place)
        elif access != _FLUSH:
            for word in range(address - address % _WORD, address + size, _WORD):
                self._append(kind, thread, place, word, place)
        if of_program:
            self._program.touch(address, size)
        if access == _FLUSH:
            self._append("clwb", thread, place, address - address % LINE)

    def _wanted(self, address: int, size: int) -> bool:
        if self._area is None:
            return True
        first, length = self._area
        return address < first + length and first < address + size

    def _append(self, kind: str, thread: int, place: int, address: int = 0, value: int = 0) -> None:
        self._program.operations.append(Operation(kind, thread, place, address, value))


def _records(path: str | Path, format: str, base: int | None) -> Iterator[tuple[Record, bool]]:
    from nearfar import _core

    reader = _core.TraceRecords(name=shown(path), format=format, base=base or 0)
    with exact_end(reader):
        for piece in trace_pieces(path, format):
            for at in range(0, len(piece), _PIECE):
                for record in struct.iter_unpack("<5Q", reader.feed(piece[at : at + _PIECE])):
                    yield record, reader.of_program()
        for record in struct.iter_unpack("<5Q", reader.finish()):
            yield record, reader.of_program()


def _with_stores(program: CrashProgram) -> CrashProgram:
    if not any(operation.kind in STORES for operation in program.operations):
        raise InputError(f"{program.name}: found no store in it, so nothing can be lost")
    return program


def _pattern_lines(pattern: Pattern) -> int:
    if isinstance(pattern, Chase):
        region = _one(pattern.region, "region")
        return pattern.lines_for(region) * _one(pattern.threads, "threads")
    if isinstance(pattern, Overwrite):
        return pattern.writes * 4
    if isinstance(pattern, Stream):
        return pattern.lines_for(_one(pattern.access, "access"), _one(pattern.threads, "threads"))
    raise InputError(f"{pattern.kind}: found a pattern of loads, expected chase, overwrite, stream")


def _pattern_words(model: Model, pattern: Pattern) -> bytes:
    from nearfar import _core

    core = load_core()
    struct: Any
    if isinstance(pattern, Overwrite):
        struct = filled(core.OverwritePattern, pattern)
    elif isinstance(pattern, Chase):
        region, threads = _one(pattern.region, "region"), _one(pattern.threads, "threads")
        struct = chase_struct(core, pattern, region, threads, [_one(pattern.op, "op")])
    else:
        assert isinstance(pattern, Stream)
        for name in ("op", "access", "threads"):
            _one(getattr(pattern, name), name)
        _one(pattern.strides_for(pattern.access[0]), "stride")
        struct = stream_struct(core, pattern, next(pattern.points()))
    return _core.persistent_steps(model.export(), struct, seed=pattern.seed)


def _one(values: Sequence[T], name: str) -> T:
    if len(values) != 1:
        found = ", ".join(str(value) for value in values)
        raise InputError(f"{name}: found {found}, expected one: a crash is of one point")
    return values[0]
