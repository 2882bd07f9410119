"""A recorded program on a simulated machine: what `nearfar run` would say, without the program."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from nearfar.errors import InputError
from nearfar.measuring.run import Progress
from nearfar.measuring.target import describe, environment, resolve
from nearfar.model import Model
from nearfar.results.run import RunProcess, RunResult
from nearfar.simulate.programs.machine import figures_of, machine
from nearfar.simulate.programs.notes import unused_marks
from nearfar.simulate.replay import ReplayOptions, check_marks, pretranslates
from nearfar.simulate.traces.file import peeked, shown, trace_pieces
from nearfar.simulate.traces.header import header_of
from nearfar.simulate.traces.unpack import exact_end, pieces

_MAGIC = b"nearfar-trace 2 "
# What of the machine's counts a run counts, too.
_COUNTED = ("instructions", "loads", "stores")


def is_program_trace(trace: str | Path) -> bool:
    """Whether a file is a trace of what a program executed. Not of a pipe, which is read once."""
    if not Path(trace).is_file():
        return False
    start, _ = peeked(pieces(trace), len(_MAGIC))
    return start.startswith(_MAGIC)


def refuse_options(options: ReplayOptions, trace: str | Path) -> None:
    """Raise InputError for an option that only a trace of memory requests has."""
    usual = asdict(ReplayOptions())
    given = [name for name, value in asdict(options).items() if value != usual[name]]
    if given and given != ["format"]:
        name = (
            next(name for name in given if name != "format").replace("_", "-").removesuffix("-ps")
        )
        raise InputError(
            f"{trace}: found --{name}, which a trace of memory requests takes; this one has what a "
            "program executed: leave the option out"
        )


def replay_program(
    target: str | Model, trace: str | Path, *, progress: Progress | None = None
) -> RunResult:
    """Have a model execute the program that `nearfar trace record --kind program` recorded.

    Virtual addresses go through the model's TLBs, page tables and caches; pages lie where the
    recording's options say. On the recorded model, with the same core, every counter is as in the
    run that was recorded. On another one threads take the turns of the recording, and wait as
    long as they did there.

    Raises InputError for a trace that cannot be read, and for a model that cannot play it.
    """
    from nearfar import _core

    model = resolve(target)
    check_marks(model)
    core = str(model["cpu.core.kind"])
    period = int(model["cpu.clock"])
    player = _core.ProgramTrace(settings=model.export(), name=shown(trace), period_ps=period)
    with exact_end(player):
        for piece in trace_pieces(trace, "auto", progress):
            player.feed(piece)
    player.finish()
    lines = (line.removeprefix("machine.") for line in player.report().splitlines())
    header = header_of(player.header())
    return _result(model, trace, header, figures_of(lines), player.counts(), core, period)


def _result(
    model: Model,
    trace: str | Path,
    header: Mapping[str, Any],
    figures: Mapping[str, str],
    counts: Mapping[str, int],
    core: str,
    period: int,
) -> RunResult:
    played = machine(figures, period)
    counted = {name: played.core.counts[name] for name in _COUNTED}
    words = _words(str(header.get("command", "")))
    begin, end = int(figures["begin_ps"]), int(figures["begin_ps"]) + int(figures["time_ps"])
    process = RunProcess(
        program=words[0] if words else "?",
        process=0,
        threads=counts["threads"],
        start_ns=begin / 1000,
        end_ns=end / 1000,
        counts=counted,
        machine=played,
    )
    notes = [_frames(counts)]
    if not pretranslates(model):
        notes += unused_marks(counts["marked_loads"])
    return RunResult(
        target=describe(model),
        environment=environment(model, seed=int(model["seed"])),
        program={"file": str(trace), "arguments": words, "trace": {**header, **counts}},
        core=core,
        exit_code=0,
        elapsed_ns=end / 1000,
        counts=counted,
        processes=[process],
        notes=notes,
    )


def _frames(counts: Mapping[str, int]) -> str:
    same, frames = counts["frames_as_recorded"], counts["frames"]
    return f"{same:,} of {frames:,} pages lie in the frames in which they were recorded"


def _words(command: str) -> list[str]:
    """Of a command as a shell takes it; none of one that was cut short within quotes."""
    try:
        return shlex.split(command)
    except ValueError:
        return []


def program_trace_info(trace: str | Path, progress: Progress | None = None) -> dict[str, Any]:
    """What a trace of a program's instructions holds, with its header. One that was cut off is
    counted as far as it can be read, and `problem` says so. Raises InputError where nothing can be.
    """
    from nearfar import _core

    reader = _core.ProgramTrace(settings="", name=shown(trace), period_ps=1)
    problem = ""
    try:
        with exact_end(reader):
            for piece in trace_pieces(trace, "auto", progress):
                reader.feed(piece)
        reader.finish()
    except InputError as error:
        if not reader.counts()["events"]:
            raise
        problem = str(error)
    counts = reader.counts()
    del counts["frames_as_recorded"]
    return {
        "schema": "nearfar/program-trace-info/1",
        "file": str(trace),
        "header": reader.header(),
        **counts,
        "problem": problem,
    }
