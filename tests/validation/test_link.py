"""The CXL expander against the one device whose figures are public, and against queueing laws.

The device: Intel MLC on Sapphire Rapids, published with CXLMemSim. Its loaded latencies are of
local memory, so for those only what must hold for any memory is asked.
"""

from __future__ import annotations

import pytest

import nearfar
from nearfar.measuring.patterns import Chase, Stream

MODEL = "model:cxl-expander"
MEASURED_IDLE_NS = 437.5
MEASURED_READ_GB_PER_S = 19.2


def _loads(threads: tuple[int, ...], outstanding: int | None = None) -> list[tuple[float, float]]:
    pattern = Stream(
        op="load", threads=threads, area=256 << 20, outstanding=outstanding, lines=40_000
    )
    points = nearfar.measure(MODEL, pattern).points
    return [(point.gb_per_s, point.p50_ns or 0.0) for point in points]


def test_the_idle_latency_is_the_measured_one() -> None:
    point = nearfar.measure(MODEL, Chase(region=1 << 28, op="load", whole=False, lines=8192))
    assert point.points[0].ns_per_line == pytest.approx(MEASURED_IDLE_NS, rel=0.1)


def test_the_read_bandwidth_is_the_measured_one() -> None:
    best = max(rate for rate, _ in _loads((8, 16)))
    assert best == pytest.approx(MEASURED_READ_GB_PER_S, rel=0.1)


def test_latency_rises_with_load_and_never_falls() -> None:
    latencies = [latency for _, latency in _loads((1, 2, 4, 8, 16))]
    assert latencies == sorted(latencies)
    assert latencies[-1] > 1.5 * latencies[0]


def test_throughput_times_latency_is_what_is_outstanding() -> None:
    pattern = Stream(
        op="load", agent="none", outstanding=32, threads=1, area=256 << 20, lines=40_000
    )
    point = nearfar.measure(MODEL, pattern).points[0]
    mean_ns = point.counters["link.time_ps"] / point.counters["link.reads"] / 1e3
    lines_per_ns = point.gb_per_s / 64
    assert lines_per_ns * mean_ns == pytest.approx(32, rel=0.02)
