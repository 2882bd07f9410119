"""Published pointer chases: latency against region size (LENS, MICRO 2020).

The measured walk: `repeats` consecutive regions, each 64-byte line touched once, a store
pass and then a load pass in the same order, 512-bit non-temporal accesses, one mfence a
region. The model walks the same way over fewer regions.
"""

from __future__ import annotations

from nearfar.measuring.patterns import Chase
from nearfar.measuring.quantity import LINE
from nearfar.results.wording import size
from nearfar.simulate.validation.series import HardwarePoint, Job, Series
from nearfar.simulate.validation.tables import Tables

SOURCE = "Wang et al., MICRO 2020; data of the VANS repository (MIT)"

# Lines a pass touches. A region far beyond every buffer costs the same everywhere once the
# 4096 entries of the AIT buffer have been filled: a part of it is enough (a walk over
# 512 MiB that is cut here is within 0.1 % of a longer one).
SMALL_LINES = 16384
LARGE_LINES = 1 << 18

# In a region of a few hundred lines single orders differ by up to 10 % in how well their
# stores combine, and the measured one is not known: the mean over several is compared.
ORDERS = 6
ORDERS_UP_TO = 64 << 10
COMBINED = 256  # bytes; blocks of this size are stored whole in any order


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
                        real=table.positive(row, column),
                        unit="ns/line",
                        job=job,
                        quantity=f"ns_per_line:{op}",
                        rows=(row,),
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
    lines = max(SMALL_LINES, min(region // LINE, LARGE_LINES))
    pattern = Chase(region=region, block=block, op=("ntstore", "ntload"), lines=lines, whole=False)
    orders = ORDERS if block < COMBINED and region <= ORDERS_UP_TO else 1
    return Job(
        pattern=pattern,
        overrides=(("channels", str(dimms)),),
        seeds=tuple(range(1, orders + 1)),
        cost=2 * orders * pattern.lines_for(region),
    )
