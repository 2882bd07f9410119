"""Traces of programs: the front end sends what it records, and it becomes files here.

Whatever ends a recording, a signal, a full disk or a kill, the files hold what had arrived, and say
themselves that they are whole: a piece that the front end sends ends with a record, and the record
that ends a trace is written here.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import struct
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nearfar.errors import InputError, NearfarError, check_one_of
from nearfar.simulate.traces.packing import packer

_ABOUT = struct.Struct("=QQQ")  # process, its program, records so far
_STORED = b"k"
_PATH_BYTES = 107  # of a socket's name, which the kernel limits
_END = b"\x16"  # the tag of the record that ends a trace


# What the gaps of a trace are: times at which memory was asked, or instructions of the thread.
GAPS = ("time", "instructions")
# What is recorded: what reaches memory, or what the program executes.
KINDS = ("memory", "program")


@dataclass(frozen=True)
class RecordedTrace:
    """A file, and how many records are in it."""

    file: str
    records: int


class Recording:
    """Traces that are being recorded: `output` that of the program, and NAME-2, NAME-3 and so on
    those of its children and of what they execute, in order of their process ids.
    """

    def __init__(self, output: str | Path, *, gaps: str = "time", kind: str = "memory") -> None:
        check_one_of("gaps", gaps, GAPS)
        check_one_of("kind", kind, KINDS)
        self.gaps = gaps
        self.kind = kind
        self._output = Path(output)
        self._files: dict[tuple[int, int], _TraceFile] = {}
        self._failure: tuple[_TraceFile, OSError] | None = None  # the first

    @contextlib.contextmanager
    def listening(self, folder: str) -> Iterator[str]:
        """Takes pieces from a socket, whose name this gives, until the block ends."""
        name = f"{folder}/trace"
        if len(os.fsencode(name)) > _PATH_BYTES:
            raise InputError(f"TMPDIR: found {folder}, expected a name that is shorter")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(name)
            listener.listen(64)
            thread = threading.Thread(target=self._serve, args=(listener,))
            with _signals_elsewhere():
                thread.start()
            try:
                yield name
            finally:
                listener.shutdown(socket.SHUT_RDWR)
                thread.join()

    def finish(self) -> list[RecordedTrace]:
        """Makes the files whole and gives them their names.

        Raises NearfarError when not all could be stored; what could be is there.
        """
        files = [file for _, file in sorted(self._files.items())]
        for number, file in enumerate(files, 1):
            try:
                file.finish(self._name(number))
            except OSError as error:
                self._fail(file, error)
        if self._failure is not None:
            lost, why = self._failure
            kept = f"the first {lost.records}" if lost.records else "no"
            raise NearfarError(f"{lost.path}: {why.strerror}; {kept} records are kept")
        return [RecordedTrace(str(file.path), file.records) for file in files]

    @property
    def failed(self) -> bool:
        """Whether something could not be stored."""
        return self._failure is not None

    def _fail(self, file: _TraceFile, error: OSError) -> None:
        self._failure = self._failure or (file, error)

    def _serve(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection, contextlib.suppress(ConnectionError):
                self._take(connection)

    def _take(self, connection: socket.socket) -> None:
        message = bytearray()
        while piece := connection.recv(1 << 20):
            message += piece
        if len(message) < _ABOUT.size or self.failed:
            return
        process, program, records = _ABOUT.unpack_from(message)
        file = self._file(process, program)
        try:
            file.add(bytes(memoryview(message)[_ABOUT.size :]), records)
        except OSError as error:
            self._fail(file, error)
        else:
            connection.sendall(_STORED)

    def _file(self, process: int, program: int) -> _TraceFile:
        key = (process, program)
        if key not in self._files:
            part = f"{self._output.name}.{process}-{program}.part"
            self._files[key] = _TraceFile(self._output.with_name(part))
        return self._files[key]

    def _name(self, number: int) -> Path:
        name = self._output.stem + (f"-{number}" if number > 1 else "")
        return self._output.with_name(name + self._output.suffix)


class _TraceFile:
    """A trace that grows by whole frames, as the file `part` until it is whole."""

    def __init__(self, part: Path) -> None:
        self.path = part
        self.records = 0
        self._part = part
        self._packer = packer()
        self._ends = [(0, 0)]  # of every frame: where in the file, and how many records so far
        self._stream = -1

    def add(self, piece: bytes, records: int) -> None:
        if self._stream < 0:
            self._stream = os.open(self._part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        self._append(piece, records)
        self.records = records

    def finish(self, path: Path) -> None:
        """Ends the trace and names it `path`. On a disk without room for the end, the last frame
        makes some.
        """
        self.path = path
        if self._stream < 0:
            return
        try:
            while len(self._ends) > 1 and not self._ended():
                self._ends.pop()
            os.fsync(self._stream)
        finally:
            os.close(self._stream)
        self.records = self._ends[-1][1]
        if self.records:
            self._part.replace(self.path)
        else:
            self._part.unlink()

    def _ended(self) -> bool:
        records = self._ends[-1][1]
        try:
            self._append(_END + _varint(records), records)
        except OSError:
            return False
        return True

    def _append(self, piece: bytes, records: int) -> None:
        begin, _ = self._ends[-1]
        frame = memoryview(self._packer.compress(piece))
        end = begin + len(frame)
        os.ftruncate(self._stream, begin)
        os.lseek(self._stream, begin, os.SEEK_SET)
        while frame:
            frame = frame[os.write(self._stream, frame) :]
        self._ends.append((end, records))


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


@contextlib.contextmanager
def _signals_elsewhere() -> Iterator[None]:
    """A thread that begins in here gets no signals: the main one waits for them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
