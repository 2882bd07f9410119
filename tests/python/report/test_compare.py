"""Two results side by side: what differs by more than noise, and only that."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from conftest import Run
from nearfar.report.comparison import comparison_text
from nearfar.results.comparison import ComparisonResult, Sample, Side, compare
from nearfar.results.findings import Finding, identified, not_identifiable

A, B = Side("a.json"), Side("b.json")


def samples(values: Sequence[float], interval: float | None = None) -> list[Sample]:
    return [
        Sample(
            ("load", at),
            ("load",),
            1024.0 * (at + 1),
            f"load {at}",
            "ns/line",
            value,
            None if interval is None else (value * (1 - interval), value * (1 + interval)),
        )
        for at, value in enumerate(values)
    ]


def of(a: Sequence[Finding], b: Sequence[Finding]) -> ComparisonResult:
    return compare(A, B, (a, b), ((), ()))


@pytest.mark.parametrize(
    ("low", "high", "differs"), [(90, 110, False), (110, 120, False), (111, 120, True)]
)
def test_a_parameter_differs_when_the_intervals_share_no_value(
    low: float, high: float, differs: bool
) -> None:
    a = identified("memory.latency", 100.0, "", (), (90.0, 110.0))
    b = identified("memory.latency", (low + high) / 2, "", (), (low, high))
    assert of([a], [b]).parameters[0].differs is differs
    assert of([b], [a]).parameters[0].differs is differs


def test_words_differ_when_they_are_not_the_same() -> None:
    fifo, lru = (identified("buffer.1.policy", word, "", ()) for word in ("fifo", "lru"))
    assert of([fifo], [lru]).parameters[0].differs is True
    assert of([lru], [lru]).parameters[0].differs is False


def test_a_value_that_one_side_lacks_is_no_difference() -> None:
    known = identified("modules", 6, "", ())
    unknown = not_identifiable("modules", "", ())
    for a, b in (([known], [unknown]), ([known], []), ([], [known])):
        (one,) = of(a, b).parameters
        assert one.differs is None
    assert "one side only" in comparison_text(of([known], [unknown]))


@given(some.integers(0, 1000), some.sampled_from([0.002, 0.01, 0.03]))
def test_points_that_differ_by_their_noise_alone_mostly_do_not_differ(
    seed: int, spread: float
) -> None:
    rng = np.random.default_rng(seed)
    a, b = (100 * np.exp(spread * rng.standard_normal(60)) for _ in range(2))
    found = compare(A, B, ((), ()), (samples(a.tolist()), samples(b.tolist())))
    assert sum(point.differs for point in found.points) <= 6


def test_points_apart_by_more_than_their_intervals_differ() -> None:
    found = compare(A, B, ((), ()), (samples([100, 100], 0.02), samples([101, 120], 0.02)))
    assert [point.differs for point in found.points] == [False, True]


def test_points_without_a_counterpart_are_counted() -> None:
    found = compare(A, B, ((), ()), (samples([1, 2, 3]), samples([1])))
    assert (len(found.points), found.only_a, found.only_b) == (1, 2, 0)
    assert "1 points in both, 0 differ by more than noise; 2 only in a" in comparison_text(found)


def test_only_the_farthest_points_are_shown_unless_all_are_asked_for() -> None:
    found = compare(A, B, ((), ()), (samples([100.0] * 40), samples([200.0] * 40)))
    assert comparison_text(found).count(" differs") == 20
    assert "--all shows every point" in comparison_text(found)
    assert comparison_text(found, every=True).count(" differs") == 40


# The command


def test_a_result_does_not_differ_from_itself(nearfar: Run, reference: Path) -> None:
    table = str(reference / "sec23_rmw_assoc.csv")
    status, out, _ = nearfar("compare", table, table)
    assert status == 0
    assert "0 differ by more than noise" in out
    assert "differs" not in out


def test_published_points_are_paired_with_measured_ones(
    nearfar: Run, reference: Path, tmp_path: Path
) -> None:
    measured = tmp_path / "m.json"
    command = ("measure", "model:optane-100", "chase", "--op", "ntload", "--lines", "4096")
    nearfar(*command, "--region", "4KiB,64KiB", "--quiet", "--json", str(measured))
    status, out, _ = nearfar(
        "compare", str(reference / "vans_ptr_chasing.csv"), str(measured), "--json", "-"
    )
    assert status == 0
    data = json.loads(out)
    assert data["schema"] == "nearfar/comparison/1"
    assert data["b"]["target"]["spec"] == "model:optane-100"
    found = {point["label"]: point["a"] for point in data["points"]}
    assert found == {"ntload 4096 B": 175.2, "ntload 65536 B": 275.75}  # of one module


def test_two_probes_are_compared_parameter_by_parameter(nearfar: Run, tmp_path: Path) -> None:
    files = []
    for entries in (64, 128):
        files.append(str(tmp_path / f"{entries}.json"))
        target = f"model:optane-100,nvdimm.rmw.entries={entries},nvdimm.rmw.ways={entries}"
        nearfar("probe", target, "--prober", "buffers", "--quick", "--quiet", "--json", files[-1])
    status, out, _ = nearfar("compare", *files)
    assert status == 0
    lines = {line.split()[0]: line for line in out.splitlines() if line}
    assert lines["buffer.1.capacity"].endswith("differs")
    assert "16 KiB" in lines["buffer.1.capacity"]
    assert "32 KiB" in lines["buffer.1.capacity"]
    assert not lines["buffer.2.capacity"].endswith("differs")


def test_streams_are_compared_by_their_bandwidth(nearfar: Run, tmp_path: Path) -> None:
    files = []
    for channels in (1, 6):
        files.append(str(tmp_path / f"{channels}.json"))
        stream = ("stream", "--op", "ntload", "--threads", "1,4", "--lines", "4096")
        nearfar(
            *("measure", f"model:optane-100,channels={channels}", *stream),
            *("--quiet", "--json", files[-1]),
        )
    _, out, _ = nearfar("compare", *files, "--all")
    assert "ntload 256 B 4 threads" in out
    assert "GB/s" in out


def test_a_validation_is_not_compared(refused: Callable[..., str], tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_text('{"schema": "nearfar/result/2"}')
    assert "schema 'nearfar/result/2'" in refused("compare", str(file), str(file))
