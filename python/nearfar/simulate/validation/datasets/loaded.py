"""Families of bandwidth-latency curves of servers (the Mess benchmark, MICRO 2024).

A table has a row for each share of reads and pause of the generators. What a pause does differs
from generator to generator, so curves are compared by bandwidth: latency when idle, the highest
bandwidth of each share, and latency at equal bandwidth up to 85 % of that, where it still says
something: beyond, a curve goes up steeply and turns back.

The results are published without a licence, so the tables do not come with nearfar: they are read
from the folder that is given beside the dataset's name. The model is of that server: channels,
cores and caches are its own.
"""

from __future__ import annotations

from dataclasses import dataclass

from nearfar.measuring.loaded import Loaded
from nearfar.simulate.validation.series import HardwarePoint, Job, Series
from nearfar.simulate.validation.tables import Row, Table, Tables

SOURCE = "Esmaili-Dokht et al., MICRO 2024: the Mess benchmark, measured on {}"
COLUMNS = ("read_percent", "pause", "bandwidth_gb_s", "latency_ns")
SERVERS = {  # by a word of the table's name
    "cascadelake": "a Xeon Gold 5218 with 6 DDR4-2933",
    "spr": "a Xeon Platinum 8460Y+ with 8 DDR5-4800",
}
NAMES = {"cascadelake": "loaded-cascade-lake", "spr": "loaded-sapphire-rapids"}
OTHER = "loaded-other"

_UP_TO = 0.85  # of a share's highest bandwidth
_RATES = 8  # of each curve; between them the latency is taken to be a line
_LINES = 600  # that the reader loads at each: two to three per cent of noise
_COST = 2_000_000  # lines of one curve, about


@dataclass(frozen=True)
class _Rate:
    """One row: bandwidth in GB/s, latency in ns."""

    bandwidth: float
    latency: float
    row: Row


def series(tables: Tables, server: str) -> list[Series]:
    """Idle latency, highest bandwidth and latency under load; empty without that server's table."""
    found = [table for table in tables.with_columns(*COLUMNS) if _server(table) == server]
    source = SOURCE.format(SERVERS[server])
    return [one for table in found for one in _family(table, NAMES[server], source)]


def others(tables: Tables) -> list[Series]:
    """The same of every server that is not among those above, by its table's name."""
    found = [table for table in tables.with_columns(*COLUMNS) if _server(table) is None]
    return [
        one
        for table in found
        for one in _family(table, f"{OTHER}-{table.name}", SOURCE.format(table.name))
    ]


def _server(table: Table) -> str | None:
    return next((server for server in SERVERS if server in table.name.split("_")), None)


def _family(table: Table, name: str, source: str) -> list[Series]:
    curves: dict[int, list[_Rate]] = {}
    for row in table.rows:
        curves.setdefault(table.whole(row, "read_percent"), []).append(_rate(table, row))
    dataset = OTHER if name.startswith(OTHER) else name
    idle, peaks, under_load = [], [], []
    for percent, rates in sorted(curves.items()):
        job = Job(Loaded(reads=percent, points=_RATES, lines=_LINES), cost=_COST)
        label = f"{percent} % reads"
        top = max(rate.bandwidth for rate in rates)
        idle.append(_idle(min(rates, key=lambda rate: rate.bandwidth), label, job))
        peaks.append(
            HardwarePoint(
                *(label, top, "GB/s", job, "peak_total_gb_per_s", float(percent)),
                rows=[rate.row for rate in rates],
            )
        )
        under_load += [
            _loaded(rate, label, job)
            for rate in sorted(rates, key=lambda rate: rate.bandwidth)
            if 0 < rate.bandwidth <= _UP_TO * top
        ]
    return [
        Series(f"{name}-idle", "Idle latency beside no load", dataset, source, idle),
        Series(
            *(f"{name}-peak", "Highest bandwidth by share of reads", dataset, source, peaks),
            *("share of reads", "%"),
            ordered=True,
        ),
        Series(
            *(f"{name}-latency", "Latency at equal bandwidth", dataset, source, under_load),
            *("total bandwidth", "GB/s"),
        ),
    ]


def _rate(table: Table, row: Row) -> _Rate:
    return _Rate(table.number(row, "bandwidth_gb_s"), table.positive(row, "latency_ns"), row)


def _idle(rate: _Rate, label: str, job: Job) -> HardwarePoint:
    return HardwarePoint(label, rate.latency, "ns", job, "idle_ns", rows=[rate.row])


def _loaded(rate: _Rate, label: str, job: Job) -> HardwarePoint:
    return HardwarePoint(
        label=f"{label} at {rate.bandwidth:.1f} GB/s",
        real=rate.latency,
        unit="ns",
        job=job,
        quantity=f"latency_at:{rate.bandwidth}",
        x=rate.bandwidth,
        curve=label,
        rows=[rate.row],
    )
