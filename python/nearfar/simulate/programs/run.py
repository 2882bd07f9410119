"""A real program on a simulated machine."""

from __future__ import annotations

import contextlib
import os
import resource
import shlex
import signal
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from nearfar import __version__
from nearfar.errors import InputError, NearfarError
from nearfar.measuring.target import describe, environment, resolve
from nearfar.model import Model
from nearfar.results import check_writable
from nearfar.results.run import RunResult
from nearfar.simulate.programs.elf import Command, command
from nearfar.simulate.programs.folder import check_refused, parts_of, process_of, write_model
from nearfar.simulate.programs.keeper import Keeper
from nearfar.simulate.programs.notes import notes
from nearfar.simulate.programs.options import RunOptions, checked_core, window_of, with_options
from nearfar.simulate.programs.qemu import FrontEnd, front_end
from nearfar.simulate.programs.sampled import Plan, plan_of, with_sample
from nearfar.simulate.programs.start import Ended, run_to_end
from nearfar.simulate.replay import pretranslates
from nearfar.simulate.traces.recording import RecordedTrace, Recording

# Everything that QEMU can do, but for fast string instructions: it steps through `rep movsb` a
# byte at a time, and libraries that do not find them copy with vector instructions instead.
_PROCESSOR = "max,-erms"
_QUANTUM_PS = 1_000_000
_TIMES_BYTES = 2 << 20  # 16 a place: some for each pipe, connection and process
_COMMAND_CHARACTERS = 2000  # in a trace's header


_DEFAULTS = RunOptions()


def run(
    target: str | Model,
    words: Sequence[str],
    options: RunOptions = _DEFAULTS,
    *,
    recording: Recording | None = None,
) -> RunResult:
    """Run a program, `words` as a shell would, on a model; its streams are this process's.

    What reaches memory goes to `recording`, whose files are whole when it is finished. Times of the
    result are simulated, in the unit that their names end in.

    Raises InputError for a program that cannot be run and for a front end that is not there;
    NearfarError when the simulation fails.
    """
    model = resolve(target)
    core = checked_core(model, options)
    plan = _plan(options, core)
    window = {} if plan else window_of(options)
    model = with_options(model, options, core)
    program = command(words)
    with_qemu = front_end(options.qemu)
    with tempfile.TemporaryDirectory(prefix="nearfar-run-") as folder:
        write_model(Path(folder), model, options)
        _make_times(Path(folder))
        with _recorded(recording, folder, model, words) as trace:
            sample = plan.options(int(model["seed"])) if plan else {}
            further: dict[str, str | int] = {**trace, **window, **sample}
            _write_options(Path(folder), model, with_qemu, core, options, further)
            with Keeper(folder) as keeper:
                ended = run_to_end(*_start(program, with_qemu, folder), keeper, folder)
        parts = parts_of(Path(folder))
        check_refused(Path(folder))
    ran = _ran(model, program, words, core, with_qemu, ended, parts, window)
    return ran if plan is None else with_sample(ran, plan, parts, int(model["cpu.clock"]))


def record(
    target: str | Model,
    words: Sequence[str],
    output: str | Path,
    *,
    gaps: str = "time",
    kind: str = "memory",
    options: RunOptions = _DEFAULTS,
) -> tuple[RunResult, list[RecordedTrace]]:
    """Run a program as `run` does, with its options, and write what reaches memory to `output`.

    The trace is nearfar's own, its `gaps` are the "time" at which memory was asked or the
    "instructions" that the thread executed since its last record. Of the `kind` "program" it has
    what the program executed instead, at virtual addresses, for `replay_program`. Programs besides
    the first, children and what they execute, have traces NAME-2, NAME-3 and so on.

    Raises as `run` does, and NearfarError for a disk that is full; what was recorded is kept.
    """
    if options.core == "count":
        raise InputError("core: found count, which simulates no memory; expected window or simple")
    check_writable(output)
    recording = Recording(output, gaps=gaps, kind=kind)
    try:
        ran = run(target, words, options, recording=recording)
    except NearfarError:
        recording.finish()  # says it if the disk was why
        raise
    traces = recording.finish()
    if not traces:
        raise NearfarError(f"{words[0]}: nothing of it reached memory, so there is no trace")
    return ran, traces


@contextlib.contextmanager
def _recorded(
    recording: Recording | None, folder: str, model: Model, words: Sequence[str]
) -> Iterator[Mapping[str, str]]:
    """What tells the plug-in to record."""
    if recording is None:
        yield {}
        return
    command = shlex.join(words)[:_COMMAND_CHARACTERS]
    with recording.listening(folder) as name:
        yield {
            "trace": name,
            "trace_kind": recording.kind,
            "trace_gaps": recording.gaps,
            "trace_target": describe(model).spec,
            "trace_command": "".join(c if c.isprintable() else "?" for c in command),
            "trace_creator": f"nearfar {__version__}",
        }


def _plan(options: RunOptions, core: str) -> Plan | None:
    """The sample, if one is wanted."""
    if options.sample is None:
        return None
    if options.skip or options.regions_only:
        other = "skip" if options.skip else "roi"
        raise InputError(
            f"{other}: does not go with sample, which is of the whole program; leave one out"
        )
    if core == "count":
        raise InputError("core: found count, which simulates nothing that could be sampled")
    return plan_of(options.sample, options.warm, options.measured)


def _make_times(folder: Path) -> None:
    """The table in which processes tell each other their times; smaller where files have to be.

    Its blocks are there from now on: a disk that is full later would be a fault.
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    room = _TIMES_BYTES if limit == resource.RLIM_INFINITY else min(_TIMES_BYTES, limit)
    with (folder / "times").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, max(room // 16, 1) * 16)


def _write_options(
    folder: Path,
    model: Model,
    front: FrontEnd,
    core: str,
    options: RunOptions,
    further: Mapping[str, str | int],
) -> None:
    persistent = options.persistent
    settings = {
        **further,
        "plugin": front.plugin,
        "guest": front.guest,
        "qemu": front.qemu,
        "processor": _PROCESSOR,
        "core": core,
        "period": int(model["cpu.clock"]),
        "quantum": _QUANTUM_PS,
        "reading": int(model["cpu.timer"]),
        "regions_only": str(options.regions_only).lower(),
        "find_pointers": str(_finds_pointers(model)).lower(),
        "realtime_ns": time.time_ns(),
        "monotonic_ns": time.clock_gettime_ns(time.CLOCK_MONOTONIC),
    }
    if persistent is not None:
        if not Path(persistent).is_dir():
            raise InputError(
                f"pmem: {persistent}: found no such folder, expected that of the files"
            )
        settings["persistent"] = f"{Path(persistent).resolve()}/"
    text = "".join(f"{name} = {value}\n" for name, value in settings.items())
    (folder / "options").write_text(text, encoding="utf-8")


def _start(
    program: Command, front: FrontEnd, folder: str
) -> tuple[str, list[str], Mapping[str, str]]:
    """The command that runs the program in QEMU. The plug-in does the same for its children."""
    arguments = [front.qemu, "-cpu", _PROCESSOR, "-plugin", f"{front.plugin},run={folder}"]
    environment = _environment()
    theirs = {name: text for name, text in environment.items() if name.startswith("LD_")}
    preloaded = theirs.pop("LD_PRELOAD", "")
    theirs["LD_PRELOAD"] = ":".join(filter(None, (front.guest, preloaded)))
    for name, text in theirs.items():
        arguments += ["-E", f"{name}={text}"]
    arguments += ["-0", program.arguments[0], program.file, *program.arguments[1:]]
    ours = {name: text for name, text in environment.items() if not name.startswith("LD_")}
    return front.qemu, arguments, {**ours, "LD_PRELOAD": front.plugin}


def _environment() -> dict[str, str]:
    """This process's, without the locale that Python gives itself where there is none (PEP 538)."""
    environment = dict(os.environ)
    given = Path("/proc/self/environ").read_bytes().split(b"\0")
    coerced = environment.get("LC_CTYPE") in ("C.UTF-8", "C.utf8", "UTF-8")
    if coerced and not any(entry.startswith(b"LC_CTYPE=") for entry in given):
        del environment["LC_CTYPE"]
    return environment


def _finds_pointers(model: Model) -> bool:
    return pretranslates(model) and model["cpu.pretranslation.mark"] == "auto"


def _ran(
    model: Model,
    program: Command,
    words: Sequence[str],
    core: str,
    front: FrontEnd,
    ended: Ended,
    parts: Sequence[Mapping[str, str]],
    window: Mapping[str, int],
) -> RunResult:
    for part in parts:
        if "error" in part:
            raise NearfarError(f"{words[0]}: the simulation ended: {part['error']}")
    _check_avx512(words[0], ended, parts)
    if not parts:
        how = f"status {ended.exit_code}"
        raise NearfarError(f"{words[0]}: QEMU ended with {how} before the program began")
    numbers = {pid: i for i, pid in enumerate(dict.fromkeys(part["process"] for part in parts))}
    period = int(model["cpu.clock"])
    processes = [process_of(part, numbers[part["process"]], period) for part in parts]
    names = processes[0].counts
    return RunResult(
        target=describe(model),
        environment=environment(model, seed=int(model["seed"])),
        program={"file": program.file, "arguments": list(words)},
        core=core,
        exit_code=ended.exit_code,
        elapsed_ns=max(process.end_ns for process in processes),
        counts={name: sum(p.counts[name] for p in processes) for name in names},
        processes=processes,
        notes=notes(
            *(program, front, ended, parts, window),
            pretranslates=core != "count" and pretranslates(model),
        ),
        qemu=front.version,
        interrupted=ended.interrupted,
        window=window or None,
    )


def _check_avx512(name: str, ended: Ended, parts: Sequence[Mapping[str, str]]) -> None:
    places = [int(part["avx512"]) for part in parts if int(part["avx512"])]
    if places and ended.signal == signal.SIGILL:
        raise InputError(
            f"{name}: uses AVX-512 (at {places[0]:#x}), which QEMU does not have; build it without "
            "(-mno-avx512f), or let it ask the processor what it can do"
        )
