"""One result of each kind that has a page, made up, so that every number is known."""

from __future__ import annotations

from nearfar.results import (
    ComparisonResult,
    CrashResult,
    Environment,
    Explored,
    PredictedProgram,
    PredictionAccuracy,
    PredictionResult,
    ReplayResult,
    Target,
    TierReplayResult,
    TierRunResult,
    TierSamples,
    Violation,
)
from nearfar.results.comparison import ComparedParameter, PairedPoint, Side
from nearfar.results.machine import LoadLatency
from nearfar.results.replay import Traffic
from nearfar.results.tier_replay import NearSize, PolicyMisses

TARGET = Target("model", "optane-100", "model:optane-100", "simulated")
ENVIRONMENT = Environment(version="0.1.0", seed=1, model_hash="sha256:0")


def replayed() -> ReplayResult:
    """Two reads for a write, slower at the end."""
    return ReplayResult(
        target=TARGET,
        environment=ENVIRONMENT,
        trace={"file": "t.dramsim3", "format": "dramsim3", "pace": "trace", "drain": True},
        requests=300,
        reads=200,
        writes=100,
        elapsed_ps=4_000_000,
        gb_per_s=4.8,
        read_p50_ns=100.0,
        read_p99_ns=400.0,
        read_p999_ns=480.0,
        read_max_ns=500.0,
        late=7,
        late_max_ns=90.0,
        commands={"ACT": 20, "RD": 200},
        commands_by_device={"nvdimm": {"ACT": 20, "RD": 200}},
        counters={"channel.0.reads": 200, "channel.0.dimm.media.read_bytes": 51200},
        energy_pj=9_000_000,
        energy={"dimm.idle": 6_000_000, "dimm.media.read": 3_000_000},
        read_latency=LoadLatency(
            200, 130.0, 100.0, 200.0, 400.0, 480.0, 500.0, ((111_000, 150), (511_000, 50))
        ),
        over_time=Traffic(1000.0, (80, 60, 40, 20), (10, 20, 30, 40)),
    )


def crashed() -> CrashResult:
    """Two reasons; the stores of the first are in two lines of one file."""
    violations = (
        Violation("half a transaction", 3, ("begun",), ("log.txt:18: store a 2",),
                  ("log.txt:21: store valid 0", "log.txt:9: store b 1")),
        Violation("torn record", 1, (), ("log.txt:4: store c 3",), ()),
    )  # fmt: skip
    return CrashResult(
        target=TARGET,
        environment=ENVIRONMENT,
        program={"file": "a/folder/log.txt", "operations": 15, "threads": 1, "from_label": "go"},
        domain="adr",
        architecture=Explored(11, 4, exhaustive=True, violations=violations),
        machine=Explored(9, 1),
        runs=16,
    )


def compared() -> ComparisonResult:
    """A parameter and a point of a curve that differ, others that do not, and a lone figure."""
    curve = [
        PairedPoint(f"ntload {size} B", "ns/line", 100.0 + at, 100.0 + at + (30 if at == 2 else 0),
                    0.02, at == 2, "ntload", float(size))
        for at, size in enumerate((4096, 16384, 65536, 262144))
    ]  # fmt: skip
    return ComparisonResult(
        a=Side("before.json", TARGET),
        b=Side("after.json", None),
        parameters=(
            ComparedParameter("levels", "", 2, 2, (2, 2), (2, 2), differs=False),
            ComparedParameter(
                "buffer.1.capacity", "B", 16384, 32768, (16384, 16384), (32768, 32768), differs=True
            ),
            ComparedParameter("modules", "", None, None, None, None, differs=None),
        ),
        points=(*curve, PairedPoint("simulated time", "us", 10.0, 5.0, 0.01, differs=True)),
        only_a=1,
    )


def tier_replayed() -> TierReplayResult:
    """Two policies on two sizes of near memory."""

    def counted(name: str, misses: int) -> PolicyMisses:
        return PolicyMisses(name, misses, misses + 5, 100, misses - 100, 40, 30, 5, 2, 80, 10_800.0)

    sizes = tuple(
        NearSize(pages * 4096, pages, 1, best, best + 20,
                 (counted("fifo", 2 * best), counted("s3-fifo", best + 30)))
        for pages, best in ((40, 300), (80, 180))
    )  # fmt: skip
    return TierReplayResult("0.1.0", "t.nft", "nearfar", 4096, 160, 20_000, 16_000, sizes)


def tier_ran() -> TierRunResult:
    """A run that was looked at five times."""
    mib = 1 << 20
    return TierRunResult(
        status=0,
        policy="s3-fifo",
        near_limit_bytes=48 * mib,
        near_peak_bytes=48 * mib,
        far_peak_bytes=100 * mib,
        managed_share=0.98,
        far_stored_peak_bytes=6 * mib,
        compression="lz4",
        eviction="move",
        managed_peak_bytes=110 * mib,
        unmanaged_peak_bytes=2 * mib,
        program=("/usr/bin/sort", "-r", "words"),
        over_time=TierSamples(
            time_s=(0.0, 0.5, 1.0, 1.5, 2.0),
            near_bytes=(0, 40 * mib, 48 * mib, 48 * mib, 0),
            far_bytes=(0, 0, 60 * mib, 100 * mib, 0),
            faults=(0, 100, 5000, 9000, 9500),
            copies_in=(0, 0, 2000, 6000, 6100),
            copies_out=(0, 0, 3000, 7000, 7100),
            stall_ns=(0, 0, 10**8, 4 * 10**8, 5 * 10**8),
        ),
        counts={
            "faults": 9500,
            "copies_in": 6100,
            "copies_out": 7100,
            "first_touches": 3300,
            "second_chances": 100,
            "clean_drops": 50,
            "zero_drops": 20,
            "read_ahead": 400,
            "read_ahead_hits": 390,
            "stall_ns": 5 * 10**8,
            "outside": 1,
        },
    )


def predicted() -> PredictionResult:
    """Three programs: twice as slow as measured, as fast, and one that fails."""

    def program(name: str, ratio: float | None, problem: str | None = None) -> PredictedProgram:
        return PredictedProgram(
            name, "a test", name == "even", "sha256:0", 1, 10, 160,
            native_ns=(9e6, 10e6, 11e6), measured_ns=10e6, spread=0.1,
            predicted_ns=None if ratio is None else ratio * 10e6, ratio=ratio,
            stack={"base": 0.75, "memory": 0.25}, problem=problem,
        )  # fmt: skip

    return PredictionResult(
        target=TARGET,
        environment=ENVIRONMENT,
        folder="",
        sample=16,
        runs=3,
        pages="small",
        compiler="gcc 12",
        tunables="",
        programs=(
            program("slow", 2.0),
            program("even", 1.0),
            program("broken", None, "fails natively, status 3"),
        ),
        all=PredictionAccuracy(2, 2**0.5, 2.0, "slow"),
        untuned=PredictionAccuracy(1, 2.0, 2.0, "slow"),
        machine_spread=1.07,
        qemu="7.2",
    )
