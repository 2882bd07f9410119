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

class SequenceData(TypedDict):
    """When each step began and was done: little-endian 64-bit words, one a step, in ps.

    A load or store begins when it is first offered to the memory (by a core: when it has its
    buffer). A load is done when its data are there, a store when it is persistent (accepted in
    the ADR domain). Other steps begin when the steps before have begun, and are done when the
    next may begin.
    """

    issued_ps: bytes
    done_ps: bytes
    elapsed_ps: int  # the latest of done_ps
    counters: dict[str, int]

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
def sequence(
    settings: str, *, steps: bytes, outstanding: int, agent: str, seed: int
) -> SequenceData:
    """Play a list of steps on a fresh machine.

    `steps` are little-endian 64-bit words: an operation in the top byte, an operand in the 56
    bits below. 0 loads the 64-byte line at an address, 1 stores it non-temporally, 2 is an
    mfence, 3 an sfence, 4 waits until everything before has completed, 5 does nothing for so
    many ps.

    agent "none": accesses go straight to the memory controller, in order, as soon as fewer
    than `outstanding` are in flight; 1 makes a dependent chain. Fences wait for all of them.
    agent "core": a core plays the steps as its program, with real fences and the
    write-combining buffers. `outstanding` bounds its loads; with 1, each depends on the one
    before. 0 with either: as many as there is room for.
    """

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
