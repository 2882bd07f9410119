"""From a machine's report, lines of names and numbers, to what results hold of it.

Everything that a reader wants as a rate or a ratio is computed here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

from nearfar.measuring import energy
from nearfar.measuring.points import traffic
from nearfar.measuring.quantity import LINE
from nearfar.results.machine import (
    NO_LOADS,
    Area,
    Cached,
    Concentration,
    CoreTime,
    LoadCost,
    LoadLatency,
    Machine,
    Memory,
    OverTime,
    Page,
    WrittenLine,
    WrittenLines,
)

Figures = Mapping[str, str]
T = TypeVar("T")

_STACK = re.compile(r"stack\.(\w+)_ps")
_MEMORY = "memory."
# In the order of the columns behind a bucket's traffic.
_TRAFFIC = ("near_reads", "near_writes", "far_reads", "far_writes", "pages_moved", "instructions")


def figures_of(lines: Iterable[str]) -> dict[str, str]:
    """A report's lines `name = value`. One that has no value, as of a row of nothing, is none."""
    return dict(line.split(" = ", 1) for line in lines if " = " in line)


def machine(figures: Figures, period_ps: int) -> Machine:
    """A machine of cores with a cycle of `period_ps`. `figures` are its report's lines."""
    counters = {
        name: int(value)
        for name, value in figures.items()
        if name.startswith((_MEMORY, "cache.")) and value.isdecimal()
    }
    time_ps = int(figures["time_ps"])
    return Machine(
        begin_ns=int(figures["begin_ps"]) / 1000,
        time_ns=time_ps / 1000,
        period_ps=period_ps,
        core=_core(figures, "core."),
        threads=[_core(figures, f"thread.{n}.") for n in range(int(figures["threads"]))],
        load_latency=_latency(figures),
        over_time=_over_time(figures),
        memory=_memory(figures),
        load_cost=_load_cost(_core(figures, "core."), counters, period_ps),
        hits={**hits(counters), **_page_hits(figures)},
        **_ratios(counters, time_ps),
        counters=counters,
    )


def _core(figures: Figures, prefix: str) -> CoreTime:
    own = dict(_below(figures, prefix))
    stack = {match[1]: int(own[name]) for name in own if (match := _STACK.fullmatch(name))}
    counts = {
        name: int(value)
        for name, value in own.items()
        if value.isdecimal() and name not in ("busy_ps",) and not _STACK.fullmatch(name)
    }
    return CoreTime(counts, stack, _numbers(own.get("over_time", "")))


def _latency(figures: Figures) -> LoadLatency:
    own = dict(_below(figures, "load_latency."))
    count = int(own["count"])
    buckets = [[int(name), int(found)] for name, found in _below(own, "upto.")]
    if not count:
        return NO_LOADS
    return LoadLatency(
        count=count,
        mean_ns=int(own["sum_ps"]) / count / 1000,
        p50_ns=int(own["p50_ps"]) / 1000,
        p90_ns=int(own["p90_ps"]) / 1000,
        p99_ns=int(own["p99_ps"]) / 1000,
        p999_ns=int(own["p999_ps"]) / 1000,
        max_ns=int(own["max_ps"]) / 1000,
        buckets=buckets,
    )


def _over_time(figures: Figures) -> OverTime:
    rows = [_numbers(row) for name, row in _below(figures, "over_time.") if name.isdecimal()]
    causes = [match[1] for name, _ in _below(figures, "core.") if (match := _STACK.fullmatch(name))]
    columns = [list(column) for column in zip(*rows, strict=True)]
    columns = columns or [[] for _ in range(len(_TRAFFIC) + len(causes))]
    return OverTime(
        bucket_ns=int(figures["over_time.bucket_ps"]) / 1000,
        stack_ps=dict(zip(causes, columns[len(_TRAFFIC) :], strict=True)),
        **dict(zip(_TRAFFIC, columns, strict=False)),
    )


def _memory(figures: Figures) -> Memory:
    return Memory(
        near_bytes=int(figures["near.used_bytes"]),
        far_bytes=int(figures["far.used_bytes"]),
        pages_moved=int(figures["moved.pages"]),
        lines_moved=int(figures["moved.lines"]),
        gone_lines=int(figures["pages.gone_lines"]),
        table_lines=int(figures["pages.table_lines"]),
        pages=[_page(name, row) for name, row in _below(figures, "page.")],
        areas=[_area(name, row) for name, row in _below(figures, "map.")],
        hot_pages=_concentration(figures, "hottest_pages."),
        written_blocks=_concentration(figures, "most_written_blocks."),
        written_lines=_written_lines(figures),
        held_blocks=int(figures.get("moved.held_blocks", 0)),
        cached=_cached(figures),
    )


def _page_hits(figures: Figures) -> dict[str, list[int]]:
    found = _cached(figures)
    return (
        {} if found is None else {"pages in near memory": [found.hits, found.hits + found.faults]}
    )


def _cached(figures: Figures) -> Cached | None:
    own = {name: int(value) for name, value in _below(figures, "cached.")}
    return Cached(**own) if own else None


def _page(address: str, row: str) -> Page:
    tier, size, kind, reads, writes = row.split()
    bytes_ = 2 << 20 if size == "huge" else 4096
    return Page(int(address), tier, bytes_, kind, int(reads), int(writes))


def _area(address: str, row: str) -> Area:
    cell, kind, *cells = row.split()
    columns = [[int(item) for item in cells[start::4]] for start in range(4)]
    return Area(int(address), int(cell), kind, *columns)


def _written_lines(figures: Figures) -> WrittenLines:
    rows = [row.split() for _, row in _below(figures, "written_line.")]
    return WrittenLines(
        lines=[
            WrittenLine(None if kind == "gone" else int(address), kind, *map(int, counts))
            for address, kind, *counts in rows
        ],
        count=int(figures.get("written_lines.count", 0)),
        writes=int(figures.get("written_lines.writes", 0)),
        moves=sum(
            int(value)
            for name, value in figures.items()
            if name.startswith(f"{_MEMORY}far.") and name.endswith(".wear.migrations")
        ),
    )


# What of the stack is a load's.
_OF_LOADS = ("l1", "l2", "l3", "memory", "tlb")


def _load_cost(core: CoreTime, counters: Mapping[str, int], period_ps: int) -> LoadCost | None:
    """None where nothing was loaded, or nothing else was done."""
    instructions, loads = core.counts["instructions"], core.counts["loads"]
    if not 0 < loads < instructions:
        return None
    waited = {cause: core.stack_ps[cause] / period_ps for cause in _OF_LOADS}
    others = sum(core.stack_ps.values()) / period_ps - sum(waited.values())
    return LoadCost(
        cycles_per_load=sum(waited.values()) / loads,
        llc_cycles_per_load=waited["memory"] / loads,
        tlb_cycles_per_load=waited["tlb"] / loads,
        cycles_per_other=others / (instructions - loads),
        llc_misses_per_1000=1000 * counters.get("cache.misses", 0) / instructions,
        tlb_misses_per_1000=1000 * counters.get("cache.tlb.walks", 0) / instructions,
    )


def _concentration(figures: Figures, prefix: str) -> Concentration:
    rows = [(int(name), int(value)) for name, value in _below(figures, prefix)]
    return Concentration([most for most, _ in rows], [total for _, total in rows])


def _ratios(counters: Mapping[str, int], time_ps: int) -> dict[str, Any]:
    """Amplification, which media alone have, and the energy of both tiers."""
    near, far = (dict(_below(counters, f"{_MEMORY}{tier}.")) for tier in ("near", "far"))
    found = {name: item for name, item in traffic(far).items() if name != "hits"}
    parts = energy.by_component({**far, **{f"near.{name}": n for name, n in near.items()}})
    if not parts:
        return found
    total = sum(parts.values())
    bits = (energy.lines_moved(near) + energy.lines_moved(far)) * LINE * 8
    return {
        **found,
        "energy_pj": total,
        "energy": parts,
        "energy_pj_per_bit": total / bits if bits else None,
        "average_power_w": total / time_ps if time_ps else None,  # pJ over ps is W
    }


# What can hit, by the end of its counters' names: hits, and everything else that was asked.
_HITS = (
    ("L1", r"cache\.l1\.hits", r"cache\.(l[23]\.hits|misses|merged)"),
    ("L2", r"cache\.l2\.hits", r"cache\.(l3\.hits|misses)"),
    ("L3", r"cache\.l3\.hits", r"cache\.misses"),
    ("TLB", r"cache\.tlb\.1\.hits", r"cache\.tlb\.(2\.hits|walks)"),
    ("second TLB", r"cache\.tlb\.2\.hits", r"cache\.tlb\.walks"),
    ("near memory as a cache", r".*\bnear\.(read|write)_hits", r".*\bnear\.(read|write)_misses"),
    (
        "rows of near DRAM",
        r".*\bnear\.channel.*\.row_hits",
        r".*\bnear\.channel.*\.row_(misses|conflicts)",
    ),
    (
        "rows of far DRAM",
        r"memory\.far\.channel\.\d+\.dram\.row_hits",
        r"memory\.far\.channel\.\d+\.dram\.row_(misses|conflicts)",
    ),
    (
        "rows of the DIMM's DRAM",
        r".*\.dimm\.dram\.row_hits",
        r".*\.dimm\.dram\.row_(misses|conflicts)",
    ),
    ("read-modify-write buffer", r".*\.rmw\.hits", r".*\.rmw\.misses"),
    ("middle buffer", r".*\.middle\.hits", r".*\.middle\.misses"),
    ("address indirection table", r".*\.ait\.hits", r".*\.ait\.misses"),
)


def hits(counters: Mapping[str, int]) -> dict[str, list[int]]:
    """Hits and accesses of everything that was asked and can hit."""
    found = {}
    for name, hit, other in _HITS:
        served = _sum(counters, hit)
        asked = served + _sum(counters, other)
        if asked:
            found[name] = [served, asked]
    return found


def _sum(counters: Mapping[str, int], pattern: str) -> int:
    wanted = re.compile(pattern)
    return sum(count for name, count in counters.items() if wanted.fullmatch(name))


def _below(figures: Mapping[str, T], prefix: str) -> Iterator[tuple[str, T]]:
    """Those whose name begins so, without the prefix."""
    length = len(prefix)
    return ((name[length:], value) for name, value in figures.items() if name.startswith(prefix))


def _numbers(row: str) -> list[int]:
    return [int(item) for item in row.split()]
