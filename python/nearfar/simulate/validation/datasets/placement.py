"""Which thread writes to which DIMM (OptaneStudy, FAST 2020, figure 15).

Six or twelve threads at random places of six DIMMs: of all of them (allocation 0 and 1:
interleaved; 5: not), of the three of one controller (3), of two of different controllers
(4), of one DIMM each (2: interleaved; 6: not). An access of up to 4 KiB lies on one DIMM
either way. Groups of threads that share no DIMM share nothing in the model, so one group is
run and its figure multiplied.
"""

from __future__ import annotations

from nearfar.measuring.patterns import Stream
from nearfar.results.wording import size
from nearfar.simulate.validation.datasets.bandwidth import (
    AREA,
    LINES,
    LINES_PER_THREAD,
    MIB_PER_S,
    SOURCE,
)
from nearfar.simulate.validation.series import HardwarePoint, Job, Series
from nearfar.simulate.validation.tables import Row, Table, Tables

COLUMNS = ("alloc_type", "operation", "threads", "access_size_B", "throughput_MiBps")

_DIMMS = 6
_OF_A_THREAD = {0: 6, 1: 6, 2: 1, 3: 3, 4: 2, 5: 6, 6: 1}  # DIMMs, by allocation
_MEANING = {6: "any DIMM", 3: "3 DIMMs", 2: "2 DIMMs", 1: "one DIMM"}

# The study's description says that a fence follows each operation; the rates say on which
# days it did, and which: on these, twelve threads of 64 B loads took 424 ns each, one at a time
# (73 on others), and stores with clwb 620 ns, so that the next line was asked for only when
# the fence was done: an mfence. Non-temporal stores of one thread took 190 ns, whether of 64 B
# or of 256.
_FENCED_DAYS = ("2019-04-17", "2019-04-18")

_OPERATIONS = {
    "Load": "ntload",
    "Store": "store",
    "NTStore": "ntstore",
    "Store+Flush": "store+clwb",
}


def series(tables: Tables) -> list[Series]:
    """One series an operation."""
    found: dict[str, list[HardwarePoint]] = {}
    for table in tables.with_columns(*COLUMNS):
        for row in sorted(table.rows, key=lambda row: _order(table, row)):
            if table.number(row, "throughput_MiBps") > 0:
                found.setdefault(row["operation"], []).append(_point(table, row))
    return [
        Series(
            name=f"placement-{op.replace('+', '-')}",
            title=f"Threads against DIMMs, 6 DIMMs, {op}",
            dataset="placement",
            source=SOURCE,
            points=tuple(found[operation]),
        )
        for operation, op in _OPERATIONS.items()
        if operation in found
    ]


def _point(table: Table, row: Row) -> HardwarePoint:
    access, threads = table.whole(row, "access_size_B"), table.whole(row, "threads")
    dimms = _OF_A_THREAD[table.whole(row, "alloc_type")]
    groups = _DIMMS // dimms
    fenced = _fenced(row, threads)
    how = f"{_MEANING[dimms]} each, {threads} threads{', fenced' if fenced else ''}"
    return HardwarePoint(
        label=f"{size(access)}, {how}",
        real=table.number(row, "throughput_MiBps") * MIB_PER_S,
        unit="GB/s",
        job=_job(row["operation"], access, threads // groups, dimms, fenced),
        quantity="gb_per_s",
        scale=groups,
        x=access,
        curve=f"{how}, allocation {row['alloc_type']}",
        rows=(row,),
    )


def _fenced(row: Row, threads: int) -> bool:
    on_the_day = row.get("date") in _FENCED_DAYS
    return on_the_day and (threads == 12 or row["operation"] == "NTStore")


def _job(operation: str, access: int, threads: int, dimms: int, fenced: bool) -> Job:
    op = _OPERATIONS[operation]
    lines = max(LINES, LINES_PER_THREAD * threads)
    pattern = Stream(
        op=op,
        access=access,
        stride="random",
        threads=threads,
        area=AREA,
        fence_every=access if fenced else None,
        fence_kind="mfence" if fenced else None,
        lines=lines,
    )
    return Job(pattern, (("channels", str(dimms)),), cost=lines)


def _order(table: Table, row: Row) -> tuple[int, ...]:
    columns = ("alloc_type", "threads", "access_size_B")
    return tuple(table.whole(row, column) for column in columns)
