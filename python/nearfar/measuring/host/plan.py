"""Which settings a pattern asks for on a real machine, and whether the machine can run them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from nearfar.errors import InputError
from nearfar.measuring.core import filled
from nearfar.measuring.host.loaded import curves
from nearfar.measuring.host.points import (
    Repetition,
    chase_repetition,
    contention_repetition,
    point,
    stream_repetition,
)
from nearfar.measuring.host.setting import Cpus, Setting
from nearfar.measuring.loaded import Loaded
from nearfar.measuring.patterns import Chase, Contention, OneStream, Pattern, Stream
from nearfar.measuring.quantity import LINE, line_holding
from nearfar.results import Point

if TYPE_CHECKING:
    from nearfar.measuring.host.core import HostCore, HostMemory

# A repeated walk goes on until it has so many chunks: enough for a low quantile.
REPEATED_CHUNKS = 32
# A thread streams over so much unless told: several times any cache, so that what a cache
# took in and has not written back is a small part.
STREAM_LINES = (256 << 20) // LINE


def settings(pattern: Chase | Stream | Contention | Loaded, core: HostCore) -> list[Setting]:
    """One for each point of the pattern, in the order of its points."""
    if isinstance(pattern, Loaded):
        return curves(pattern, core)
    if isinstance(pattern, Chase):
        return list(_chases(pattern, core))
    if isinstance(pattern, Stream):
        return [_stream(pattern, core, one) for one in pattern.points()]
    return [_contention(pattern, core, delay) for delay in pattern.delay or (None,)]


def check_for_host(pattern: Pattern) -> None:
    """Raise InputError for what only a model can do."""
    if isinstance(pattern, (Chase, Stream)):
        if pattern.agent != "core":
            raise InputError(f"agent: {pattern.agent} is for models; a real machine has its cores")
        if pattern.outstanding is not None:
            raise InputError("outstanding: a real core has its own; a model's can be lowered")
    if isinstance(pattern, Chase) and not pattern.whole:
        raise InputError("whole: on a real machine a region is walked to its end")


def _chases(pattern: Chase, core: HostCore) -> Iterator[Setting]:
    for region in pattern.region:
        for threads in pattern.threads:
            for op in pattern.op:
                yield _chase(pattern, core, region, threads, op)


def _chase(pattern: Chase, core: HostCore, region: int, threads: int, op: str) -> Setting:
    lines = pattern.lines_for(region)
    stride = pattern.stride or pattern.block
    repeat = pattern.regions == "repeat"
    span = region // pattern.block * stride
    regions = 1 if repeat else lines * LINE // region

    def play(memory: HostMemory, cpus: Cpus) -> Repetition:
        request = filled(
            core.ChaseRequest,
            pattern,
            region=region,
            stride=stride,
            op="ntstore" if op == "raw" else op,
            read_after_write=op == "raw",
            repeat=repeat,
            lines=lines,
            least_chunks=REPEATED_CHUNKS if pattern.lines is None else 0,
            cpus=list(cpus),
        )
        return chase_repetition(memory.chase(request), op, region)

    def finish(repetitions: Sequence[Repetition]) -> Point:
        strides = {} if pattern.stride is None else {"stride_bytes": stride}
        return point(
            op, threads, repetitions, region_bytes=region, block_bytes=pattern.block, **strides
        )

    what = f"region: a chase over regions of {region} B"
    return Setting(what, span * regions * threads, threads, play, finish)


def _stream(pattern: Stream, core: HostCore, one: OneStream) -> Setting:
    op, access, stride = one.op, one.access, one.stride
    threads, value = one.threads, one.value
    lines = STREAM_LINES if pattern.lines is None else -(-pattern.lines // threads)
    accesses = -(-lines * LINE // access)
    # Regular strides that end early need no more memory than they reach.
    reach = pattern.area
    if isinstance(stride, int):
        reach = min(pattern.area // stride, accesses) * stride

    def play(memory: HostMemory, cpus: Cpus) -> Repetition:
        request = filled(
            core.StreamRequest,
            pattern,
            op=op,
            access=access,
            stride=stride if isinstance(stride, int) else 0,
            area=reach,
            reads_percent=pattern.reads or 0,
            fence_kind=pattern.fence,
            lines=lines,
            cpus=list(cpus),
            value=b"" if value is None else line_holding(value),
            held=b"" if pattern.held is None else line_holding(pattern.held),
        )
        return stream_repetition(memory.stream(request))

    def finish(repetitions: Sequence[Repetition]) -> Point:
        return point(
            op,
            threads,
            repetitions,
            access_bytes=access,
            stride_bytes=stride,
            area_bytes=pattern.area,
            value=value,
        )

    what = f"area: {pattern.area} B for each of {threads} threads"
    return Setting(what, reach * threads, threads, play, finish)


def _contention(pattern: Contention, core: HostCore, delay: float | None) -> Setting:
    threads = 1 + pattern.others()

    def play(memory: HostMemory, cpus: Cpus) -> Repetition:
        # One that loads as the reader does goes along a chain; no other does nothing.
        random = {} if pattern.other in ("load", "none") else {"op": pattern.other}
        request = filled(
            core.ContentionRequest,
            pattern,
            chases=pattern.other == "load",
            delay_ns=delay or 0.0,
            cpus=list(cpus),
            **random,
        )
        return contention_repetition(memory.contention(request))

    def finish(repetitions: Sequence[Repetition]) -> Point:
        return point("load", 1, repetitions, area_bytes=pattern.area, delay_ns=delay)

    what = f"area: {pattern.area} B for each of {threads} threads"
    return Setting(what, pattern.area * threads, threads, play, finish)
