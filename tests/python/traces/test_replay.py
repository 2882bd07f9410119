"""Traces through a model: every packing gives the same, every bad file is one line."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as some

import nearfar
from conftest import Run
from nearfar import InputError
from nearfar.results import ReplayResult, parse
from nearfar.simulate.traces import unpack

DRAM = "model:ddr4-2666"
# A Ramulator 2 load/store trace: sequential reads, and a write after every eighth.
LINES = [
    f"LD {64 * i:#x}\n" + (f"ST {(1 << 20) + 64 * i:#x}\n" if i % 8 == 7 else "")
    for i in range(4000)
]
TRACE = "".join(LINES).encode()


def zipped(*members: bytes) -> bytes:
    """Members of an archive, as drmemtrace cuts a trace into them."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, member in enumerate(members):
            archive.writestr(f"chunk.{number:04}", member)
    return file.getvalue()


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "plain": lambda data: data,
    "gzip": gzip.compress,
    "zstandard": zstandard.ZstdCompressor(write_checksum=True).compress,
    "bzip2": bz2.compress,
    "zip": lambda data: zipped(data[:9000], data[9000:]),
    "two gzip members": lambda data: gzip.compress(data[:9000]) + gzip.compress(data[9000:]),
    "two zstandard frames": lambda data: zstandard.compress(data[:9000])
    + zstandard.compress(data[9000:]),
}


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "trace.txt"
    path.write_bytes(TRACE)
    return path


def played(path: Path, **options: object) -> ReplayResult:
    given: dict[str, Any] = {"format": "ramulator", "pace": "asap", **options}
    return nearfar.replay(DRAM, path, nearfar.ReplayOptions(**given))


@pytest.mark.parametrize("packing", PACKED)
def test_packing_changes_nothing(packing: str, trace: Path) -> None:
    plain = played(trace)
    trace.write_bytes(PACKED[packing](TRACE))
    assert played(trace) == plain


def test_every_request_is_counted_and_the_rate_follows(trace: Path) -> None:
    result = played(trace)
    assert (result.requests, result.reads, result.writes) == (4500, 4000, 500)
    assert result.gb_per_s == pytest.approx(4500 * 64 / (result.elapsed_ps / 1000))
    assert 0 < result.read_p50_ns <= result.read_p99_ns <= result.read_p999_ns
    assert result.read_p999_ns <= result.read_max_ns * 1.008  # the percentiles are rounded up


def test_commands_are_counted_by_kind(trace: Path) -> None:
    commands = played(trace).commands
    assert commands["RD"] == 4000
    # A write may wait in the queue for ever: it has completed when it was accepted.
    assert 400 < commands["WR"] <= 500
    assert 0 < commands["ACT"] <= 4500


def test_more_outstanding_requests_are_faster(trace: Path) -> None:
    elapsed = [played(trace, outstanding=n).elapsed_ps for n in (1, 4, 32)]
    assert elapsed[0] > elapsed[1] > elapsed[2]


def test_the_format_is_told_by_the_trace(trace: Path) -> None:
    assert played(trace, format="auto") == played(trace)
    assert played(trace, format="auto").trace["format"] == "ramulator"


def test_a_slower_clock_of_the_trace_stretches_it(tmp_path: Path) -> None:
    path = tmp_path / "t.trc"
    path.write_text("".join(f"{64 * i:#x} READ {100 * i}\n" for i in range(200)))
    fast, slow = (
        nearfar.replay(DRAM, path, nearfar.ReplayOptions(format="dramsim3", clock_ps=period))
        for period in (750, 1500)
    )
    assert slow.elapsed_ps > 1.9 * fast.elapsed_ps
    assert fast.late == slow.late == 0


def test_the_command_trace_has_a_line_for_each_command(trace: Path, tmp_path: Path) -> None:
    result = played(trace, command_trace=tmp_path / "commands.csv")
    header, *rows = (tmp_path / "commands.csv").read_text().splitlines()
    assert header == "time_ps,device,channel,rank,bank_group,bank,command,row,column"
    kinds = [row.split(",")[6] for row in rows]
    assert sum(kind.startswith("RD") for kind in kinds) == result.commands["RD"]
    assert sum(kind.startswith("WR") for kind in kinds) == result.commands["WR"]
    assert kinds.count("ACT") == result.commands["ACT"]
    times = [int(row.split(",")[0]) for row in rows]
    assert times == sorted(times)


def test_a_command_trace_may_have_a_name_that_is_no_unicode(trace: Path, tmp_path: Path) -> None:
    commands = tmp_path / os.fsdecode(b"commands\xff.csv")
    played(trace, command_trace=commands)
    assert commands.read_text().startswith("time_ps,")


# Files that are not what they should be


@pytest.mark.parametrize("packing", ["gzip", "zstandard"])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_a_truncated_file_is_an_error_wherever_it_ends(
    packing: str, share: float, trace: Path
) -> None:
    whole = PACKED[packing](TRACE)
    trace.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(InputError, match=f"trace.txt: truncated {packing} file"):
        played(trace)


@pytest.mark.parametrize("packing", ["gzip", "zstandard"])
def test_a_damaged_file_is_an_error(packing: str, trace: Path) -> None:
    packed = bytearray(PACKED[packing](TRACE))
    for i in range(len(packed) // 2, len(packed) // 2 + 40):
        packed[i] ^= 0xFF
    trace.write_bytes(packed)
    with pytest.raises(InputError, match=f"trace.txt: (damaged|truncated) {packing} file"):
        played(trace)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "empty file, expected a trace"),
        (gzip.compress(b"", mtime=0), "gzip file without content"),
        (zstandard.compress(b""), "zstandard file without content"),
    ],
)
def test_an_empty_file_is_an_error(content: bytes, complaint: str, trace: Path) -> None:
    trace.write_bytes(content)
    with pytest.raises(InputError, match=complaint):
        played(trace)


@given(some.binary(max_size=4000), some.sampled_from(sorted(PACKED)), some.integers(4, 300))
@settings(max_examples=60)
def test_unpacking_gives_back_every_byte_however_it_is_read(
    data: bytes, packing: str, piece: int
) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(unpack, "PIECE", piece)
        path = Path(folder) / "t"
        path.write_bytes(PACKED[packing](data))
        if data and not (packing == "plain" and data[:2] == b"\x1f\x8b"):
            assert b"".join(unpack.pieces(path)) == data


# The command


def test_the_command_reports_what_the_function_returns(nearfar: Run, trace: Path) -> None:
    status, out, err = nearfar(
        *("replay", DRAM, trace, "--format", "ramulator", "--pace", "asap"),
        *("--outstanding", "8", "--clock", "2666MT/s", "--json", "-"),
    )
    assert (status, err) == (0, "")
    assert parse(json.loads(out)) == played(trace, outstanding=8, clock_ps=750)


def test_text_names_the_figures(nearfar: Run, trace: Path) -> None:
    status, out, _ = nearfar("replay", DRAM, trace)
    assert status == 0
    for name in ("requests", "elapsed", "bandwidth", "read latency p99", "commands ACT"):
        assert f"\n{name} " in out


def test_bad_input_is_one_line(refused: Callable[..., str], trace: Path, tmp_path: Path) -> None:
    assert "No such file" in refused("replay", DRAM, tmp_path / "none")
    assert "Is a directory" in refused("replay", DRAM, tmp_path)
    assert "ramulator" in refused("replay", DRAM, trace, "--format", "ramulater")
    assert "outstanding: found 0" in refused("replay", DRAM, trace, "--outstanding", "0")
    assert "expected a clock" in refused("replay", DRAM, trace, "--clock", "fast")
    no_folder = "/no/such/folder/c.csv"
    assert no_folder in refused("replay", DRAM, trace, "--command-trace", no_folder)


def test_a_bad_line_is_named_with_its_file_and_number(
    refused: Callable[..., str], tmp_path: Path
) -> None:
    path = tmp_path / "bad.txt"
    path.write_text("LD 0x0\nLD 0x40\nLOAD 0x80\n")
    assert f"{path}:3: " in refused("replay", DRAM, path, "--format", "ramulator")
    path.write_text("LD 0x0\nLD 0xffffffffffff\n")
    named = ("--format", "ramulator", "--frames", "refuse")
    assert f"{path}:2: " in refused("replay", DRAM, path, *named)
