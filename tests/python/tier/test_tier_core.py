"""Core files of programs on two tiers that go on."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from holding import HELD, MIB, Start, holdings, the_sum
from nearfar.tier.client import find
from nearfar.tier.core.pages import Mapping
from nearfar.tier.far import LARGEST
from tiered import command, needs_tier

pytestmark = needs_tier
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Start the program with so many MiB of near memory."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with holdings(tmp_path, tmp_path) as begin:
        yield begin


@pytest.mark.parametrize(
    ("size", "access", "is_read"),
    [(LARGEST, "rw-s", False), (LARGEST // 2, "rw-s", True), (LARGEST, "rw-p", True)],
)
def test_far_memory_is_known_by_what_it_is(size: int, access: str, is_read: bool) -> None:
    far_file = Mapping(MIB, MIB + size, access, 0, 7, "/mnt/pool/far (deleted)")
    assert far_file.readable == is_read


def segments(core: Path) -> list[tuple[int, int, int, int]]:
    """A core file's segments of memory: where each is in the file, where it was, its bytes there
    and in memory."""
    with core.open("rb") as file:
        head = struct.unpack("<16sHHIQQQIHHHHHH", file.read(64))
        assert (head[0][:4], head[1], head[2]) == (b"\x7fELF", 4, 62)
        file.seek(head[5])
        every = [struct.unpack("<IIQQQQQQ", file.read(head[9])) for _ in range(head[10])]
    return [(words[2], words[3], words[5], words[6]) for words in every if words[0] == 1]


def loaded(core: Path, at: int, length: int) -> bytes:
    """What a core file has at an address, by its segments."""
    found = b""
    with core.open("rb") as file:
        for offset, begin, size, _ in segments(core):
            if begin <= at + len(found) < begin + size:
                file.seek(offset + at + len(found) - begin)
                found += file.read(min(length - len(found), begin + size - at - len(found)))
    return found


@pytest.mark.parametrize("options", [(), ("--far", "compressed"), ("--pager-cpu", "per_cpu")])
def test_a_core_file_has_far_memory_and_the_program_goes_on(
    start: Start, nearfar: Run, tmp_path: Path, refused: Callable[..., str], options: Sequence[str]
) -> None:
    holding = start(8, *options)
    core = tmp_path / "core"
    status, out, err = nearfar("tier", "core", str(holding.pid), "-o", str(core))
    assert (status, err) == (0, "")
    assert out.startswith(f"{core}: ")
    assert core.stat().st_mode & 0o777 == 0o600
    assert core.stat().st_blocks * 512 < 4 * HELD  # what was never used is a hole
    assert hashlib.sha1(loaded(core, holding.at, HELD)).hexdigest() == the_sum()
    assert core.stat().st_size < 1 << 30  # the table of pages is not part of it
    # What the pager shares with others is not the program's memory.
    assert all(size == 0 for _, _, size, memory in segments(core) if memory >= LARGEST)
    stats = find(holding.pid).stats
    assert stats["near_bytes"] <= stats["near_limit_bytes"] == 8 * MIB
    assert stats["over_budget"] == 0
    assert "is there already" in refused("tier", "core", str(holding.pid), "-o", str(core))
    assert holding.sum() == the_sum()
    assert holding.end() == 0


def test_files_of_any_name_may_be_mapped(nearfar: Run, tmp_path: Path) -> None:
    names = [b"a\rb", b"a\xc2\x85b", b"a\xe2\x80\xa8b", b"a\x0cb", b"a\xffb", b"a\nb"]
    files = [os.fsencode(tmp_path) + b"/" + name for name in names]
    for file in files:
        Path(os.fsdecode(file)).write_bytes(b"mapped" * 1000)
    code = """
import mmap, sys
files = [open(name, "rb") for name in sys.argv[1:]]
mapped = [mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) for file in files]
print("ready", flush=True)
sys.stdin.read()
"""
    words = command("64MiB", tmp_path / "far", sys.executable, "-c", code,
                    *map(os.fsdecode, files), result=tmp_path / "result.json")  # fmt: skip
    core = tmp_path / "core"
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as run:
        assert run.stdout is not None
        run.stdout.readline()
        status, _, err = nearfar("tier", "core", str(run.pid), "-o", str(core))
    assert (status, err) == (0, "")
    with core.open("rb") as file:
        head = file.read(MIB)  # which has the names
    assert all(name.replace(b"\n", b"\\012") + b"\0" in head for name in files)


@pytest.mark.skipif(shutil.which("gdb") is None, reason="no gdb")
def test_gdb_reads_a_core_file_with_its_threads(start: Start, nearfar: Run, tmp_path: Path) -> None:
    holding = start(8)
    core = tmp_path / "core"
    assert nearfar("tier", "core", str(holding.process), "-o", str(core))[0] == 0
    last = holding.at + HELD - 8
    words = ["gdb", "-nx", "-batch", "-ex", "info threads", "-ex", f"x/1gx {last}"]
    gdb = subprocess.run(
        [*words, os.path.realpath(sys.executable), str(core)], capture_output=True, text=True,
        check=True, timeout=100,
    )  # fmt: skip
    assert f"(LWP {holding.process})" in gdb.stdout, gdb.stdout + gdb.stderr
    expected = random.Random(HELD - MIB).randbytes(MIB)[-8:][::-1].hex()
    assert f"0x{expected}" in gdb.stdout, gdb.stdout + gdb.stderr


def test_a_core_file_is_of_one_process_that_runs(
    start: Start, nearfar: Run, tmp_path: Path, refused: Callable[..., str]
) -> None:
    holding = start(16, children=1)
    core = tmp_path / "core"
    assert "found 2 processes, expected one of" in refused(
        "tier", "core", str(holding.pid), "-o", str(core)
    )
    os.kill(holding.process, signal.SIGSTOP)
    status, _, err = nearfar("tier", "core", str(holding.process), "-o", str(core))
    os.kill(holding.process, signal.SIGCONT)
    assert (status, core.exists()) == (1, False)
    assert f"`kill -CONT {holding.process}` comes first" in err
    assert nearfar("tier", "core", str(holding.process), "-o", str(core))[0] == 0
    assert hashlib.sha1(loaded(core, holding.at, HELD)).hexdigest() == the_sum()
