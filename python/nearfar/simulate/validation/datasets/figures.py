"""Single figures of the FAST 2020 paper: idle latency, threads, fences, another socket.

Figure 2: one access at a time. Figure 4: sequential 256 B accesses by threads, DRAM and
Optane. Figure 13: a fence every so many bytes, one thread. Figure 17: reads and writes mixed,
on this socket and on the other one, by the ratios of Intel's Memory Latency Checker. That counts
traffic: a plain store reads its line and later writes it back, so one to one is stores alone,
and two to one a load beside each store. The reads of one thread go faster than figure 4's, so
the prefetchers were on.
"""

from __future__ import annotations

from dataclasses import replace

from nearfar.measuring.patterns import Chase, Pattern, Stream
from nearfar.measuring.quantity import LINE
from nearfar.simulate.validation.datasets.bandwidth import AREA, LINES, LINES_PER_THREAD, dimms_text
from nearfar.simulate.validation.datasets.flush import flush_job
from nearfar.simulate.validation.series import HardwarePoint, Job, Series
from nearfar.simulate.validation.tables import Row, Table, Tables

SOURCE = "Yang et al., FAST 2020, figure {}"
GIB_PER_S = (1 << 30) / 1e9  # in GB/s
COLUMNS = ("figure", "x", "series", "value", "unit")

_OPS = {"Read": "ntload", "Write(ntstore)": "ntstore", "Write(clwb)": "store+clwb"}
_DIMMS = {"optane": 6, "dram": 6, "optane_ni": 1}


def threads(memory: str, tables: Tables) -> list[Series]:
    """Figure 4: "dram", "optane" (6 DIMMs) or "optane_ni" (1 DIMM); one series an operation."""
    dimms = _DIMMS[memory]
    name = f"threads-{'dram' if memory == 'dram' else f'{dimms}dimm'}"
    where = "DRAM" if memory == "dram" else dimms_text(dimms)
    found: dict[str, list[HardwarePoint]] = {}
    for table, row in _rows(tables, f"04-bandwidth_thcount_{memory}"):
        count, op = table.whole(row, "x"), _OPS[row["series"]]
        lines = max(LINES, LINES_PER_THREAD * count)
        pattern = Stream(op=op, access=256, threads=count, area=AREA, lines=lines)
        job = Job(pattern, (("channels", str(dimms)),), cost=lines)
        label = f"{count} thread{'s' if count > 1 else ''}"
        found.setdefault(op, []).append(_rate(table, row, label, job, x=count, curve=op))
    return [
        Series(
            name=f"{name}-{op.replace('+', '-')}",
            title=f"Bandwidth by threads, {where}, {op}",
            dataset=name,
            source=SOURCE.format(4),
            points=tuple(points),
            x_name="threads",
        )
        for op, points in found.items()
    ]


def fences(tables: Tables) -> list[Series]:
    """Figure 13: one thread on one DIMM, a fence every x bytes."""
    found: dict[str, list[HardwarePoint]] = {}
    for table, row in _rows(tables, "13-"):
        fence = table.whole(row, "x")
        op = "ntstore" if row["series"] == "ntstore" else "store+clwb"
        job = flush_job(
            op, access=max(256, min(fence, 4096)), fence=fence, random=False, threads=1, dimms=1
        )
        label = f"{row['series']}, fence every {fence} B"
        found.setdefault(op, []).append(_rate(table, row, label, job, x=fence, curve=row["series"]))
    return [
        Series(
            name=f"fences-{op.replace('+', '-')}",
            title=f"Bandwidth by bytes between fences, 1 DIMM, {op}",
            dataset="fences",
            source=SOURCE.format(13),
            points=tuple(points),
        )
        for op, points in found.items()
    ]


# "R:W (3:1)", reads to writes in the traffic: the loads beside a store.
_LOADS = {"4:1": 3, "3:1": 2, "2:1": 1, "1:1": 0}
_WRITES = {"R": 0, "4:1": 20, "3:1": 25, "2:1": 33, "1:1": 50, "W": 100}  # per cent of the traffic
_PREFETCHERS = (("cpu.prefetch.adjacent", "true"), ("cpu.prefetch.stream", "true"))

# Local loads to local loads of the other socket's memory: what Liu and Chen measured for
# dependent reads of DRAM (58 ns) and of 3D XPoint (47 ns) is the way there and back. Three UPI
# links of 10.4 GT/s carry 62 GB/s each way, a line in five slots of 16 bytes.
REMOTE = (
    ("link.kind", "numa"),
    ("link.request_latency", "26500 ps"),
    ("link.response_latency", "26500 ps"),
    ("link.slot", "257 ps"),
    ("link.write_round_trips", "1"),
)


def sockets(tables: Tables) -> list[Series]:
    """Figure 17: mixtures on this socket's six DIMMs, and on the other's."""
    found: dict[str, list[HardwarePoint]] = {}
    for table, row in _rows(tables, "17-"):
        mix = row["x"].removeprefix("R:W (").rstrip(")")
        where, _, count = row["series"].removeprefix("Optane-").rpartition("-")
        loads = _LOADS.get(mix, 0)
        pattern = Stream(
            op={"R": "load", "W": "ntstore"}.get(mix, "store"),
            reads=100 * loads // (loads + 1) if loads else None,
            access=256,
            threads=int(count),
            area=AREA,
            lines=LINES,
        )
        overrides = (("channels", "6"), *_PREFETCHERS, *(REMOTE if where else ()))
        socket = "remote" if where else "local"
        label = f"reads to writes {mix}, {count} thread{'s' if count != '1' else ''}"
        point = _rate(
            table, row, label, Job(pattern, overrides, cost=LINES),
            x=_WRITES[mix], curve=f"{count} threads",
        )  # fmt: skip
        traffic = (loads + 2) / (loads + 1) if mix in _LOADS else 1.0
        found.setdefault(socket, []).append(replace(point, scale=traffic))
    return [
        Series(
            name=f"sockets-{socket}",
            title=f"Reads and writes mixed, 6 DIMMs, {socket} socket",
            dataset="sockets",
            source=SOURCE.format(17),
            points=tuple(points),
        )
        for socket, points in found.items()
    ]


def idle(tables: Tables, memory: str) -> list[Series]:
    """Figure 2: one access at a time, of "DRAM" or "Optane"."""
    points = [
        HardwarePoint(
            label=row["x"].replace("\\", " "),
            real=table.number(row, "value"),
            unit="ns",
            job=_one_at_a_time(row["x"], "1" if memory == "DRAM" else "6"),
            quantity="ns_per_line",
            rows=(row,),
        )
        for table, row in _rows(tables, "02-")
        if row["series"] == memory
    ]
    name = f"{memory.lower()}-idle"
    title = f"{memory} idle latency"
    return [Series(name, title, name, SOURCE.format(2), tuple(points))][: len(points)]


def _one_at_a_time(x: str, dimms: str) -> Job:
    """A load after the other; a write is one store and its fence."""
    pattern: Pattern
    if "Write" in x:
        op = "ntstore" if "ntstore" in x else "store+clwb"
        pattern = Chase(op=op, region=LINE, fence_kind="sfence", lines=4096)
    else:
        pattern = Stream(
            op="ntload",
            access=LINE,
            stride="random" if "Random" in x else LINE,
            area=1 << 30,
            outstanding=1,
            lines=16384,
        )
    return Job(pattern, (("channels", dimms),), cost=16384)


def _rows(tables: Tables, figure: str) -> list[tuple[Table, Row]]:
    """The rows of a figure that hold a measurement; its error bars are not one."""
    return [
        (table, row)
        for table in tables.with_columns(*COLUMNS)
        for row in table.rows
        if row["figure"].startswith(figure)
        and (figure.endswith("-") or row["figure"] == figure)
        and not row["series"].endswith("-Err")
        and table.number(row, "value") > 0
    ]


def _rate(table: Table, row: Row, label: str, job: Job, *, x: float, curve: str) -> HardwarePoint:
    return HardwarePoint(
        label=label,
        real=table.number(row, "value") * GIB_PER_S,
        unit="GB/s",
        job=job,
        quantity="gb_per_s",
        x=x,
        curve=curve,
        rows=(row,),
    )
