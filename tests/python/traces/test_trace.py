"""`nearfar trace`: what a trace holds, and traces from one format to another."""

from __future__ import annotations

import json
import lzma
import math
import random
import re
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

import nearfar
from conftest import Run
from nearfar import InputError
from nearfar.simulate.traces.convert import FRAME
from nearfar.simulate.traces.formats import writable

DRAM = "model:ddr4-2666"
PAGE = Path(__file__).resolve().parents[3] / "docs" / "traces.md"
# A DRAMsim3 trace: reads 64 KiB apart, and a write after every fourth.
LINES = [
    f"{65_536 * i:#x} READ {40 * i}\n" + (f"{64 * i:#x} WRITE {40 * i + 9}\n" if i % 4 == 3 else "")
    for i in range(400)
]


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "t.dramsim3"
    path.write_text("".join(LINES))
    return path


@pytest.fixture
def packed(trace: Path) -> Path:
    path = trace.with_suffix(".nft")
    nearfar.convert_trace(trace, path)
    return path


def unpacked(path: Path) -> bytes:
    with zstandard.open(path) as file:
        content: bytes = file.read()
    return content


# Our own format


def example() -> tuple[str, bytes]:
    """The text of the page's worked example, and the bytes that it says follow the header."""
    shown = PAGE.read_text(encoding="utf-8").split("<!-- example -->")[1].split("```")[0]
    text = re.findall(r"^    (0x.*)$", shown, re.MULTILINE)
    return "\n".join(text) + "\n", bytes.fromhex(
        " ".join(re.findall(r"^\| `([0-9a-f ]+)` \|", shown, re.MULTILINE))
    )


def test_the_worked_example_is_written_as_shown(tmp_path: Path) -> None:
    text, expected = example()
    (tmp_path / "t.dramsim3").write_text(text)
    converted = nearfar.convert_trace(tmp_path / "t.dramsim3", tmp_path / "t.nft")
    header, records = unpacked(tmp_path / "t.nft").split(b"\n", 1)
    assert (converted.records, converted.left_out) == (text.count("\n"), 0)
    assert records == expected
    name, version, described = header.split(b" ", 2)
    assert (name, version) == (b"nearfar-trace", b"1")
    assert json.loads(described) == {
        "schema": "nearfar/trace/1",
        "kind": "memory",
        "counts": "cycles",
        "time": "absolute",
        "command": "trace convert t.dramsim3",
        "creator": f"nearfar {nearfar.__version__}",
    }


def test_a_packed_trace_plays_as_the_text_did(trace: Path, packed: Path) -> None:
    text, own = nearfar.replay(DRAM, trace), nearfar.replay(DRAM, packed)
    assert own.trace["format"] == "nearfar"
    assert own.to_dict() | {"trace": None} == text.to_dict() | {"trace": None}


@pytest.mark.parametrize("format", sorted(set(writable()) - {"ramulator-cpu"}))
def test_reads_and_writes_survive_every_format(format: str, tmp_path: Path, trace: Path) -> None:
    there, back = tmp_path / "there", tmp_path / "back.ramulator"
    clock = 750 if format == "gem5" else None
    nearfar.convert_trace(
        trace, there, nearfar.ConvertOptions(output_format=format, clock_ps=clock)
    )
    nearfar.convert_trace(there, back, nearfar.ConvertOptions(format=format))
    straight = tmp_path / "straight.ramulator"
    nearfar.convert_trace(trace, straight)
    # ChampSim's address of 0 is none: another byte of that line stands for it.
    assert back.read_text().replace("LD 0x1\n", "LD 0x0\n") == straight.read_text()


def test_frames_are_bounded_and_a_file_may_have_many(tmp_path: Path) -> None:
    path = tmp_path / "t.vans"
    path.write_text("".join(f"{(i * 2654435761) % 2**40:#x} R\n" for i in range(60_000)))
    nearfar.convert_trace(path, tmp_path / "t.nft")
    assert len(unpacked(tmp_path / "t.nft")) > FRAME
    assert nearfar.trace_info(tmp_path / "t.nft").records == 60_000


def test_a_trace_in_xz_is_read(trace: Path) -> None:
    plain = nearfar.replay(DRAM, trace)
    trace.write_bytes(lzma.compress(trace.read_bytes()))
    assert nearfar.replay(DRAM, trace) == plain


# A part of a trace


def test_parts_of_a_trace_add_up_to_it(trace: Path) -> None:
    whole = nearfar.replay(DRAM, trace)
    first = nearfar.replay(DRAM, trace, nearfar.ReplayOptions(run=200))
    rest = nearfar.replay(DRAM, trace, nearfar.ReplayOptions(skip=200))
    assert (first.requests, first.requests + rest.requests) == (200, whole.requests)
    warmed = nearfar.replay(DRAM, trace, nearfar.ReplayOptions(skip=100, warm=100, run=50))
    assert warmed.requests == 50
    assert warmed.commands["RD"] + warmed.commands.get("WR", 0) <= 50


def test_commands_are_counted_by_the_device_that_takes_them(trace: Path) -> None:
    beside = nearfar.replay("model:optane-tiered", trace).commands_by_device
    assert set(beside) == {"near", "nvdimm"}
    assert "ACT" not in beside["nvdimm"], "all of the trace lies in the near tier"
    before = nearfar.replay("model:optane-memory-mode", trace)
    assert before.commands_by_device["nvdimm"]["ACT"] > 0
    for kind, count in before.commands.items():
        assert count == sum(one.get(kind, 0) for one in before.commands_by_device.values())
    assert set(nearfar.replay(DRAM, trace).commands_by_device) == {"dram"}


def test_a_part_that_is_not_there_is_an_error(refused: Callable[..., str], trace: Path) -> None:
    assert "after 500 records, expected more than the 500" in refused(
        "replay", DRAM, trace, "--skip", "500"
    )
    assert "skip: found -1" in refused("replay", DRAM, trace, "--skip", "-1")
    assert "run: found 0" in refused("replay", DRAM, trace, "--run", "0")


def test_near_memory_lies_before_far_memory(tmp_path: Path) -> None:
    model = nearfar.load_model("optane-100").override({"near.kind": "tier", "near.channels": 1})
    shape = ("ranks", "bank_groups", "banks", "rows", "columns")
    near = 8 * math.prod(int(model[f"near.dram.{name}"]) for name in shape)
    path = tmp_path / "t.vans"
    path.write_text("".join(f"{near * (i % 2) + 4096 * i:#x} R:500\n" for i in range(400)))
    replayed = nearfar.replay(model, path)
    reads = {"near": 0, "far": 0}
    for name, count in replayed.counters.items():
        if found := re.fullmatch(r"(near|far)\.channel\.\d+\.(dram\.)?reads", name):
            reads[found[1]] += count
    assert reads == {"near": 200, "far": 200}
    assert replayed.energy_pj_per_bit is not None


# What a trace holds


def test_info_counts_the_records(nearfar: Run, packed: Path) -> None:
    status, out, err = nearfar("trace", "info", packed, "--json", "-")
    assert (status, err) == (0, "")
    info = json.loads(out)
    assert info["records"] == 500
    assert (info["operations"]["read"], info["operations"]["write"]) == (400, 100)
    assert info["read_share"] == 0.8
    assert info["threads"] == {"0": 500}
    assert (info["lowest_address"], info["highest_address"]) == (0, 399 * 65_536)
    assert info["length"] == 399 * 40 + 9
    assert info["problem"] == ""
    status, out, _ = nearfar("trace", "info", packed)
    assert status == 0
    assert re.search(r"^records +500$", out, re.MULTILINE)
    assert re.search(r"^complete +yes$", out, re.MULTILINE)


def test_a_truncated_trace_is_reported_with_its_readable_part(
    nearfar: Run, refused: Callable[..., str], packed: Path
) -> None:
    content = unpacked(packed)
    packed.write_bytes(zstandard.compress(content[: len(content) // 2]))
    problem = refused("replay", DRAM, packed)
    assert re.search(r"t.nft: found the end of the file after \d+ records", problem)
    status, out, err = nearfar("trace", "info", packed, "--json", "-")
    assert status == 0
    assert err == f"nearfar: warning: {problem}\n"
    records = json.loads(out)["records"]
    assert 200 < records < 300
    assert f"after {records} records" in problem


def test_a_trace_that_ends_within_a_frame_is_reported_with_its_readable_part(
    refused: Callable[..., str], packed: Path
) -> None:
    whole = packed.read_bytes()
    packed.write_bytes(whole[:-10])
    assert "t.nft: truncated zstandard file" in refused("replay", DRAM, packed)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"\x7fELF\x02\x01\x01\0\0\0", "found binary data"),
        (b'nearfar-trace 3 {"schema": "nearfar/trace/3"}\n', "expected 'nearfar-trace 1' or 2"),
        (b'{"schema": "nearfar/result/1"}\n', "expected 'LD|ST|R|W ADDRESS"),
        (b"gem5\x02", "inside the header"),
        (b"", "empty file"),
    ],
)
def test_foreign_files_are_one_line(
    content: bytes, complaint: str, refused: Callable[..., str], tmp_path: Path
) -> None:
    path = tmp_path / "foreign"
    path.write_bytes(content)
    assert complaint in refused("replay", DRAM, path)
    assert complaint in refused("trace", "info", path)
    assert complaint in refused("trace", "convert", path, "-o", tmp_path / "out.nft")
    assert not (tmp_path / "out.nft").exists()


@pytest.mark.parametrize("format", ["auto", "nearfar", "lackey"])
def test_noise_is_reported_as_binary(
    refused: Callable[..., str], tmp_path: Path, format: str
) -> None:
    path = tmp_path / "noise"
    path.write_bytes(random.Random(1).randbytes(5000))
    hint = "; a trace of ChampSim needs --format champsim" if format == "auto" else ""
    said = f"{path}: found binary data, expected a trace{hint}"
    assert refused("trace", "info", path, "--format", format) == said
    assert refused("replay", DRAM, path, "--format", format) == said
    assert refused("tier", "replay", path, "--format", format) == said


def test_a_header_that_is_no_text_is_one_line(refused: Callable[..., str], tmp_path: Path) -> None:
    path = tmp_path / "t.nft"
    path.write_bytes(b"nearfar-trace \xff\xfe 1\n")
    assert r"found 'nearfar-trace \xff" in refused("trace", "info", path)


# Converting


def test_a_failed_conversion_leaves_the_old_file(
    refused: Callable[..., str], trace: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out.vans"
    output.write_text("old")
    with trace.open("a") as file:
        file.write("nonsense\n")
    assert f"{trace}:501: found 'nonsense'" in refused("trace", "convert", trace, "-o", output)
    assert output.read_text() == "old"
    assert list(tmp_path.iterdir()) in ([trace, output], [output, trace])


def test_names_that_tell_no_format_are_refused(refused: Callable[..., str], trace: Path) -> None:
    assert "no format follows from the name" in refused("trace", "convert", trace, "-o", "out.bin")
    assert "found .xz, expected .gz" in refused("trace", "convert", trace, "-o", "out.vans.xz")
    assert "nonsense" in refused(
        "trace", "convert", trace, "-o", "out.vans", "--output-format", "nonsense"
    )


def test_the_command_names_the_file_that_it_wrote(
    nearfar: Run, trace: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out.vans.gz"
    assert nearfar("trace", "convert", trace, "-o", output) == (0, f"{output}: 500 records\n", "")


def test_a_full_disk_is_one_line_and_leaves_nothing(trace: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.champsim"
    words = [sys.executable, "-m", "nearfar", "trace", "convert", str(trace), "-o", str(output)]
    limit = 64 * 1024

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    ended = subprocess.run(words, capture_output=True, text=True, check=False, preexec_fn=limited)
    assert ended.returncode == 2
    assert ended.stderr == f"nearfar: {output}: cannot write: File too large\n"
    assert list(tmp_path.iterdir()) == [trace]


def test_a_function_refuses_as_the_command_does(trace: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="format: found 'elf'"):
        nearfar.trace_info(trace, format="elf")
    with pytest.raises(InputError, match="expected a clock for the times of gem5"):
        nearfar.convert_trace(trace, tmp_path / "t.gem5")
