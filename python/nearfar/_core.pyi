"""The simulated machine in C++. `settings` is the text of an exported model everywhere.

Every function raises nearfar.errors.InputError for settings or arguments that cannot be
used, and KeyboardInterrupt when a signal arrives while it runs.
"""

from collections.abc import Sequence
from typing import TypedDict

class PointData(TypedDict):
    """One point. Percentiles are 0 where accesses are not timed singly."""

    op: str
    elapsed_ps: int
    lines: int  # over all threads
    threads: int
    p50_ps: int
    p99_ps: int
    p999_ps: int
    max_ps: int
    counters: dict[str, int]

class OverwriteData(PointData):
    samples_ps: list[int]  # one a write, in order

class ReplayData(TypedDict):
    """What a trace did."""

    requests: int
    reads: int
    writes: int
    elapsed_ps: int
    gb_per_s: float
    p50_ps: int
    p99_ps: int
    p999_ps: int
    max_ps: int
    late: int  # requests that entered after their cycle
    late_max_ps: int
    format: str
    counters: dict[str, int]

def version() -> str: ...
def chase(
    settings: str,
    *,
    region: int,
    block: int,
    ops: Sequence[str],
    regions: str,
    fence: str,
    fence_kind: str,
    threads: int,
    lines: int,
    seed: int,
    walk_lines: int = 0,
    agent: str = "core",
    outstanding: int = 0,
) -> list[PointData]:
    """One point for each of `ops`, stores first; "raw" stands alone.

    `lines` is rounded up to whole regions; the walk is cut after `walk_lines`, if not 0.
    """

def contention(settings: str, *, other: str, area: int, reads: int, seed: int) -> PointData: ...
def overwrite(
    settings: str, *, region: int, writes: int, op: str, fence_kind: str, seed: int
) -> OverwriteData: ...
def stream(
    settings: str,
    *,
    op: str,
    access: int,
    stride: int,
    threads: int,
    area: int,
    reads_percent: int,
    outstanding: int,
    fence_every: int,
    agent: str,
    lines: int,
    seed: int,
) -> PointData: ...

class Replay:
    """A trace fed piece by piece, so that its size does not matter."""

    def __init__(
        self,
        settings: str,
        *,
        name: str,
        format: str,
        pace: str,
        outstanding: int,
        clock_ps: int,
        command_trace: str,
    ) -> None: ...
    def feed(self, data: bytes) -> None: ...
    def finish(self) -> ReplayData: ...
