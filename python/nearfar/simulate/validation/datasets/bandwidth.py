"""Bandwidth by operation, access size, stride and threads (OptaneStudy, FAST 2020).

Each thread walks its own 2 GiB. The study's "GB/s" is MiB/s / 1024; its tables give MiB/s,
which become 10^9 bytes a second here. Writes also have an effective write ratio (bytes the
controller sent over bytes the media took), compared as write amplification, its inverse.
"""

from __future__ import annotations

from nearfar.measuring.patterns import Stream
from nearfar.measuring.quantity import LINE
from nearfar.results.wording import size
from nearfar.simulate.validation.series import HardwarePoint, Job, Series
from nearfar.simulate.validation.tables import Row, Table, Tables

SOURCE = "Yang et al., FAST 2020; OptaneStudy"
COLUMNS = (
    "interleaved_6dimm",
    "operation",
    "threads",
    "access_size_B",
    "stride_B",
    "throughput_MiBps",
)
MIB_PER_S = (1 << 20) / 1e9  # in GB/s

OPERATIONS = {
    "Load": "ntload",
    "NTStore": "ntstore",
    "Store+Flush": "store+clwb",
    "Store": "store",
}
AREA = 2 << 30  # of each thread

# What the study calls stores with clwb at random places of six DIMMs was on one day plain stores:
# at every access size and number of threads its rate is that of plain stores on other days, to 3 %,
# and it writes blocks three to four times, where flushed lines combine.
_PLAIN_STORES = ("Store+Flush", "2019-04-04")

# Per thread, at least; a thread of 24 gets enough to see every queue full.
LINES_PER_THREAD = 4096
LINES = 65536


def series(tables: Tables, dimms: int) -> list[Series]:
    """One series an operation, and one of the write amplification where it was measured."""
    name = f"bandwidth-{dimms}dimm"
    points: dict[str, list[HardwarePoint]] = {}
    for table in tables.with_columns(*COLUMNS):
        for row in sorted(table.rows, key=lambda row: _order(table, row)):
            if not _wanted(table, row, dimms):
                continue
            op = OPERATIONS[row["operation"]]
            job = stream_job(
                _played(row),
                access=table.whole(row, "access_size_B"),
                stride=table.whole(row, "stride_B"),
                threads=table.whole(row, "threads"),
                dimms=dimms,
            )
            label = _label(table, row)
            real = table.number(row, "throughput_MiBps") * MIB_PER_S
            points.setdefault(op, []).append(
                HardwarePoint(
                    label,
                    real,
                    "GB/s",
                    job,
                    "gb_per_s",
                    x=table.whole(row, "threads"),
                    curve=label.rpartition(", ")[0],
                    rows=(row,),
                )
            )
            if op != "ntload" and row.get("ewr"):
                points.setdefault("amplification", []).append(
                    HardwarePoint(
                        f"{op}, {label}",
                        1 / table.positive(row, "ewr"),
                        "x",
                        job,
                        "write_amplification",
                        rows=(row,),
                    )
                )
    return [
        Series(
            name=f"{name}-{kind.replace('+', '-')}",
            title=f"Bandwidth, {dimms_text(dimms)}, {_TITLES[kind]}",
            dataset=name,
            source=SOURCE,
            points=tuple(points[kind]),
        )
        for kind in _TITLES
        if kind in points
    ]


_TITLES = {
    "ntload": "loads",
    "ntstore": "non-temporal stores",
    "store+clwb": "store + clwb",
    "store": "plain stores",
    "amplification": "write amplification",
}


def dimms_text(dimms: int) -> str:
    """ "1 DIMM", "6 DIMMs"."""
    return f"{dimms} DIMM{'s' if dimms > 1 else ''}"


def stream_job(op: str, *, access: int, stride: int, threads: int, dimms: int) -> Job:
    """The model's run for one row; a stride of 0 is random."""
    pattern = Stream(
        op=op,
        access=access,
        stride=stride or "random",
        threads=threads,
        area=AREA,
        lines=max(LINES, LINES_PER_THREAD * threads, 4 * threads * access // LINE),
    )
    return Job(pattern, (("channels", str(dimms)),), cost=pattern.lines_for(access, threads))


def _played(row: Row) -> str:
    measured = (row["operation"], row.get("date"))
    return "store" if measured == _PLAIN_STORES else OPERATIONS[row["operation"]]


def _wanted(table: Table, row: Row, dimms: int) -> bool:
    """Local persistent memory only, and a measured rate above zero."""
    return (
        row["operation"] in OPERATIONS
        and table.whole(row, "interleaved_6dimm") == (dimms == 6)
        and row.get("media", "lpmem") == "lpmem"
        and row.get("local_numa", "1") == "1"
        and table.number(row, "throughput_MiBps") > 0
    )


def _order(table: Table, row: Row) -> tuple[int, ...]:
    return tuple(table.whole(row, column) for column in ("stride_B", "access_size_B", "threads"))


def _label(table: Table, row: Row) -> str:
    stride = table.whole(row, "stride_B")
    access = size(table.whole(row, "access_size_B"))
    threads = table.whole(row, "threads")
    how = f"stride {size(stride)}" if stride else "random"
    return f"{access}, {how}, {threads} thread{'s' if threads > 1 else ''}"
