"""`nearfar run TARGET --system -- qemu-system-x86_64 ...`: a whole machine on a simulated one."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import tempfile
import termios
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from nearfar.errors import InputError, NearfarError
from nearfar.measuring.target import describe, environment, resolve
from nearfar.model import Model
from nearfar.results.run import GuestShare, RunGuest, RunResult
from nearfar.simulate.programs.folder import check_refused, parts_of, process_of, write_model
from nearfar.simulate.programs.guest import (
    REGION_BEGIN,
    Clock,
    check_files,
    check_one_processor,
    clock_of,
    memory_bytes,
    refuse_hardware,
    region,
)
from nearfar.simulate.programs.keeper import Keeper
from nearfar.simulate.programs.options import RunOptions, checked_core, window_of, with_options
from nearfar.simulate.programs.qemu import QEMU, Plugin, system_plugin
from nearfar.simulate.programs.start import Ended, run_to_end
from nearfar.simulate.replay import pretranslates

_DEFAULTS = RunOptions()
_SIDES = ("kernel", "user", "firmware")


def run_system(
    target: str | Model, words: Sequence[str], options: RunOptions = _DEFAULTS
) -> RunResult:
    """Run QEMU's system mode, `words` as a shell would, with its guest's processor on a model.

    The guest, its devices and its streams are as they are without. Its accesses pass the model's
    TLBs by their virtual addresses and its caches by where the guest's physical pages lie in the
    model's memory, which is where `options` say; a page is placed when it is first touched. With
    `regions_only` only what is executed between the lines of `programs.guest` is simulated.

    Raises InputError for options that are of programs alone, for a machine that cannot be run, and
    for a QEMU that is not there or cannot load plug-ins; NearfarError when the simulation fails.
    """
    model = resolve(target)
    _refuse_options(options, model)
    core = checked_core(model, options)
    window = window_of(options)
    model = with_options(model, options, core)
    plugin = system_plugin(words[0])
    refuse_hardware(words)
    check_one_processor(words)
    check_files(words)
    with tempfile.TemporaryDirectory(prefix="nearfar-run-") as name:
        folder = Path(name)
        write_model(folder, model, options, whole_machine="true")
        _write_options(folder, model, core, words, options, window)
        arguments = [*words, "-plugin", f"{plugin.file},run={name},does=run"]
        with (
            Keeper(name) as keeper,
            region(folder, _include(options)) as streams,
            _terminal_kept(),
        ):
            ended = run_to_end(
                plugin.qemu, arguments, dict(os.environ), keeper, name, streams=streams
            )
        check_refused(folder)
        parts = parts_of(folder)
    return _ran(model, core, words, plugin, ended, _part(words, parts, options, ended), window)


def _refuse_options(options: RunOptions, model: Model) -> None:
    usual = _DEFAULTS
    for name, given, why in (
        ("sample", options.sample is not None, "it skips what a whole machine must execute"),
        ("pmem", options.persistent is not None, "a machine maps no file of this one"),
        ("qemu", options.qemu != usual.qemu, "the words behind -- begin with QEMU"),
    ):
        if given:
            raise InputError(f"{name}: does not go with system: {why}; leave it out")
    if pretranslates(model):
        raise InputError(
            "nvdimm.pretranslation.enabled: does not go with system: marks are seen of programs "
            f"that {QEMU} runs; expected false"
        )


def _include(options: RunOptions) -> str:
    return "roi" if options.regions_only else "boot"


def _write_options(
    folder: Path,
    model: Model,
    core: str,
    words: Sequence[str],
    options: RunOptions,
    window: Mapping[str, int],
) -> None:
    settings: dict[str, str | int] = {
        **window,
        "core": core,
        "period": int(model["cpu.clock"]),
        "memory": memory_bytes(words),
        "include": _include(options),
    }
    text = "".join(f"{name} = {value}\n" for name, value in settings.items())
    (folder / "options").write_text(text, encoding="utf-8")


@contextlib.contextmanager
def _terminal_kept() -> Iterator[None]:
    """QEMU changes the terminal's mode, and a QEMU that is killed does not change it back."""
    try:
        mode = termios.tcgetattr(sys.stdin)
    except (termios.error, OSError, ValueError):
        yield
        return
    try:
        yield
    finally:
        with contextlib.suppress(termios.error, OSError):
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, mode)


def _part(
    words: Sequence[str], parts: Sequence[Mapping[str, str]], options: RunOptions, ended: Ended
) -> Mapping[str, str]:
    """What the machine left."""
    if not parts and ended.signal is not None:
        how = signal.Signals(ended.signal).name
        raise NearfarError(
            f"{words[0]}: QEMU was ended by {how}, and nothing is known of its guest"
        )
    part = parts[0] if parts else {"regions": "0", "passed": "0"}
    if "error" in part:
        raise NearfarError(f"{words[0]}: the simulation ended: {part['error']}")
    if options.regions_only and parts and not int(part["regions"]):
        raise NearfarError(
            f"{words[0]}: nothing was simulated: no line '{REGION_BEGIN.decode()}' came from the "
            "guest; expected it on QEMU's standard output, as with -serial stdio"
        )
    if not parts or (not options.regions_only and not int(part["passed"])):
        raise InputError(
            f"{words[0]}: QEMU ended with status {ended.exit_code} before its guest began, and "
            "says above why; expected words with which it runs by itself"
        )
    return part


def _ran(
    model: Model,
    core: str,
    words: Sequence[str],
    plugin: Plugin,
    ended: Ended,
    part: Mapping[str, str],
    window: Mapping[str, int],
) -> RunResult:
    process = process_of({"called": "guest", **part}, 0, int(model["cpu.clock"]))
    clock = clock_of(words)
    guest = RunGuest(
        memory_bytes=memory_bytes(words),
        clock=clock.value,
        halts=int(part["guest.halts"]),
        shares={side: _share(part, side) for side in _SIDES},
        unseen={
            name: int(part[f"guest.{name}_accesses"]) for name in ("device", "rom", "hidden", "cut")
        },
    )
    return RunResult(
        target=describe(model),
        environment=environment(model, seed=int(model["seed"])),
        program={"file": plugin.qemu, "arguments": list(words)},
        core=core,
        exit_code=ended.exit_code,
        elapsed_ns=process.end_ns,
        counts=process.counts,
        processes=[process],
        notes=_notes(part, ended, plugin, guest, clock),
        qemu=plugin.version,
        interrupted=ended.interrupted,
        window=window or None,
        guest=guest,
    )


def _share(part: Mapping[str, str], side: str) -> GuestShare:
    prefix = f"guest.{side}."
    return GuestShare(
        instructions=int(part[f"{prefix}instructions"]),
        busy_ns=int(part[f"{prefix}busy_ps"]) / 1000,
    )


def _notes(
    part: Mapping[str, str], ended: Ended, plugin: Plugin, guest: RunGuest, clock: Clock
) -> list[str]:
    """What was not seen, or not as it would be on hardware."""
    found = []
    if ended.signal is not None:
        found.append(f"QEMU was ended by {signal.Signals(ended.signal).name}")
    if part["stopped"] == "true":
        found.append("SIGTERM stopped the machine: the figures are up to there")
    if part["final"] != "true":
        found.append("QEMU was killed: the figures are from up to half a second before")
    found.append(
        "the time is that of executed instructions: "
        f"{guest.halts:,} halts of the processor took none of it"
    )
    if clock is Clock.host:
        found.append(
            "the guest's clocks and timers follow this machine's time, and its interrupts come at "
            "other instructions each time: the run is not deterministic; with -icount shift=0 they "
            "follow its instructions"
        )
    else:
        found.append(
            "the guest's clocks and timers follow its instructions (-icount), not simulated time; "
            "interrupts of disks, networks and serial lines may still come at others each time"
        )
    unresolved = int(part["count.flushes_unresolved"])
    if unresolved:
        found.append(
            f"{unresolved} flush instructions had no effect: their lines are not known (QEMU "
            f"before 9.2 tells none, and this is {plugin.version}; no version tells that of a page "
            "which was not accessed before)"
        )
    device = guest.unseen["device"]
    found.append(
        f"{device:,} accesses to devices took no time, and what devices read and wrote in memory "
        "was not seen"
    )
    return found
