"""Findings from tables that hold no curve: latency and bandwidth matrices, loads, single figures.

They are about the memory behind all caches. What is inside a device takes latencies over regions,
and that is said.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nearfar.results.findings import Finding, Observation, identified, not_identifiable
from nearfar.results.wording import number

KIND = "table"

COLUMNS = "region_bytes, block_bytes, op, ns_per_line"
_QUICKEST_NS = 45.0  # no DRAM answers sooner: a prefetcher or a cache did
_BUSY = 0.9  # of the most: a loaded memory
_LOADS = 3
_SATURATED = 0.95  # of the most: two loads that reach it show that there is no more
_DECIMALS = 3


def findings(observations: Sequence[Observation]) -> list[Finding]:
    """What tables say; `levels` is refused where no curve says it."""
    seen = [one for one in observations if one.pattern.get("kind") == KIND]
    if not seen:
        return []
    found = [*_idle(seen), *_remote(seen), *_peak(seen), *_mix(seen), *_loaded(seen)]
    found += _alone(seen)
    if all(one.pattern.get("kind") == KIND for one in observations):
        reason = (
            f"no latency over regions is here: needs a table with the columns {COLUMNS}, or output "
            "of lat_mem_rd"
        )
        found.append(not_identifiable("levels", reason, ()))
    return found


def _of(seen: Sequence[Observation], table: str) -> list[Observation]:
    return [one for one in seen if one.pattern["table"] == table]


def _own(seen: Sequence[Observation], table: str) -> list[Observation]:
    """The entries of processors and memory of one node."""
    return [one for one in _of(seen, table) if one.pattern["cpu"] == one.pattern["memory"]]


def _ids(seen: Sequence[Observation]) -> list[str]:
    return [one.id for one in seen]


def _ns(seen: Sequence[Observation]) -> list[float]:
    return [one.ns_per_access for one in seen if one.ns_per_access is not None]


def _idle(seen: Sequence[Observation]) -> list[Finding]:
    name = "bandwidth.latency.idle"
    own = _own(seen, "latency") or _of(seen, "idle")
    if not own:
        return []
    times = _ns(own)
    low, high = min(times), max(times)
    if low < _QUICKEST_NS:
        reason = (
            f"{number(low)} ns is less than a DRAM takes: a prefetcher was on, or a cache held it"
        )
        return [not_identifiable(name, reason, _ids(own))]
    reason = "the table's latency of a node's own memory; pages that lie close, so with few misses"
    reason += " of the TLB"
    value = round(float(np.median(times)), _DECIMALS)
    return [identified(name, value, reason, _ids(own), (low, high))]


def _remote(seen: Sequence[Observation]) -> list[Finding]:
    name = "ict.remote"
    own = {one.pattern["cpu"]: one.ns_per_access or 0.0 for one in _own(seen, "latency")}
    others = [one for one in _of(seen, "latency") if one.pattern["cpu"] != one.pattern["memory"]]
    more = [(one.ns_per_access or 0.0) - own[one.pattern["cpu"]]
            for one in others if one.pattern["cpu"] in own]  # fmt: skip
    if not more:
        return []
    low, high = round(min(more), _DECIMALS), round(max(more), _DECIMALS)
    if low <= 0:
        reason = "another node's memory is not slower than a processor's own in every row"
        # A distance is not negative, whatever noise says.
        return [not_identifiable(name, reason, _ids(others), (0.0, max(high, 0.0)))]
    reason = f"{len(more)} entries of the latency matrix over the row's own memory"
    value = round(float(np.median(more)), _DECIMALS)
    return [identified(name, value, reason, _ids(others), (low, high))]


def _gb(one: Observation) -> float:
    return float(one.pattern["gb_per_s"])


def _peak(seen: Sequence[Observation]) -> list[Finding]:
    name = "bandwidth.read.peak"
    reads = [one for one in _of(seen, "traffic") if one.pattern["traffic"] == "ALL Reads"]
    if reads:
        best = max(reads, key=_gb)
        return [
            identified(name, round(_gb(best), _DECIMALS), "reads alone, all threads", [best.id])
        ]
    loads = sorted(_of(seen, "loaded"), key=_gb)
    if len(loads) >= _LOADS and _gb(loads[-2]) >= _SATURATED * _gb(loads[-1]):
        reason = "the most of the loads, and another reaches nearly as much"
        bounds = (round(_gb(loads[-2]), _DECIMALS), round(_gb(loads[-1]), _DECIMALS))
        return [identified(name, bounds[1], reason, _ids(loads[-2:]), bounds)]
    matrix = _of(seen, "bandwidth")
    if matrix:
        reason = "nodes were read one at a time: what all move together was not measured"
        own = [_gb(one) for one in _own(seen, "bandwidth")] or [_gb(one) for one in matrix]
        bounds = (round(max(own), _DECIMALS), round(sum(own), _DECIMALS))
        return [not_identifiable(name, reason, _ids(matrix), bounds)]
    if loads:
        reason = "too few loads to see where more are not moved"
        return [not_identifiable(name, reason, _ids(loads))]
    return []


def _mix(seen: Sequence[Observation]) -> list[Finding]:
    rates = {one.pattern["traffic"]: one for one in _of(seen, "traffic")}
    reads, halves = rates.get("ALL Reads"), rates.get("1:1 Reads-Writes")
    if reads is None or halves is None or _gb(reads) <= 0:
        return []
    share = round(_gb(halves) / _gb(reads), _DECIMALS)
    reason = "reads and writes one to one, over reads alone"
    return [identified("bandwidth.mix", share, reason, [halves.id, reads.id])]


def _loaded(seen: Sequence[Observation]) -> list[Finding]:
    """The latency where nine tenths of the most are moved, between the two loads around it."""
    name = "bandwidth.latency.loaded"
    loads = sorted(_of(seen, "loaded"), key=_gb)
    if not loads:
        return []
    busy = _BUSY * _gb(loads[-1])
    below = [one for one in loads if _gb(one) <= busy]
    above = [one for one in loads if _gb(one) >= busy]
    if len(loads) < _LOADS or not below:
        reason = f"points under load: {len(loads)}; needs more, some below nine tenths of the most"
        return [not_identifiable(name, reason, _ids(loads))]
    pair = (below[-1], above[0])
    times, rates = _ns(pair), [_gb(one) for one in pair]
    value = float(np.interp(busy, rates, times)) if rates[1] > rates[0] else times[0]
    reason = (
        f"at {number(busy)} GB/s, between loads of {number(rates[0])} and {number(rates[1])} GB/s"
    )
    bounds = (min(times), max(times))
    return [identified(name, round(value, _DECIMALS), reason, _ids(pair), bounds)]


def _alone(seen: Sequence[Observation]) -> list[Finding]:
    lone = _of(seen, "alone")
    if not lone:
        return []
    times = ", ".join(number(one) for one in _ns(lone)[:4])
    reason = (
        f"{times} ns of walks over regions whose size is not said: run multichase with -v, or give "
        f"a table with the columns {COLUMNS}"
    )
    return [not_identifiable("memory.latency", reason, _ids(lone))]
