"""Amplification scores: how much slower small blocks are once a buffer overflows (NVLeak).

The time of a line in a region that overflows a buffer, over that in one that fits, at equal
block size: 1 from the size of the buffer's entries on (NVLeak, USENIX Security 2023, after LENS,
MICRO 2020). RMW buffer: 16 MiB over 16 KiB, loads; AIT buffer: 512 MiB over 16 MiB, loads;
LSQ: 16 MiB over 4 KiB, stores. WPQ: a region of the block's size over one of 512 B, stores.
"""

from __future__ import annotations

from nearfar.measuring.patterns import Chase
from nearfar.simulate.validation.datasets.chase import LARGE_LINES, SMALL_LINES
from nearfar.simulate.validation.datasets.published import figures
from nearfar.simulate.validation.series import HardwarePoint, Job, Series
from nearfar.simulate.validation.tables import Row, Tables

SOURCE = "Wang et al., NVLeak, USENIX Security 2023"

KIB, MIB = 1 << 10, 1 << 20
_LINE, _WPQ = 64, 512
# Of each buffer: the region that overflows it, the one that fits, the operation.
_BUFFERS = {
    "rmw_read": (16 * MIB, 16 * KIB, "ntload"),
    "ait_read": (512 * MIB, 16 * MIB, "ntload"),
    "lsq_write": (16 * MIB, 4 * KIB, "ntstore"),
}
_OF_THE_PAPER = {
    "L1 read amplification score": "rmw_read",
    "L2 read amplification score": "ait_read",
    "WPQ write amplification score": "wpq_write",
}
_SMALLEST = 64  # block sizes double from here


def series(tables: Tables) -> list[Series]:
    """One series a buffer, by block size."""
    points: dict[str, list[HardwarePoint]] = {}
    for _, row in figures(tables, "NVLeak"):
        for buffer, block, score in _scores(row):
            points.setdefault(buffer, []).append(_point(row, buffer, block, score))
    return [
        Series(
            name=f"scores-{buffer.replace('_', '-')}",
            title=f"Amplification score, {buffer.replace('_', ' ')}",
            dataset="scores",
            source=SOURCE,
            points=tuple(found),
        )
        for buffer, found in points.items()
    ]


def _scores(row: Row) -> list[tuple[str, int, float]]:
    """Buffer, block size and score: one of the artefact, or several of the paper in a row."""
    if row["metric"] in _OF_THE_PAPER:
        values = row["value"].split("/")
        buffer = _OF_THE_PAPER[row["metric"]]
        return [(buffer, _SMALLEST << i, float(value)) for i, value in enumerate(values)]
    buffer = row["metric"].removeprefix("amplification score ")
    if buffer not in _BUFFERS:
        return []
    block = int(row["conditions"].removeprefix("block ").removesuffix("B"))
    return [(buffer, block, float(row["value"]))]


def _point(row: Row, buffer: str, block: int, score: float) -> HardwarePoint:
    if buffer == "wpq_write":
        # A store of the block and its fence, against one that fills the queue.
        job, base, op = _job(block, _LINE), _job(_WPQ, _LINE), "ntstore"
    else:
        large, small, op = _BUFFERS[buffer]
        job, base = _job(large, block), _job(small, block)
    return HardwarePoint(
        label=f"{buffer}, {block} B blocks",
        real=score,
        unit="x",
        job=job,
        quantity=f"ns_per_line:{op}",
        relative_to=base,
        x=block,
        curve=buffer,
        rows=(row,),
    )


def _job(region: int, block: int) -> Job:
    lines = max(SMALL_LINES, min(region // 64, LARGE_LINES))
    pattern = Chase(region=region, block=block, op=("ntstore", "ntload"), lines=lines, whole=False)
    return Job(pattern, (("channels", "1"),), cost=2 * lines)
