"""Single figures that studies of the first Optane DIMM state, or quote of one another."""

from __future__ import annotations

from collections.abc import Callable

from nearfar.measuring.patterns import Chase, Stream
from nearfar.simulate.validation.datasets.aist import latency_job
from nearfar.simulate.validation.datasets.bandwidth import AREA
from nearfar.simulate.validation.datasets.figures import GIB_PER_S
from nearfar.simulate.validation.datasets.published import figures
from nearfar.simulate.validation.series import HardwarePoint, Job, Series
from nearfar.simulate.validation.tables import Tables

SOURCE = "as said at each figure in published_points.csv"

_THREADS = (1, 2, 4, 8, 16, 24)
_LINES = 1 << 17


def _peak(op: str, channels: int, stride: str | None = None) -> Job:
    """The best of several numbers of threads."""
    pattern = Stream(op=op, access=256, stride=stride, threads=_THREADS, area=AREA, lines=_LINES)
    return Job(pattern, (("channels", str(channels)),), cost=len(_THREADS) * _LINES)


def _idle(channels: int) -> Job:
    """One load at a time, at random places."""
    pattern = Stream(
        op="ntload", access=64, stride="random", area=1 << 30, outstanding=1, lines=1 << 14
    )
    return Job(pattern, (("channels", str(channels)),), cost=1 << 14)


def _windows() -> Job:
    """MLC's walk: at random in windows of 256 KiB, so that no TLB misses."""
    pattern = Chase(op="ntload", region=256 << 10, lines=1 << 14, fence="none")
    return Job(pattern, (("channels", "6"),), cost=1 << 14)


# How a system's name begins, the metric, how the conditions begin; the memory that is
# compared, the run, its quantity, and what turns the figure's unit into the quantity's.
_Found = tuple[str, Callable[[], Job], str, float]
_FIGURES: dict[tuple[str, str, str], _Found] = {
    ("UCSD (quoted", "read latency", "MLC"): (
        "nvdimm", lambda: _idle(6), "ns_per_line", 1,
    ),
    ("TUM van Renen", "read latency", "random"): (
        "nvdimm", lambda: latency_job("load", 6), "ns_per_line", 1,
    ),
    ("UCSD (quoted", "read bandwidth", "6 DIMM"): (
        "nvdimm", lambda: _peak("ntload", 6), "peak_gb_per_s", 1,
    ),
    ("UCSD (quoted", "write bandwidth", "6 DIMM"): (
        "nvdimm", lambda: _peak("ntstore", 6), "peak_gb_per_s", 1,
    ),
    ("TUM (quoted", "read bandwidth", "random 4"): (
        "nvdimm", lambda: _peak("ntload", 6, "random"), "peak_gb_per_s", 1,
    ),
    ("UCSD Izraelevitz", "load latency", "App Direct"): (
        "nvdimm", lambda: _idle(1), "ns_per_line", 1,
    ),
    ("UCSD", "read bandwidth", "1 DIMM"): (
        "nvdimm", lambda: _peak("ntload", 1), "peak_gb_per_s", GIB_PER_S,
    ),
    ("UCSD", "write bandwidth", "1 DIMM"): (
        "nvdimm", lambda: _peak("ntstore", 1), "peak_gb_per_s", GIB_PER_S,
    ),
    ("AIST", "DRAM latency by MLC v3.6", "random in 256KB"): (
        "dram", _windows, "ns_per_line", 1,
    ),
}  # fmt: skip


def series(tables: Tables, machine: str) -> list[Series]:
    """The figures of one kind of memory."""
    points = []
    for (system, metric, conditions), (kind, job, quantity, unit) in _FIGURES.items():
        for table, row in figures(tables, system):
            named = row["metric"] == metric and row["conditions"].startswith(conditions)
            if not named or kind != machine:
                continue
            points.append(
                HardwarePoint(
                    label=f"{row['system'].partition(' (')[0]}: {metric}, {conditions}",
                    real=table.positive(row, "value") * unit,
                    unit=row["unit"],
                    job=job(),
                    quantity=quantity,
                    rows=(row,),
                )
            )
    name = "quoted" if machine == "nvdimm" else f"quoted-{machine}"
    return [Series(name, "Single figures of several studies", name, SOURCE, tuple(points))][
        : len(points)
    ]
