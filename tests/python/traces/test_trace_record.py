"""`nearfar trace record`: the trace has what reached memory, whatever ends the program."""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import nearfar
from conftest import Compile, needs_front_end
from nearfar.results import RunResult, parse

pytestmark = needs_front_end

RECORD = [sys.executable, "-m", "nearfar", "trace", "record", "model:ddr4-2666"]

# Two threads change every line of their half of 2 MiB, then one writes 64 KiB past the caches and
# fences twice.
PROGRAM = r"""
#include <emmintrin.h>
#include <pthread.h>
#include <stdlib.h>
static char area[2 << 20] __attribute__((aligned(4096)));
static void* walk(void* begin) {
  for (long i = 0; i < 1 << 20; i += 64) ((volatile char*)begin)[i] += 1;
  return NULL;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, walk, area);
  walk(area + (1 << 20));
  pthread_join(thread, NULL);
  for (long i = 0; i < 1 << 16; i += 16) {
    _mm_stream_si128((__m128i*)(area + i), _mm_setzero_si128());
  }
  _mm_sfence();
  _mm_mfence();
  return 7;
}
"""

ENDLESS = r"""
#include <stdio.h>
#include <stdlib.h>
int main(void) {
  volatile char* area = malloc(64 << 20);
  for (unsigned long i = 0;; ++i) {
    area[i * 64 % (64 << 20)] += 1;
    if (i == 40000) { puts("there"); fflush(stdout); }
  }
}
"""


def test_everything_that_reached_memory_is_in_the_trace_and_plays_the_same_again(
    compiled: Compile,
    tmp_path: Path,
) -> None:
    program, trace = compiled("walks-and-fences", PROGRAM), tmp_path / "t.nft"
    ended = subprocess.run(
        [*RECORD, "-o", str(trace), "--json", str(tmp_path / "ran.json"), "--", str(program)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    info = nearfar.trace_info(trace)
    assert ended.returncode == 7
    assert ended.stdout == ""
    assert ended.stderr.startswith(f"nearfar: {trace}: {info.records} records\n")
    ran = parse(json.loads((tmp_path / "ran.json").read_text()))
    assert isinstance(ran, RunResult)
    machine = ran.processes[0].machine
    assert machine is not None
    over = machine.over_time
    counted = info.operations
    assert counted["read"] == sum(over.near_reads) + sum(over.far_reads)
    written = counted["write"] + counted["nt_write"] + counted["flush"]
    assert written == sum(over.near_writes) + sum(over.far_writes)
    assert counted["nt_write"] == (1 << 16) // 64
    assert (counted["store_fence"], counted["full_fence"]) >= (1, 1)
    assert set(info.threads) == {"0", "1"}
    assert (info.kind, info.counts, info.clock_ps, info.problem) == ("memory", "cycles", 1, "")
    assert "walks-and-fences" in info.header

    results = {}
    for target in ("model:ddr4-2666", "model:optane-100", "model:cxl-expander"):
        once, again = nearfar.replay(target, trace), nearfar.replay(target, trace)
        assert once.to_dict() == again.to_dict()
        assert (once.reads, once.writes) == (counted["read"], written)
        results[target] = once.read_p50_ns
    assert results["model:ddr4-2666"] < results["model:optane-100"]
    assert results["model:ddr4-2666"] < results["model:cxl-expander"]


def test_gaps_may_be_instructions(compiled: Compile, tmp_path: Path) -> None:
    program, trace = compiled("walks-and-fences", PROGRAM), tmp_path / "t.nft"
    words = [*RECORD, "-o", str(trace), "--gaps", "instructions", "--core", "simple", "--quiet"]
    assert subprocess.run([*words, "--", str(program)], check=False).returncode == 7
    info = nearfar.trace_info(trace)
    assert info.counts == "instructions"
    # Both walks; what follows the last record is in no gap.
    assert info.length > 2 * (1 << 20) // 64 * 3
    assert (
        nearfar.replay(
            "model:ddr4-2666", trace, nearfar.ReplayOptions(skip=info.length // 2)
        ).requests
        > 0
    )


def test_ctrl_c_keeps_a_whole_trace(compiled: Compile, tmp_path: Path) -> None:
    program, trace = compiled("endless-writes", ENDLESS), tmp_path / "t.nft"
    process = subprocess.Popen(
        [*RECORD, "--core", "simple", "-o", str(trace), "--", str(program)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGINT
    info = nearfar.trace_info(trace)
    assert info.problem == ""
    assert info.records > 40_000
    assert err.startswith(f"nearfar: {trace}: {info.records} records\n")
    assert [path.name for path in tmp_path.iterdir()] == ["t.nft"]
    left = subprocess.run(["pgrep", "-f", str(program)], capture_output=True, check=False)
    assert left.stdout == b""


def test_a_full_disk_ends_the_program_in_one_line_and_what_was_recorded_stays(
    compiled: Compile,
    tmp_path: Path,
) -> None:
    program, trace = compiled("endless-writes", ENDLESS), tmp_path / "t.nft"

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, 150_000))

    ended = subprocess.run(
        [*RECORD, "--core", "simple", "-o", str(trace), "--", str(program)],
        capture_output=True, text=True, check=False, preexec_fn=limited, timeout=60,
    )  # fmt: skip
    info = nearfar.trace_info(trace)
    assert ended.returncode == 1
    assert ended.stderr == (
        f"nearfar: {trace}: File too large; the first {info.records} records are kept\n"
    )
    assert info.problem == ""
    assert info.records > 10_000
    replayed = nearfar.replay("model:ddr4-2666", trace, nearfar.ReplayOptions(run=1000))
    assert replayed.requests + replayed.fences == 1000


def test_a_program_that_cannot_be_recorded_is_refused(
    refused: Callable[..., str], tmp_path: Path
) -> None:
    record, trace = ("trace", "record", "model:ddr4-2666"), tmp_path / "t.nft"
    assert "core: found count" in refused(*record, "-o", trace, "--core", "count", "--", "true")
    assert "--output" in refused(*record, "--", "true")
    assert "/no/such" in refused(*record, "-o", "/no/such/t.nft", "--", "true")
    assert "no/program" in refused(*record, "-o", trace, "--", "no/program")
    assert list(tmp_path.iterdir()) == []
