"""Plays a pattern on a target, point by point, and turns what comes back into a result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from nearfar.errors import InputError, Interrupted
from nearfar.measuring.core import Core, filled, load_core
from nearfar.measuring.effort import DEFAULT_EFFORT, Effort
from nearfar.measuring.host.core import load_host_core
from nearfar.measuring.host.run import HostRun, host_result
from nearfar.measuring.host.target import Host, is_host, parse_host
from nearfar.measuring.loaded import Loaded
from nearfar.measuring.patterns import (
    HOST_FENCE,
    HOST_OPS,
    Chase,
    Contention,
    OneStream,
    Overwrite,
    Pattern,
    Stream,
)
from nearfar.measuring.points import (
    chase_point,
    contention_point,
    loaded_point,
    overwrite_point,
    stream_point,
)
from nearfar.measuring.target import capacity, describe, environment, resolve, spec
from nearfar.model import Model
from nearfar.results import MeasureResult, Point

# Told after every finished piece of work: pieces done, pieces in all.
Progress = Callable[[int, int], None]


def measure(
    target: str | Model | Host,
    pattern: Pattern,
    *,
    progress: Progress | None = None,
    core: Core | None = None,
    effort: Effort = DEFAULT_EFFORT,
    destructive: str | None = None,
) -> MeasureResult:
    """Play `pattern` on `target`: "model:optane-100,channels=6", "host:pages=2MiB", "kernel", or a
    model.

    The result has a point for each size, operation and number of threads, in the order of the
    pattern: `ns_per_line` is elapsed time in ns per 64 B line and thread, `gb_per_s` 10^9 bytes a
    second over all threads. Of an overwrite `samples` has one entry a write, in ns. On a model the
    same pattern, seed and model give the same result; on a host a point is the median of its
    repetitions, with an interval. `effort` and `destructive`, a file or device that may lose what
    it holds, are for a host; `progress` is told points done and in all.

    Raises InputError when the pattern does not fit the target, before anything runs, and
    Interrupted on Ctrl-C, with the points that were finished.
    """
    if isinstance(target, str) and is_host(target):
        target = parse_host(target, destructive)
    if isinstance(target, Host):
        measuring = target.module() or load_host_core()
        return _measure_host(HostRun(target, pattern, measuring, effort), progress)
    if destructive is not None:
        raise InputError("destructive: a model holds nothing that could be destroyed")
    return _measure_model(resolve(target), pattern, progress, core or load_core())


def _measure_host(run: HostRun, progress: Progress | None) -> MeasureResult:
    run.check()
    points: list[Point] = []
    samples: list[float] = []
    try:
        run.play(points, samples, progress)
    except KeyboardInterrupt:
        stopped = host_result(run, points, samples, interrupted=True)
        raise Interrupted(stopped) from None
    return host_result(run, points, samples, interrupted=False)


def _measure_model(
    model: Model, pattern: Pattern, progress: Progress | None, core: Core
) -> MeasureResult:
    check_fits(model, pattern)
    points: list[Point] = []
    samples: list[float] | None = [] if isinstance(pattern, Overwrite) else None

    def result(interrupted: bool) -> MeasureResult:
        return MeasureResult(
            target=describe(model),
            environment=environment(model, pattern.seed),
            pattern=pattern.to_dict(),
            points=tuple(points),
            samples=None if samples is None else tuple(samples),
            interrupted=interrupted,
        )

    work = list(_pieces(model, pattern, core))
    try:
        for done, piece in enumerate(work, start=1):
            new_points, new_samples = piece()
            points.extend(new_points)
            if samples is not None:
                samples.extend(new_samples)
            if progress is not None:
                progress(done, len(work))
    except KeyboardInterrupt:
        raise Interrupted(result(interrupted=True)) from None
    return result(interrupted=False)


def check_fits(model: Model, pattern: Pattern) -> None:
    """Raise InputError if a model cannot do it, or a point reaches beyond this one's memory."""
    check_for_model(pattern)
    limit = capacity(model)
    for what, reach in _reaches(model, pattern):
        if reach > limit:
            raise InputError(
                f"{what} reaches {reach} B, beyond the {limit} B of memory of {spec(model)}"
            )


def check_for_model(pattern: Pattern) -> None:
    """Raise InputError for what only a real machine can do."""
    ops = () if isinstance(pattern, (Contention, Loaded)) else pattern.op
    for op in (ops,) if isinstance(ops, str) else ops:
        if op in HOST_OPS:
            raise InputError(f"op: {op} is for host targets; models write back by store+clwb")
    if isinstance(pattern, (Chase, Overwrite, Stream)) and pattern.fence_kind == HOST_FENCE:
        raise InputError(
            f"fence-kind: {HOST_FENCE} is for host targets; models have mfence, sfence"
        )
    if isinstance(pattern, Stream) and (pattern.value or pattern.held) is not None:
        raise InputError("value: a model's memory holds nothing; values are for host targets")
    if isinstance(pattern, Chase) and pattern.successors is not None:
        raise InputError("successors: they are chosen on host targets")


def _reaches(model: Model, pattern: Pattern) -> Iterator[tuple[str, int]]:
    if isinstance(pattern, Chase):
        for region in pattern.region:
            for threads in pattern.threads:
                reach = pattern.footprint(region, threads)
                yield f"region: a chase over regions of {region} B", reach
    elif isinstance(pattern, Stream):
        for threads in pattern.threads:
            reach = pattern.footprint(threads)
            yield f"area: {pattern.area} B for each of {threads} threads", reach
    elif isinstance(pattern, Contention):
        threads = pattern.footprint() // pattern.area
        yield f"area: {pattern.area} B for each of {threads} threads", pattern.footprint()
    elif isinstance(pattern, Loaded):
        threads = generators(model, pattern)
        what = f"area: {pattern.area} B for each of {1 + threads} threads"
        yield what, pattern.footprint(threads)
    else:
        yield "region: an overwrite", pattern.region


Data = Sequence[Mapping[str, Any]]  # one entry a point
Piece = Callable[[], tuple[Sequence[Point], Sequence[float]]]


def _pieces(model: Model, pattern: Pattern, core: Core) -> Iterator[Piece]:
    """The calls that make up the pattern; between two of them a run may be interrupted."""

    settings = model.export()

    def play(struct: Any) -> Data:
        return core.measure(settings, struct, seed=pattern.seed)

    if isinstance(pattern, Chase):
        for region in pattern.region:
            for threads in pattern.threads:
                yield partial(_chase, play, core, pattern, region, threads)
    elif isinstance(pattern, Overwrite):
        yield partial(_overwrite, play, core, pattern)
    elif isinstance(pattern, Contention):
        for delay in pattern.delay or (None,):
            yield partial(_contention, play, core, pattern, delay)
    elif isinstance(pattern, Loaded):
        for percent in pattern.reads:
            yield partial(_loaded, play, core, pattern, percent, generators(model, pattern))
    else:
        for one in pattern.points():
            yield partial(_stream, play, core, pattern, one)


Play = Callable[[Any], Data]


def _chase(
    play: Play, core: Core, pattern: Chase, region: int, threads: int
) -> tuple[list[Point], list[float]]:
    # Read after write is one pass of its own; the others share a machine, stores first.
    passes = [[op for op in pattern.op if op != "raw"], [op for op in pattern.op if op == "raw"]]
    structs = [chase_struct(core, pattern, region, threads, ops) for ops in passes if ops]
    found = {data["op"]: data for struct in structs for data in play(struct)}
    return [chase_point(found[op], pattern, region) for op in pattern.op], []


def chase_struct(core: Core, pattern: Chase, region: int, threads: int, ops: Sequence[str]) -> Any:
    """One pass of a chase as the core takes it: of "raw" alone, or of other operations."""
    lines = pattern.lines_for(region)
    raw = list(ops) == ["raw"]
    return filled(
        core.ChasePattern,
        pattern,
        region=region,
        ops=[] if raw else list(ops),
        raw=raw,
        repeat=pattern.regions == "repeat",
        threads=threads,
        lines=lines,
        walk_lines=0 if pattern.whole else lines,
        stride=pattern.stride or 0,
    )


def _overwrite(play: Play, core: Core, pattern: Overwrite) -> tuple[list[Point], list[float]]:
    (data,) = play(filled(core.OverwritePattern, pattern))
    samples = [sample / 1000 for sample in data["samples_ps"]]
    return [overwrite_point(data, pattern, samples)], samples


def _contention(
    play: Play, core: Core, pattern: Contention, delay: float | None
) -> tuple[list[Point], list[float]]:
    struct = filled(
        core.ContentionPattern,
        pattern,
        threads=pattern.others(),
        delay_ps=round((delay or 0.0) * 1000),
    )
    (data,) = play(struct)
    return [contention_point(data, pattern, delay)], []


_READER_LINES = 1000


def generators(model: Model, pattern: Loaded) -> int:
    """How many threads load the memory beside the reader: on every other core, unless told."""
    return pattern.threads or max(1, int(model["cpu.cores"]) - 1)


def _loaded(
    play: Play, core: Core, pattern: Loaded, percent: int, threads: int
) -> tuple[list[Point], list[float]]:
    """One curve: the core finds the pauses by how fast memory is without one."""
    stores, accesses = pattern.mix(percent)
    reads = pattern.lines or _READER_LINES
    struct = filled(
        core.LoadedPattern,
        pattern,
        reads=reads,
        threads=threads,
        stores=stores,
        accesses=accesses,
        parts=pattern.points - 2,
    )
    *driven, idle = play(struct)
    pauses = [data["pause_ps"] / 1000 for data in driven]
    return [
        loaded_point(data, pattern, percent, reads, pause)
        for data, pause in zip((*driven, idle), (*pauses, None), strict=True)
    ], []


def _stream(
    play: Play, core: Core, pattern: Stream, one: OneStream
) -> tuple[list[Point], list[float]]:
    (data,) = play(stream_struct(core, pattern, one))
    return [stream_point(data, pattern, one.access, one.stride)], []


def stream_struct(core: Core, pattern: Stream, one: OneStream) -> Any:
    """One point of a stream as the core takes it."""
    return filled(
        core.StreamPattern,
        pattern,
        op=one.op,
        access=one.access,
        stride=0 if isinstance(one.stride, str) else one.stride,
        threads=one.threads,
        reads_percent=pattern.reads_percent(one.op),
        fence_kind=pattern.fence,
        lines=pattern.lines_for(one.access, one.threads),
    )
