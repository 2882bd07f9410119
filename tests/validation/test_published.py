"""The Optane model against the published measurements that come with nearfar.

The thresholds are promises to the users of the model. A change that lowers a figure below
its threshold has made the model worse; a change that raises one may raise the threshold.
"""

from __future__ import annotations

import pytest

import nearfar
from nearfar.results import ComparedSeries

MODEL = "model:optane-100"

# Series to the least mean and the least worst accuracy. Blocks above 64 B and six DIMMs
# have no promise for their worst point.
PROMISED = {
    "chase-1dimm-64-load": (0.98, 0.90),
    "chase-1dimm-64-store": (0.96, 0.75),
    "chase-1dimm-256-load": (0.95, 0.0),
    "chase-1dimm-256-store": (0.95, 0.0),
    "chase-1dimm-1024-load": (0.95, 0.0),
    "chase-1dimm-1024-store": (0.95, 0.0),
    # What is aimed at is 0.95; the model reaches 0.946, see "Where the model is weak" in the docs.
    "chase-1dimm-4096-load": (0.94, 0.0),
    "chase-1dimm-4096-store": (0.95, 0.0),
    "chase-6dimm-64-load": (0.96, 0.0),
    "chase-6dimm-64-store": (0.92, 0.0),
}


@pytest.fixture(scope="module")
def series() -> dict[str, ComparedSeries]:
    """A subset of every curve: the whole set is what `make demo` runs."""
    validation = nearfar.validate(MODEL, "demo,random-read", quick=True)
    return {one.name: one for one in validation.series}


@pytest.mark.parametrize("name", PROMISED)
def test_the_pointer_chases_agree(series: dict[str, ComparedSeries], name: str) -> None:
    mean, worst = PROMISED[name]
    assert series[name].mean >= mean
    assert series[name].worst >= worst, series[name].worst_point


def test_the_overwrites_agree(series: dict[str, ComparedSeries]) -> None:
    points = {point.label: point for point in series["overwrite"].points}
    assert points["median write"].accuracy >= 0.95
    assert points["stall length"].accuracy >= 0.95
    assert points["median interval"].accuracy >= 0.90


def test_stalls_are_as_regular_as_the_real_ones() -> None:
    result = nearfar.measure(MODEL, nearfar.Overwrite(writes=1_700_000))
    assert result.samples is not None
    from nearfar.measuring.stalls import intervals, stalls, variation

    gaps = intervals(stalls(result.samples))
    assert len(gaps) >= 100
    assert 0.07 <= variation(gaps) <= 0.14


def test_random_reads_far_beyond_the_buffers_reach_the_media(
    series: dict[str, ComparedSeries],
) -> None:
    points = {point.label: point.simulated for point in series["random-read"].points}
    assert points["random 256 B reads"] >= 6.5
    assert 1.7 <= points["random 64 B reads"] <= 1.9
    assert 1.0 <= points["amplification, 256 B"] <= 1.1
    assert 3.9 <= points["amplification, 64 B"] <= 4.2


def test_fenced_overwrites_of_256_bytes_write_no_more_than_the_host() -> None:
    (point,) = nearfar.measure(MODEL, nearfar.Overwrite(writes=20_000)).points
    assert point.write_amplification == pytest.approx(1, abs=0.02)


def test_the_idle_latency_of_dram_agrees() -> None:
    (series,) = nearfar.validate("model:ddr4-2666", "dram-idle").series
    reads = [point for point in series.points if point.label.startswith("Read")]
    assert len(reads) == 2
    assert all(point.accuracy >= 0.90 for point in reads), reads


@pytest.mark.parametrize(
    ("model", "dataset", "figures"), [(MODEL, "aist", 8), ("model:ddr4-2666", "aist-dram", 4)]
)
def test_every_figure_of_aist_is_within_a_tenth(model: str, dataset: str, figures: int) -> None:
    points = [
        point for series in nearfar.validate(model, dataset).series for point in series.points
    ]
    assert len(points) == figures
    assert all(point.accuracy >= 0.90 for point in points), points


def test_the_sample_orders_its_ratios_to_dram_and_of_persisting_like_the_hardware() -> None:
    """Not those of the other socket, see "Where the model is weak" in the docs."""
    series = {one.name: one for one in nearfar.validate("model:aep-sample", "ict").series}
    for name, pairs in (("ict-slowdown", 14), ("ict-persist", 3)):
        assert len(series[name].orderings) == pairs
        assert all(pair.right for pair in series[name].orderings), name


def test_the_cost_of_a_walk_does_not_depend_on_where_it_is_cut() -> None:
    """What lets a validation walk a part of a region that is far beyond every buffer."""
    short, long = (
        nearfar.measure(
            MODEL, nearfar.Chase(region="128MiB", op="ntload", lines=lines, whole=False)
        ).points[0]
        for lines in (1 << 17, 1 << 20)
    )
    assert short.ns_per_line == pytest.approx(long.ns_per_line, rel=0.005)
