"""A replay keeps how long its reads took and when its lines moved, every one of them once."""

from __future__ import annotations

from pathlib import Path

import pytest

import nearfar

DRAM = "model:ddr4-2666"


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "t.dramsim3"
    kinds = ("WRITE", "READ", "READ")
    lines = (f"0x{64 * (i * 37 % 4096):x} {kinds[i % 3]} {30 * i}" for i in range(3000))
    path.write_text("\n".join(lines) + "\n")
    return path


def test_every_line_is_in_one_bucket_of_time(trace: Path) -> None:
    replayed = nearfar.replay(DRAM, trace)
    assert replayed.over_time is not None
    assert sum(replayed.over_time.reads) == replayed.reads
    assert sum(replayed.over_time.writes) == replayed.writes
    buckets = len(replayed.over_time.reads)
    assert buckets * replayed.over_time.bucket_ns * 1000 >= 0.9 * replayed.elapsed_ps


def test_every_read_is_in_one_range_of_latencies(trace: Path) -> None:
    latency = nearfar.replay(DRAM, trace).read_latency
    assert latency is not None
    assert sum(count for _, count in latency.buckets) == latency.count == 2000
    assert latency.p50_ns <= latency.p90_ns <= latency.p99_ns <= latency.max_ns
    assert latency.buckets[0][0] / 1000 <= latency.max_ns
    assert latency.mean_ns <= latency.max_ns


def test_what_is_warmed_up_with_is_in_neither(trace: Path) -> None:
    options = nearfar.ReplayOptions(warm=1500)
    replayed = nearfar.replay(DRAM, trace, options)
    assert replayed.over_time is not None
    assert replayed.read_latency is not None
    assert sum(replayed.over_time.reads) == replayed.reads == replayed.read_latency.count == 1000


def test_a_trace_of_writes_has_no_latencies(tmp_path: Path) -> None:
    path = tmp_path / "w.dramsim3"
    path.write_text("".join(f"0x{64 * i:x} WRITE {10 * i}\n" for i in range(100)))
    replayed = nearfar.replay(DRAM, path)
    assert replayed.read_latency is None
    assert replayed.over_time is not None
    assert set(replayed.over_time.reads) == {0}
