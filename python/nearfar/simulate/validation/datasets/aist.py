"""The twelve figures of AIST: latency and bandwidth, read-only and with write-back.

A list of 64 B nodes in random order, by plain loads through pages of 4 KiB, read only (RO) or
changed at every node (WB); processes that scan 1 GiB each, the best number of them. Six
DIMMs interleaved, one DIMM, and six channels of DRAM. Nothing is said of the prefetchers,
so they are on, as a server has them.

What is known of the server besides its twelve figures: the core's way to the memory, from what
MLC measured there, and the modules, which hold 128 GB, from Intel's product brief.
"""

from __future__ import annotations

from dataclasses import replace

from nearfar.measuring.patterns import Chase, Stream
from nearfar.simulate.validation.datasets.perma import PREFETCHERS, SERVER_DRAM
from nearfar.simulate.validation.datasets.published import figures
from nearfar.simulate.validation.series import HardwarePoint, Job, Series
from nearfar.simulate.validation.tables import Row, Tables

SOURCE = "Hirofuchi and Takano, IEICE Transactions, 2020"

_SYSTEM = "AIST"
_OPS = {"read": "load", "write-back": "load+store", "write-back-involving": "load+store"}
# Bytes of the list, which is only said to be far beyond the L3. Chosen here: much shorter, and six
# modules hold the translations of a good part of it; much longer, and walks cost more than the
# 12 ns by which DRAM's list is slower than MLC's windows.
_NODES = 1 << 29

# MLC reads this server's DRAM in 82 ns, at random in windows of 256 KiB. It finds a list all
# over the memory only 12 ns slower, translation included: hardly a row is left open. With
# rows closed the model gives 82 ns on this way. One busy core of a Xeon 8260L runs at 3.9 GHz
# (Intel's product data): caches and TLB that take 5, 14 and 7 cycles are faster than at 2.2 GHz.
_SERVER = (
    ("cpu.path.read_out", "23250 ps"),
    ("cpu.path.read_back", "23250 ps"),
    ("cpu.l1.latency", "1300 ps"),
    ("cpu.l2.latency", "3600 ps"),
    ("cpu.tlb.l2.latency", "1800 ps"),
)
# 16 GB of 8 Gbit x4 devices a channel, as many registered modules are made of.
_DRAM = (("dram.page", "closed"), ("dram.width", "4"), *SERVER_DRAM)
# Intel, Optane persistent memory 100 series product brief: at 15 W a module of 128 GB reads
# 6.8 GB/s and writes 1.85 GB/s, blocks of 256 B each (unverified: no copy was at hand).
_MODULE = (
    ("nvdimm.media.capacity", "128 GiB"),
    ("nvdimm.media.read_interval", "37600 ps"),
    ("nvdimm.media.write_interval", "138400 ps"),
)
_SCANNED = 1 << 30
_PROCESSES = (1, 2, 4, 8, 16, 24)


def series(tables: Tables, memory: str) -> list[Series]:
    """The figures of "Optane" or of "DRAM"; latencies and bandwidths apart."""
    points: dict[str, list[HardwarePoint]] = {}
    for table, row in figures(tables, _SYSTEM):
        dimms = _dimms(row)
        what = row["metric"].rpartition(" ")[2]
        if dimms and (dimms[0] == memory) and what in ("latency", "bandwidth"):
            made = (latency_job if what == "latency" else bandwidth_job)(_op(row), dimms[1])
            server = (*_SERVER, *(_DRAM if memory == "DRAM" else _MODULE))
            job = replace(made, overrides=(*made.overrides, *server))
            points.setdefault(what, []).append(
                HardwarePoint(
                    label=f"{_op(row)}, {dimms[1]} channel{'s' if dimms[1] > 1 else ''}",
                    real=table.positive(row, "value"),
                    unit="ns" if what == "latency" else "GB/s",
                    job=job,
                    quantity="ns_per_line" if what == "latency" else "peak_gb_per_s",
                    rows=(row,),
                )
            )
    name = "aist" if memory == "Optane" else "aist-dram"
    return [
        Series(f"{name}-{what}", f"AIST, {memory}, {what}", name, SOURCE, tuple(found))
        for what, found in points.items()
    ]


def _op(row: Row) -> str:
    return _OPS[row["metric"].rpartition(" ")[0]]


def _dimms(row: Row) -> tuple[str, int] | None:
    """The memory and its channels; None for what another tool or study measured."""
    conditions = row["conditions"]
    if conditions.startswith("DRAM interleaved"):
        return "DRAM", 6
    if conditions.startswith("DCPMM"):
        return "Optane", 1 if "non-interleaved" in conditions else 6
    return None


def latency_job(op: str, channels: int) -> Job:
    """Node after node, each read, or read and changed, before the next one is known."""
    pattern = Chase(
        op=op, region=_NODES, regions="repeat", fence="none", lines=1 << 16, whole=False
    )
    overrides = (("channels", str(channels)), ("cpu.page", "4 KiB"), *PREFETCHERS)
    return Job(pattern, overrides, cost=1 << 19)


def bandwidth_job(op: str, channels: int) -> Job:
    """Scans by 1 to 24 processes."""
    pattern = Stream(op=op, access=4096, threads=_PROCESSES, area=_SCANNED, lines=1 << 17)
    overrides = (("channels", str(channels)), ("cpu.page", "4 KiB"), *PREFETCHERS)
    return Job(pattern, overrides, cost=len(_PROCESSES) << 19)
