"""Published pointer chases: latency against region size (LENS, MICRO 2020).

The measured walk: `repeats` consecutive regions, each 64-byte line touched once, a store
pass and then a load pass in the same order, 512-bit non-temporal accesses, one mfence a
region. The model walks the same way over fewer regions.
"""

from __future__ import annotations

from nearfar.measure.patterns import Chase
from nearfar.measure.quantity import LINE
from nearfar.results.wording import size
from nearfar.simulate.series import HardwarePoint, Job, Series
from nearfar.simulate.tables import Tables

SOURCE = "Wang et al., MICRO 2020; data of the VANS repository (MIT)"

# Enough accesses for the mean to settle well below 1 %; see tests/validation.
SMALL_LINES = 16384
# A region far beyond every buffer costs the same at its start as at its end, once the
# 4096 entries of the AIT buffer have been filled: a part of the walk is enough.
LARGE_LINES = 1 << 19


def series(tables: Tables, dimms: int, block: int) -> list[Series]:
    """The store and the load curve of one machine and block size."""
    name = f"chase-{dimms}dimm-{block}"
    points: dict[str, list[HardwarePoint]] = {"store": [], "load": []}
    for table in tables.with_columns(
        "dimms", "region_B", "block_B", "write_ns_per_CL", "read_ns_per_CL"
    ):
        rows = [
            row
            for row in table.rows
            if table.whole(row, "dimms") == dimms and table.whole(row, "block_B") == block
        ]
        for row in sorted(rows, key=lambda row: table.whole(row, "region_B")):
            region = table.whole(row, "region_B")
            job = chase_job(region, block, dimms)
            for operation, column, op in _OPERATIONS:
                points[operation].append(
                    HardwarePoint(
                        label=f"region {size(region)}",
                        x=region,
                        real=table.number(row, column),
                        unit="ns/line",
                        job=job,
                        quantity=f"ns_per_line:{op}",
                    )
                )
    plural = "DIMM" if dimms == 1 else "DIMMs"
    return [
        Series(
            name=f"{name}-{operation}",
            title=f"{dimms} {plural}, {block} B blocks, {operation}s",
            dataset=name,
            source=SOURCE,
            points=tuple(points[operation]),
            x_name="region",
            x_unit="B",
        )
        for operation, _, _ in _OPERATIONS
        if points[operation]
    ]


_OPERATIONS = (
    ("load", "read_ns_per_CL", "ntload"),
    ("store", "write_ns_per_CL", "ntstore"),
)


def chase_job(region: int, block: int, dimms: int) -> Job:
    """The model's walk for one region size."""
    per_region = region // LINE
    lines = max(SMALL_LINES, min(per_region, LARGE_LINES))
    pattern = Chase(region=region, block=block, op=("ntstore", "ntload"), lines=lines, whole=False)
    return Job(
        pattern=pattern,
        overrides=(("channels", str(dimms)),),
        cost=2 * pattern.lines_for(region),
    )
