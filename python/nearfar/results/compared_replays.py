"""What is compared of two replays, or of a host's run and a replay: every figure, and the model."""

from __future__ import annotations

from nearfar.results.comparison import ComparedParameter, Sample
from nearfar.results.replay import ReplayResult


def replay_samples(replayed: ReplayResult) -> list[Sample]:
    """Requests, time, latencies, counters; what is zero or was not measured has no ratio.

    Nothing in them is noise: both sides are simulated.
    """
    found: list[tuple[str, str, float | None]] = [
        ("requests", "", replayed.requests),
        ("reads", "", replayed.reads),
        ("writes", "", replayed.writes),
        ("simulated time", "ns", replayed.elapsed_ps / 1000),
        ("bandwidth", "GB/s", replayed.gb_per_s),
        ("read latency, p50", "ns", replayed.read_p50_ns),
        ("read latency, p99", "ns", replayed.read_p99_ns),
        ("read latency, max", "ns", replayed.read_max_ns),
    ]
    found += [(name, "", float(value)) for name, value in replayed.counters.items()]
    return [
        Sample((label,), (label,), 0.0, label, unit, value, interval=(value, value))
        for label, unit, value in found
        if value
    ]


def compared_model(a: ReplayResult, b: ReplayResult) -> ComparedParameter:
    """Which model each side played, by name and hash: equal hashes simulate the same machine."""
    hashes = [one.environment.model_hash or "" for one in (a, b)]
    of_a, of_b = (
        f"{one.target.spec.removeprefix('model:')} {model_hash.removeprefix('sha256:')[:12]}"
        for one, model_hash in zip((a, b), hashes, strict=True)
    )
    return ComparedParameter("model", "", of_a, of_b, None, None, hashes[0] != hashes[1])
