"""What is compared of two runs: every figure by itself, with its name for a key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from nearfar.results import totals
from nearfar.results.comparison import Sample
from nearfar.results.machine import Machine
from nearfar.results.run import RunResult, Sampled

Figure = tuple[str, str, float | None]  # label, unit, value


def run_samples(ran: RunResult) -> list[Sample]:
    """Time, cycles by cause, tails, traffic, hits and energy; what is zero has no ratio."""
    machines = [machine for _, machine in totals.simulated(ran)]
    found = [("simulated time", "us", ran.elapsed_ns / 1000)]
    instructions = ran.counts.get("instructions", 0)
    if ran.sampled is not None:
        instructions = ran.sampled.instructions
    found += [("instructions", "", float(instructions))]
    if machines:
        found += [
            (label, unit, value)
            for label, unit, value in (
                *_cycles(machines),
                *_latency(machines),
                *_moved(machines),
                *_hits(machines),
                *_energy(machines),
                *_pages(machines),
            )
            if value is not None
        ]
    samples = [
        Sample((label,), (label,), 0.0, label, unit, value)
        for label, unit, value in found
        if value > 0
    ]
    return samples if ran.sampled is None else _with_estimate(samples, ran.sampled)


def _with_estimate(samples: Sequence[Sample], sampled: Sampled) -> list[Sample]:
    """A sample's cycles an instruction are those of the whole, and have an interval."""
    if sampled.cpi is None:
        return list(samples)
    return [
        replace(one, value=sampled.cpi, interval=sampled.cpi_interval)
        if one.label == "cycles"
        else one
        for one in samples
    ]


def _cycles(machines: Sequence[Machine]) -> Iterator[Figure]:
    instructions = totals.instructions(machines)
    if not instructions:
        return
    cycles = totals.cycles(machines)
    unit = "cycles/instruction"
    yield "cycles", unit, sum(cycles.values()) / instructions
    for cause, spent in cycles.items():
        yield totals.CAUSES.get(cause, cause), unit, spent / instructions


def _latency(machines: Sequence[Machine]) -> Iterator[Figure]:
    latency = totals.latency(machines)
    yield "loads beyond L1", "", float(latency.count)
    for name, ns in (
        ("mean", latency.mean_ns),
        ("p50", latency.p50_ns),
        ("p90", latency.p90_ns),
        ("p99", latency.p99_ns),
        ("p99.9", latency.p999_ns),
        ("max", latency.max_ns),
    ):
        yield f"loads beyond L1, {name}", "ns", ns


def _moved(machines: Sequence[Machine]) -> Iterator[Figure]:
    for moved in totals.moved(machines):
        yield f"{moved.tier} memory, read", "KiB", moved.read / 1024
        yield f"{moved.tier} memory, written", "KiB", moved.written / 1024
    for name, fields in (
        ("media, read", "media_read_bytes"),
        ("media, written", "media_write_bytes"),
    ):
        bytes_ = [getattr(one, fields) for one in machines]
        if all(found is not None for found in bytes_):
            yield name, "KiB", sum(bytes_) / 1024


def _hits(machines: Sequence[Machine]) -> Iterator[Figure]:
    for name, (served, asked) in totals.hits(machines).items():
        yield f"hits, {name}", "%", 100 * served / asked


def _energy(machines: Sequence[Machine]) -> Iterator[Figure]:
    picojoules = sum(totals.energy(machines).values())
    yield "energy", "uJ", picojoules / 1e6
    yield "power", "W", picojoules / sum(one.time_ns * 1000 for one in machines)


def _pages(machines: Sequence[Machine]) -> Iterator[Figure]:
    yield "pages moved", "", float(sum(one.memory.pages_moved for one in machines))
    for tier in ("near", "far"):
        yield (
            f"{tier} memory, in use",
            "KiB",
            sum(getattr(one.memory, f"{tier}_bytes") for one in machines) / 1024,
        )
