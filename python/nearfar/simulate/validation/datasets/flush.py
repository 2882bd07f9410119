"""Stores written back by clwb, with a fence now and then (OptaneStudy, FAST 2020).

A thread writes its own 2 GiB in accesses of one size, in order (operation code 0) or at random
places (1); it writes back and fences every so many bytes. The model's cores write a line back
at once: how long it stayed in a cache is not told apart, so rows that differ in that alone
are compared with one figure.
"""

from __future__ import annotations

from nearfar.measuring.patterns import Stream
from nearfar.results.wording import size
from nearfar.simulate.validation.datasets.bandwidth import (
    AREA,
    LINES,
    MIB_PER_S,
    SOURCE,
    dimms_text,
)
from nearfar.simulate.validation.series import HardwarePoint, Job, Series
from nearfar.simulate.validation.tables import Row, Table, Tables

COLUMNS = (
    "interleaved_6dimm",
    "op_code",
    "threads",
    "access_size_B",
    "clwb_every_B",
    "sfence_every_B",
    "throughput_MiBps",
)

# An access in order that is as long as a page goes on where the last one ended: longer ones
# differ in nothing that the model has. Fences further apart than a run is long are none.
_LONG_ACCESS = 4096
_LONG_FENCE = 1 << 20


def series(tables: Tables, dimms: int) -> list[Series]:
    """One series an order and number of threads; the write amplification where measured."""
    found: dict[tuple[str, int], list[HardwarePoint]] = {}
    ratios: list[HardwarePoint] = []
    for table in tables.with_columns(*COLUMNS):
        for row in sorted(table.rows, key=lambda row: _order(table, row)):
            if table.whole(row, "interleaved_6dimm") != (dimms == 6) or not _measured(table, row):
                continue
            order = "random" if table.whole(row, "op_code") else "sequential"
            threads = table.whole(row, "threads")
            found.setdefault((order, threads), []).append(_point(table, row, dimms))
            if row.get("ewr"):
                ratios.append(_amplification(table, row, dimms))
    name = f"flush-{dimms}dimm"
    series = [
        Series(
            name=f"{name}-{order}-{threads}thread",
            title=f"clwb and fences, {dimms_text(dimms)}, {order}, threads: {threads}",
            dataset=name,
            source=SOURCE,
            points=tuple(points),
        )
        for (order, threads), points in found.items()
    ]
    if ratios:
        title = f"clwb and fences, {dimms_text(dimms)}, write amplification"
        series.append(Series(f"{name}-amplification", title, name, SOURCE, tuple(ratios)))
    return series


def _measured(table: Table, row: Row) -> bool:
    return row.get("media", "lpmem") == "lpmem" and table.number(row, "throughput_MiBps") > 0


def _point(table: Table, row: Row, dimms: int) -> HardwarePoint:
    access, fence = table.whole(row, "access_size_B"), table.whole(row, "sfence_every_B")
    order = "random" if table.whole(row, "op_code") else "sequential"
    written = table.whole(row, "clwb_every_B")
    return HardwarePoint(
        label=_label(table, row),
        real=table.number(row, "throughput_MiBps") * MIB_PER_S,
        unit="GB/s",
        job=flush_job(
            "store+clwb",
            access=access,
            fence=fence,
            random=order == "random",
            threads=table.whole(row, "threads"),
            dimms=dimms,
        ),
        quantity="gb_per_s",
        x=fence,
        curve=f"{order}, {size(access)}, {'each line' if written == 64 else size(written)}",
        rows=(row,),
    )


def _amplification(table: Table, row: Row, dimms: int) -> HardwarePoint:
    point = _point(table, row, dimms)
    return HardwarePoint(
        label=point.label,
        real=1 / table.positive(row, "ewr"),
        unit="x",
        job=point.job,
        quantity="write_amplification",
        rows=(row,),
    )


def flush_job(op: str, *, access: int, fence: int, random: bool, threads: int, dimms: int) -> Job:
    """The model's run: accesses of one size, a fence every `fence` bytes."""
    if not random:
        access = min(access, _LONG_ACCESS)
    lines = max(LINES, 2 * threads * access // 64)
    pattern = Stream(
        op=op,
        access=access,
        stride="random" if random else access,
        threads=threads,
        area=max(AREA, access),
        fence_every=fence if fence <= _LONG_FENCE else None,
        lines=lines,
    )
    return Job(pattern, (("channels", str(dimms)),), cost=pattern.lines_for(access, threads))


def _order(table: Table, row: Row) -> tuple[int, ...]:
    columns = ("op_code", "threads", "access_size_B", "clwb_every_B", "sfence_every_B")
    return tuple(table.whole(row, column) for column in columns)


def _label(table: Table, row: Row) -> str:
    access, written, fence = (
        size(table.whole(row, f"{column}_B"))
        for column in ("access_size", "clwb_every", "sfence_every")
    )
    return f"{access}, clwb every {written}, fence every {fence}"
