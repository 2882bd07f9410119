"""Traces of other tools as they come: virtual addresses, digits in an unknown base, and figures
that a trace does not let anyone measure.
"""

from __future__ import annotations

import importlib
import json
import os
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

import nearfar
from conftest import Run
from nearfar import InputError
from nearfar.simulate.traces.unpack import PIECE, pieces

DRAM = "model:ddr4-2666"
BUS = 21.33  # GB/s of DDR4-2666

VIRTUAL = "0 9618752\n13 140734746854976\n5 9618816\n"


def written(folder: Path, text: str | bytes, name: str = "t.trace") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


# Figures that were not measured


def test_a_trace_without_reads_has_no_read_latency(nearfar: Run, tmp_path: Path) -> None:
    trace = written(tmp_path, "0x0 WRITE 0\n0x40 WRITE 1\n")
    text = nearfar("replay", DRAM, trace)[1]
    assert "bandwidth" in text
    assert "latency" not in text
    result = json.loads(nearfar("replay", DRAM, trace, "--json", "-", "--quiet")[1])
    assert not any(name.startswith("read_p") or name == "read_max_ns" for name in result)


def test_writes_are_waited_for_unless_told_otherwise(run_replay: Callable[..., dict]) -> None:
    text = "".join(f"{64 * i:#x} WRITE 0\n" for i in range(32))
    waited = run_replay(text)
    assert waited["gb_per_s"] < BUS
    assert waited["commands"]["WR"] == 32
    accepted = run_replay(text, "--no-drain", "--pace", "asap")
    assert accepted["elapsed_ps"] < waited["elapsed_ps"]
    assert accepted["trace"].get("drain") is None


def test_a_trace_that_takes_no_time_has_no_bandwidth(nearfar: Run, tmp_path: Path) -> None:
    trace = written(tmp_path, "0x0 WRITE 0\n0x40 WRITE 0\n")
    options = ("--no-drain", "--pace", "asap")
    assert "bandwidth" not in nearfar("replay", DRAM, trace, *options)[1]
    result = json.loads(nearfar("replay", DRAM, trace, *options, "--json", "-", "--quiet")[1])
    assert "gb_per_s" not in result


def test_accesses_without_a_cycle_are_not_called_in_time(run_replay: Callable[..., dict]) -> None:
    assert "late" not in run_replay("0x0 READ 0\n", "--pace", "asap")
    assert run_replay("0x0 READ 0\n")["late"] == 0


def test_text_says_what_a_rate_of_accepted_writes_counts(nearfar: Run, tmp_path: Path) -> None:
    trace = written(tmp_path, "0x0 WRITE 0\n0x40 WRITE 1\n")
    assert "accepted, not drained" in nearfar("replay", DRAM, trace, "--no-drain")[1]


def test_a_trace_without_accesses_has_no_shares_and_no_range(nearfar: Run, tmp_path: Path) -> None:
    header = json.dumps(
        {"schema": "nearfar/trace/1", "kind": "memory", "counts": "cycles", "time": "relative"}
    )
    trace = written(tmp_path, f"nearfar-trace 1 {header}\n".encode() + b"\x04\x16\x01", "t.nft")
    text = nearfar("trace", "info", trace)[1]
    assert "store_fence" in text
    assert "address range" not in text
    assert "%" not in text
    assert "read_share" not in json.loads(nearfar("trace", "info", trace, "--json", "-")[1])


def test_a_short_stream_says_that_its_rate_counts_queued_lines(nearfar: Run) -> None:
    stream = ("measure", DRAM, "stream", "--op", "ntstore", "--agent", "none", "--lines")
    short = nearfar(*stream, "300")[1]
    assert "note: rates count lines that memory accepted" in short
    assert "note" not in nearfar(*stream, "40000")[1]


def test_a_stream_that_took_no_time_is_refused(refused: Callable[..., str]) -> None:
    message = refused(
        "measure", DRAM, "stream", "--op", "ntstore", "--agent", "none", "--lines", "16"
    )
    assert "give more --lines" in message


def test_a_crash_places_pages_beyond_memory(
    nearfar: Run, refused: Callable[..., str], tmp_path: Path
) -> None:
    trace = written(tmp_path, "ST 0x7fff00001000\nST 0x7fff00001040\n")
    crash = ("crash", "model:optane-100", trace, "--format", "ramulator", "--runs", "0")
    status, text, note = nearfar(*crash)
    assert (status, note.count("\n")) == (0, 1)
    assert "--frames first-touch" in note
    assert nearfar(*crash, "--frames", "first-touch") == (0, text, "")
    assert "found address 0x7fff00001000" in refused(*crash, "--frames", "refuse")


@pytest.fixture
def run_replay(nearfar: Run, tmp_path: Path) -> Callable[..., dict]:
    def run(text: str, *options: str) -> dict:
        trace = written(tmp_path, text)
        found: dict = json.loads(
            nearfar("replay", DRAM, trace, *options, "--json", "-", "--quiet")[1]
        )
        return found

    return run


# Where pages lie


@pytest.mark.parametrize("model", ["ddr4-2666", "optane-100", "optane-tiered"])
def test_addresses_beyond_memory_get_frames_in_order_of_first_touch(
    model: str, nearfar: Run, tmp_path: Path
) -> None:
    trace = written(tmp_path, VIRTUAL)
    status, text, note = nearfar("replay", f"model:{model}", trace)
    assert status == 0
    assert "requests" in text
    assert note.count("\n") == 1
    assert "--frames first-touch" in note
    assert nearfar("replay", f"model:{model}", trace, "--frames", "first-touch") == (0, text, "")


def test_a_result_says_that_frames_were_given(tmp_path: Path) -> None:
    assert nearfar.replay(DRAM, written(tmp_path, VIRTUAL)).trace["frames"] == "first-touch"
    physical = nearfar.replay(DRAM, written(tmp_path, "0 9618752\n"))
    assert "frames" not in physical.trace


def test_a_command_trace_is_of_the_frames_that_were_used(tmp_path: Path) -> None:
    commands = tmp_path / "c.csv"
    nearfar.replay(DRAM, written(tmp_path, VIRTUAL), nearfar.ReplayOptions(command_trace=commands))
    rows = [line.split(",") for line in commands.read_text().splitlines()[1:]]
    assert [row[6] for row in rows].count("ACT") == 1, "both pages lie in one row"
    assert list(tmp_path.glob("c.csv*")) == [commands]


def test_folded_addresses_lie_in_memory(tmp_path: Path) -> None:
    result = nearfar.replay(DRAM, written(tmp_path, VIRTUAL), nearfar.ReplayOptions(frames="fold"))
    assert result.requests == 3
    assert result.trace["frames"] == "fold"


def test_refusing_names_the_other_frames(refused: Callable[..., str], tmp_path: Path) -> None:
    trace = written(tmp_path, VIRTUAL)
    message = refused("replay", DRAM, trace, "--frames", "refuse")
    assert message.startswith(f"{trace}:2: found address 0x7fff")
    assert "--frames first-touch or fold" in message


def test_a_programs_pages_may_be_folded_too(tmp_path: Path) -> None:
    trace = written(tmp_path, "I  04000000,3\n L 1ffefffe70,8\n", "t.lackey")
    assert nearfar.replay(DRAM, trace, nearfar.ReplayOptions(frames="fold")).requests == 1
    with pytest.raises(InputError, match="found 8 bytes at address 0x1ffefffe70"):
        nearfar.replay(DRAM, trace, nearfar.ReplayOptions(frames="refuse"))


# Lines that can be read in more than one way


def test_digits_without_a_base_are_refused(refused: Callable[..., str], tmp_path: Path) -> None:
    ids = written(tmp_path, "42932745\n42932746\n10\n", "ids.txt")
    for command in (("trace", "info"), ("replay", DRAM), ("tier", "replay")):
        message = refused(*command, ids)
        assert message.startswith(f"{ids}:1: found '42932745'")
        assert "--base 16 or --base 10" in message
        assert "--format" in message


def test_a_base_settles_what_digits_mean(nearfar: Run, tmp_path: Path) -> None:
    ids = written(tmp_path, "42932745\n42932746\n10\n", "ids.txt")
    for options, highest in (
        (("--base", "10"), "0x28f1a0a"),
        (("--base", "16"), "0x42932746"),
        (("--format", "vans"), "0x42932746"),
    ):
        text = nearfar("trace", "info", ids, *options)[1]
        assert highest in text, options


def test_a_base_is_refused_for_a_binary_trace(refused: Callable[..., str], tmp_path: Path) -> None:
    trace = written(tmp_path, bytes(64) + b"\0" * 64)
    message = refused("trace", "info", trace, "--format", "champsim", "--base", "10")
    assert "leave --base out" in message


def test_a_trace_of_dramsys_is_told_by_its_name(
    nearfar: Run, refused: Callable[..., str], tmp_path: Path
) -> None:
    text = "31: read 0x400140\n2: (128) write 0x400160 0x1234\n"
    assert "dramsys\n" in nearfar("trace", "info", written(tmp_path, text, "a.stl"))[1]
    relative = nearfar("trace", "info", written(tmp_path, text, "a.rstl"))[1]
    assert "dramsys-relative" in relative
    message = refused("trace", "info", written(tmp_path, text, "a.txt"))
    assert "--format dramsys (.stl) or --format dramsys-relative (.rstl)" in message


# The neighbours


def test_operations_of_dramsim2_are_read(nearfar: Run, tmp_path: Path) -> None:
    trace = written(tmp_path, "0x2000 IFETCH 30\n0x3000 WRITE 160\n0x2040 P_LOCK_RD 165\n")
    result = json.loads(nearfar("trace", "info", trace, "--json", "-")[1])
    assert (result["operations"]["read"], result["operations"]["write"]) == (2, 1)


def test_a_byte_order_mark_is_skipped(tmp_path: Path) -> None:
    marked = nearfar.trace_info(written(tmp_path, b"\xef\xbb\xbf0x40 READ 1\n"))
    assert (marked.format, marked.records) == ("dramsim3", 1)


def test_nvmain_is_read_written_and_keeps_threads(tmp_path: Path) -> None:
    data = "00" * 64
    text = f"NVMV1\n3 W 0x40 {data} {data} 2\n9 R 0x80 {data} {data} 0\n"
    trace = written(tmp_path, text, "t.nvt")
    packed, back = tmp_path / "t.nft", tmp_path / "back.nvt"
    nearfar.convert_trace(trace, packed)
    assert nearfar.trace_info(packed).threads == {"0": 1, "2": 1}
    nearfar.convert_trace(packed, back)
    assert back.read_text() == text


def test_a_trace_of_dynamorio_plays_as_a_program(tmp_path: Path) -> None:
    entries = [(25, 0, 5), (22, 0, 77), (10, 3, 0x400000), (0, 8, 0x7FFF1000), (26, 0, 0)]
    trace = written(tmp_path, b"".join(struct.pack("<HHQ", *entry) for entry in entries))
    info = nearfar.trace_info(trace)
    assert (info.format, info.kind, info.counts) == ("memtrace", "program", "instructions")
    assert nearfar.replay(DRAM, trace).reads == 1
    with pytest.raises(InputError, match="output-format: found 'memtrace'"):
        nearfar.convert_trace(
            trace, tmp_path / "out", nearfar.ConvertOptions(output_format="memtrace")
        )


# Names and headers that are no text


def test_a_file_may_be_called_by_bytes_that_are_no_text(nearfar: Run, tmp_path: Path) -> None:
    trace = tmp_path / os.fsdecode(b"\xff.trace")
    trace.write_text("LD 0x40\nST 0x80\n")
    for command in (("trace", "info"), ("replay", DRAM), ("tier", "replay", "--near", "1MiB")):
        status, _, err = nearfar(*command, "--quiet", str(trace))
        assert status == 0, err
    trace.write_text("LD 0x40\nLOAD 0x80\n")
    status, _, err = nearfar("replay", DRAM, str(trace))
    assert status == 2
    assert r"\xff.trace:2: found 'LOAD 0x80'" in err


def test_a_header_that_is_no_text_is_shown_in_escapes(nearfar: Run, tmp_path: Path) -> None:
    header = b'nearfar-trace 1 {"schema": "nearfar/trace/1", "kind": "memory", "counts": "cycles", '
    header += b'"time": "relative", "command": "a\xdcb"}\n'
    trace = written(tmp_path, header + b"\x08\x02\x16\x01", "t.nft")
    status, text, _ = nearfar("trace", "info", trace)
    assert status == 0
    assert r"a\xdcb" in text


# Packed files


@pytest.mark.parametrize(
    ("packing", "most"),
    [("gzip", PIECE), ("bz2", PIECE), ("lzma", PIECE), ("zstandard", 128 << 20)],
)
def test_a_file_however_tightly_packed_is_unpacked_some_of_it_at_a_time(
    tmp_path: Path, packing: str, most: int
) -> None:
    packer = importlib.import_module(packing)
    content = bytes(160 << 20)
    trace = written(tmp_path, packer.compress(content) + packer.compress(b"end"), "t.packed")
    sizes, end = [], b""
    for piece in pieces(trace):
        sizes.append(len(piece))
        end = piece[-3:]
    assert sum(sizes) == len(content) + 3
    assert end == b"end"
    assert 0 < min(sizes) <= max(sizes) <= most
