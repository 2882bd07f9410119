"""Far memory that is compressed gives back what was put there, and takes less room."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nearfar.tier.far import compressed
from tiered import FORKS, MIB, Tiered, command, native, needs_tier, run_tiered

HOLDS = """
import hashlib
held = {i: str(i) * 20 for i in range(60000)}
for i in range(0, 60000, 3):
    held[i] = str(-i) * 20
print(hashlib.sha1(repr(sorted(held.items())).encode()).hexdigest())
"""
# So many MiB of what is given, gone through twice.
KEEPS = """
import hashlib, random, sys
piece = {0}
held = [bytearray(piece) for _ in range({1})]
for _ in range(2):
    print(hashlib.sha1(b"".join(hashlib.sha1(part).digest() for part in held)).hexdigest())
"""
NOISE = "random.Random(1).randbytes(1 << 20)"
Run = Callable[..., Tiered]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run a Python program with 4 MiB near, far memory as it is named, and more options."""

    def start(program: str, far: str, *options: str) -> Tiered:
        result = tmp_path / "result.json"
        result.unlink(missing_ok=True)
        words = command("4MiB", far, sys.executable, "-c", program, result=result, options=options)
        ran = subprocess.run(
            words, capture_output=True, text=True, check=False, timeout=120, cwd=tmp_path
        )
        return Tiered(ran, result)

    return start


@needs_tier
@pytest.mark.parametrize(
    ("words", "compression"),
    [
        (("compressed",), "lz4"),
        (("compressed:zstd",), "zstd"),
        (("far", "--compress", "lz4"), "lz4"),
        (("node:0", "--compress", "zstd"), "zstd"),
    ],
)
def test_a_program_finds_what_it_left_in_compressed_memory(
    run: Run, tmp_path: Path, words: tuple[str, ...], compression: str
) -> None:
    ran = run(HOLDS, *words).covered()
    assert ran.out == native(sys.executable, "-c", HOLDS)
    assert ran.counts["compression"] == compression
    assert 0 < ran.counts["far_stored_peak_bytes"] < ran.counts["far_peak_bytes"] / 2
    assert ran.counts["far_peak_bytes"] > 4 * MIB
    assert ran.counts["clean_drops"] > 0
    assert list(tmp_path.iterdir()) == [tmp_path / "result.json"]


@needs_tier
@pytest.mark.parametrize("compression", ["lz4", "zstd"])
def test_forked_children_share_compressed_pages_until_one_writes(
    tmp_path: Path, compression: str
) -> None:
    options = ("--compress", compression)
    words = (sys.executable, "-c", FORKS)
    ran = run_tiered(tmp_path, "8MiB", *words, options=options).covered()
    assert ran.out == native(*words)
    assert ran.counts["forks"] == 2


@needs_tier
def test_pages_that_do_not_compress_take_their_whole_size(run: Run) -> None:
    program = KEEPS.format(NOISE, 32)
    ran = run(program, "compressed").covered()
    assert ran.out == native(sys.executable, "-c", program)
    assert ran.counts["far_stored_peak_bytes"] > ran.counts["far_peak_bytes"] * 0.9
    assert ran.counts["far_stored_peak_bytes"] <= ran.counts["far_peak_bytes"]


@needs_tier
def test_pages_of_one_word_over_and_over_cost_nothing(run: Run) -> None:
    program = KEEPS.format("b'\\x12\\x34\\x56\\x78' * (1 << 18)", 32)
    ran = run(program, "compressed").covered()
    assert ran.out == native(sys.executable, "-c", program)
    assert ran.counts["filled_drops"] > 32 * 200
    assert ran.counts["far_stored_peak_bytes"] < 4 * MIB


@needs_tier
def test_emulated_memory_is_charged_for_the_bytes_that_move(run: Run) -> None:
    def charged(program: str, *words: str) -> float:
        """Bytes a page that moved, by what they were charged at 1 GB/s."""
        counts = run(program, *words, "--emulate", "bandwidth=1GB/s").covered().counts
        # Pages that are written may have been compared before.
        moved = counts["copies_in"] + counts["clean_drops"] + counts["copies_out"]
        return float(counts["emulated_ns"] / moved)

    text = "b''.join(b'%08d of them' % i for i in range(60000))"
    plain = charged(KEEPS.format(text, 32), "far")
    assert plain >= 4096
    noise = charged(KEEPS.format(NOISE, 32), "compressed")
    assert charged(KEEPS.format(text, 32), "compressed") < noise < plain


@needs_tier
def test_a_program_by_itself_compresses_as_its_environment_says(tmp_path: Path) -> None:
    from nearfar.tier.machine import preloaded

    def alone(compression: str) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
        report = tmp_path / "report.json"
        environment = {
            "LD_PRELOAD": preloaded(),
            "NEARFAR_TIER_NEAR": "4MiB",
            "NEARFAR_TIER_FAR": str(tmp_path / "far"),
            "NEARFAR_TIER_COMPRESS": compression,
            "NEARFAR_TIER_REPORT": str(report),
        }
        ran = subprocess.run(
            [sys.executable, "-c", HOLDS],
            env=environment, capture_output=True, text=True, check=False, timeout=100,
        )  # fmt: skip
        return ran, json.loads(report.read_text()) if report.exists() else {}

    ran, report = alone("zstd")
    assert ran.stdout == native(sys.executable, "-c", HOLDS), ran.stderr
    assert report["compression"] == "zstd"
    assert 0 < report["far_stored_peak_bytes"] < report["far_peak_bytes"] / 2
    ran, _ = alone("lzma")
    assert ran.returncode == 2
    assert ran.stderr.endswith("COMPRESS: found 'lzma', expected none, lz4 or zstd\n")


def test_the_names_of_far_memory_say_what_it_is_compressed_with() -> None:
    assert compressed("compressed") == ("anonymous", "lz4")
    assert compressed("compressed:zstd") == ("anonymous", "zstd")
    assert compressed("anonymous", "zstd") == ("anonymous", "zstd")
    assert compressed("./compressed", "lz4") == ("./compressed", "lz4")
    assert compressed("far") == ("far", "none")


@needs_tier
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--far", "compressed:lz5"), "found 'lz5', expected one of lz4, zstd; did you mean lz4?"),
        (("--far", "far", "--compress", "gzip"), "found 'gzip', expected one of none, lz4, zstd"),
        (("--far", "compressed", "--compress", "zstd"), "found zstd beside --far compressed"),
        (("--backend", "swap", "--compress", "lz4"), "is for --backend uffd"),
    ],
)
def test_an_impossible_compression_is_refused(
    refused: Callable[..., str], words: tuple[str, ...], said: str
) -> None:
    assert said in refused("tier", "run", "--near", "8MiB", *words, "--", "true")
