"""From the core's counts to a point: the arithmetic, in one place.

The core reports whole picoseconds and counters; everything a reader wants as a rate or a
ratio is computed here. Amplification needs the model's own counters of bytes at the media.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from nearfar.errors import InputError
from nearfar.measuring import energy
from nearfar.measuring.loaded import Loaded
from nearfar.measuring.patterns import OVERWRITE_ACCESS, Chase, Contention, Overwrite, Stream
from nearfar.measuring.quantity import LINE
from nearfar.measuring.stalls import intervals, stalls
from nearfar.results import Point

Data = Mapping[str, Any]


def chase_point(data: Data, pattern: Chase, region: int) -> Point:
    """One region and operation of a chase."""
    return replace(
        _point(data),
        region_bytes=region,
        block_bytes=pattern.block,
        stride_bytes=pattern.stride,
    )


def overwrite_point(data: Data, pattern: Overwrite, samples: Sequence[float]) -> Point:
    """The whole of an overwrite; its percentiles are those of the 256 B writes."""
    slow = stalls(samples)
    gaps = intervals(slow)
    return replace(
        _point(data),
        region_bytes=pattern.region,
        access_bytes=OVERWRITE_ACCESS,
        **percentiles(samples),
        stalls=len(slow),
        stall_ns=statistics.median(samples[i] for i in slow) if slow else None,
        stall_interval_writes=statistics.median(gaps) if gaps else None,
    )


def percentiles(samples: Sequence[float]) -> dict[str, Any]:
    """The fields of a point that tell of single accesses, each of `samples` one, in ns."""
    ordered = sorted(samples)
    shares = {"p50_ns": 0.5, "p99_ns": 0.99, "p999_ns": 0.999}
    last = len(ordered) - 1
    found = {name: ordered[min(int(share * len(ordered)), last)] for name, share in shares.items()}
    return {**found, "max_ns": ordered[-1]}


def stream_point(data: Data, pattern: Stream, access: int, stride: int | str) -> Point:
    """One operation, access size, stride and number of threads of a stream."""
    point = replace(_point(data), access_bytes=access, stride_bytes=stride, area_bytes=pattern.area)
    return replace(point, drain_ns=data["drain_ps"] / 1000 if data["drain_ps"] else None)


def contention_point(data: Data, pattern: Contention, delay: float | None) -> Point:
    """The reading thread alone, and what those that disturb it moved meanwhile."""
    alone = _point({**data, "threads": 1})
    moved = data["other_lines"] * LINE / alone.elapsed_ns if pattern.others() else None
    return replace(
        alone,
        area_bytes=pattern.area,
        other_gb_per_s=moved,
        total_gb_per_s=None if moved is None else alone.gb_per_s + moved,
        delay_ns=delay,
    )


def loaded_point(
    data: Data, pattern: Loaded, percent: int, reads: int, delay: float | None
) -> Point:
    """The reader at one rate, and what moved at the memory meanwhile, by its own counters.

    `delay` is the generators' pause in ns, None where they are idle.
    """
    elapsed_ns = data["elapsed_ps"] / 1000
    counters: Mapping[str, int] = data["counters"]
    read, written = (LINE * _moved(counters, name) / elapsed_ns for name in ("reads", "writes"))
    return Point(
        op="load",
        threads=1,
        lines=reads,
        elapsed_ns=elapsed_ns,
        ns_per_line=elapsed_ns / reads,
        gb_per_s=reads * LINE / elapsed_ns,
        area_bytes=pattern.area,
        reads_percent=percent,
        delay_ns=delay,
        read_gb_per_s=read,
        write_gb_per_s=written,
        total_gb_per_s=read + written,
        **quantiles(data),
        counters=dict(sorted(counters.items())),
    )


def quantiles(data: Data) -> dict[str, Any]:
    """The fields of a point that tell of single accesses, from the core's."""
    return {f"{name}_ns": data[f"{name}_ps"] / 1000 for name in ("p50", "p99", "p999", "max")}


def _point(data: Data) -> Point:
    lines, threads = int(data["lines"]), int(data["threads"])
    elapsed_ns = data["elapsed_ps"] / 1000
    if not elapsed_ns:
        raise InputError(
            f"{data['op']}: found {lines} lines that memory accepted in no time, expected more, so "
            "that a rate can be measured: give more --lines"
        )
    timed = bool(data["max_ps"])
    counters: Mapping[str, int] = data["counters"]
    return Point(
        op=data["op"],
        threads=threads,
        lines=lines,
        elapsed_ns=elapsed_ns,
        ns_per_line=elapsed_ns * threads / lines,
        # bytes a ns are 10^9 bytes a second
        gb_per_s=lines * LINE / elapsed_ns,
        **(quantiles(data) if timed else {}),
        **traffic(counters),
        **energy.summary(counters),
        counters=dict(sorted(counters.items())),
    )


def traffic(counters: Mapping[str, int]) -> dict[str, Any]:
    """What moved, over all channels: nothing of it where there is no media (a DRAM machine)."""
    if _total(counters, "media.read_bytes") is None:
        return {}
    read = _total(counters, "media.read_bytes") or 0
    written = _total(counters, "media.write_bytes") or 0
    host_read = LINE * _by_host(counters, "reads")
    host_written = LINE * _by_host(counters, "writes")
    hits = {name: _total(counters, counter) for name, counter in _HITS.items()}
    if "near.reads" in counters:
        hits["near"] = counters["near.read_hits"] + counters["near.write_hits"]
    return {
        "media_read_bytes": read,
        "media_write_bytes": written,
        "read_amplification": read / host_read if host_read else None,
        "write_amplification": written / host_written if host_written else None,
        "hits": {name: count for name, count in hits.items() if count is not None},
    }


def _by_host(counters: Mapping[str, int], name: str) -> int:
    """Lines that the processor read or wrote: at the near memory if there is one."""
    if f"near.{name}" in counters:
        return counters[f"near.{name}"] + counters[f"near.direct_{name}"]
    return _total(counters, name, per_channel=True) or 0


def _moved(counters: Mapping[str, int], name: str) -> int:
    """Lines that the memory controllers moved one way for the processor."""
    by_channel = _total(counters, f"dram.{name}", per_channel=True)
    return _by_host(counters, name) if by_channel is None else by_channel


# Buffer to the counter of accesses that it served, below "channel.N." and "channel.N.dimm.".
_HITS = {
    "wpq": "wpq.forwards",
    "lsq": "lsq.forwards",
    "lsq_combined": "lsq.lines_combined",
    "rmw": "rmw.hits",
    "middle": "middle.hits",
    "ait": "ait.hits",
}


def _total(counters: Mapping[str, int], name: str, per_channel: bool = False) -> int | None:
    """The sum of a counter over all channels; None where there is none of that name."""
    found = [
        count
        for full, count in counters.items()
        if (match := _CHANNEL.fullmatch(full))
        and match["name"] == name
        and not (per_channel and match["dimm"])
    ]
    return sum(found) if found else None


_CHANNEL = re.compile(r"channel\.\d+\.(?P<dimm>dimm\.)?(?P<name>.+)")
