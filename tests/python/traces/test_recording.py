"""Traces on their way from the front end to files: whatever happens, what arrived can be read."""

from __future__ import annotations

import errno
import os
import socket
import struct
from pathlib import Path

import pytest
import zstandard

import nearfar
from nearfar.errors import NearfarError
from nearfar.simulate.traces.recording import Recording

HEADER = (
    b'nearfar-trace 1 {"schema": "nearfar/trace/1", "kind": "memory", "counts": "instructions"}\n'
)
RECORD = b"\x18\x02"  # one instruction on, a whole line is read, the one behind the last


def send(name: str, piece: bytes, records: int, *, process: int = 7, program: int = 0) -> bytes:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(name)
        connection.sendall(struct.pack("=QQQ", process, program, records) + piece)
        connection.shutdown(socket.SHUT_WR)
        return connection.recv(1)


def recorded(path: Path) -> tuple[int, str]:
    info = nearfar.trace_info(path)
    return info.records, info.problem


def test_pieces_become_a_trace_that_is_whole(tmp_path: Path) -> None:
    recording = Recording(tmp_path / "t.nft")
    with recording.listening(str(tmp_path)) as name:
        assert send(name, HEADER + 3 * RECORD, 3) == b"k"
        assert send(name, 2 * RECORD, 5) == b"k"
        assert not (tmp_path / "t.nft").exists()
    (made,) = recording.finish()
    assert (made.file, made.records) == (str(tmp_path / "t.nft"), 5)
    assert recorded(tmp_path / "t.nft") == (5, "")
    with zstandard.open(tmp_path / "t.nft") as file:
        assert file.read() == HEADER + 5 * RECORD + b"\x16\x05"


def test_every_program_of_every_process_has_its_own(tmp_path: Path) -> None:
    recording = Recording(tmp_path / "t.nft")
    with recording.listening(str(tmp_path)) as name:
        send(name, HEADER + 3 * RECORD, 3, process=8)  # a child, which ends before its parent
        send(name, HEADER + RECORD, 1)
        send(name, HEADER + 4 * RECORD, 4, program=1)
        send(name, RECORD, 2)
    files = {Path(made.file).name: made.records for made in recording.finish()}
    assert files == {"t.nft": 2, "t-2.nft": 4, "t-3.nft": 3}
    assert recorded(tmp_path / "t-3.nft") == (3, "")


def test_a_message_that_breaks_off_is_not_stored(tmp_path: Path) -> None:
    recording = Recording(tmp_path / "t.nft")
    with recording.listening(str(tmp_path)) as name:
        send(name, HEADER + RECORD, 1)
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(name)
            connection.sendall(b"nine bytes")
    recording.finish()
    assert recorded(tmp_path / "t.nft") == (1, "")


@pytest.mark.parametrize("room", [0, 60, 150, 215, 100_000])
def test_a_full_disk_keeps_what_is_there(
    room: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever the disk's end lies, also where not even the end of the trace has room."""
    write = os.write

    def limited(stream: int, data: memoryview) -> int:
        free = room - os.lseek(stream, 0, os.SEEK_CUR)
        if free <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(stream, data[:free])

    monkeypatch.setattr(os, "write", limited)
    recording = Recording(tmp_path / "t.nft")
    stored = 0
    with recording.listening(str(tmp_path)) as name:
        for i in range(1, 40):
            records = b"".join(bytes([0x18, i * k % 128]) for k in range(50))
            if send(name, (HEADER if i == 1 else b"") + records, 50 * i) == b"k":
                stored = 50 * i
    if room == 100_000:
        assert recording.finish()[0].records == stored == 39 * 50
        return
    with pytest.raises(NearfarError, match=r"t\.nft: No space left on device; ") as raised:
        recording.finish()
    assert not list(tmp_path.glob("*.part"))
    if "no records are kept" in str(raised.value):
        assert not (tmp_path / "t.nft").exists()
        return
    records, problem = recorded(tmp_path / "t.nft")
    assert problem == ""
    assert f"the first {records} records are kept" in str(raised.value)
    assert stored - 50 <= records <= stored
