"""Whole machines that QEMU runs: a trace of what of their memory passes the caches."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar import __version__
from nearfar.errors import NearfarError, check_one_of
from nearfar.results import check_writable
from nearfar.simulate.programs.guest import (
    INCLUDES,
    REGION_BEGIN,
    memory_bytes,
    refuse_hardware,
    region,
)
from nearfar.simulate.programs.keeper import Keeper
from nearfar.simulate.programs.qemu import system_plugin
from nearfar.simulate.programs.start import Ended, run_to_end
from nearfar.simulate.traces.recording import RecordedTrace, Recording

PERIOD_PS = 300  # that an instruction takes at least: 3.3 GHz, one a cycle

# One slice of the last level for a core, and its first level for data: Intel's Cascade Lake.
_CACHES = {"first": (32 << 10, 8), "last": (1408 << 10, 11)}

_COMMAND_CHARACTERS = 4096


@dataclass(frozen=True)
class WholeOptions:
    """`include` is one of INCLUDES; `period_ps` the time that the trace gives each instruction."""

    include: str = "boot"
    period_ps: int = PERIOD_PS


def record_machine(
    words: Sequence[str], output: str | Path, options: WholeOptions | None = None
) -> tuple[Ended, RecordedTrace]:
    """Run QEMU's system mode, `words` as a shell would, and write a trace of its guest's memory.

    The guest, its devices and its streams are as they are without. Every processor's accesses to
    memory, by physical address, pass a cache of its own and one that they share; the trace has
    those that reach memory, with the instructions that the processor has executed as its time.

    Raises InputError for a QEMU that is not there or cannot load plug-ins, and for a machine that
    QEMU does not interpret; NearfarError when nothing was recorded and for a disk that is full.
    """
    options = options or WholeOptions()
    check_one_of("include", options.include, INCLUDES)
    check_writable(output)
    refuse_hardware(words)
    plugin = system_plugin(words[0])
    recording = Recording(output, gaps="instructions")
    with tempfile.TemporaryDirectory(prefix="nearfar-vm-") as name:
        folder = Path(name)
        with recording.listening(name) as trace, Keeper(name) as keeper:
            _write_options(folder, words, options, trace)
            arguments = [*words, "-plugin", f"{plugin.file},run={name}"]
            with region(folder, options.include) as streams:
                ended = run_to_end(
                    plugin.qemu, arguments, dict(os.environ), keeper, name, streams=streams
                )
        refused = folder / "refused"
        why = refused.read_text(encoding="utf-8").strip() if refused.exists() else ""
    traces = recording.finish()
    if why:
        raise NearfarError(f"{words[0]}: the recording ended: {why}")
    if not traces:
        raise NearfarError(_nothing(words, options, ended))
    return ended, traces[0]


def _nothing(words: Sequence[str], options: WholeOptions, ended: Ended) -> str:
    if options.include == "roi":
        return (
            f"{words[0]}: nothing was recorded: no line '{REGION_BEGIN.decode()}' came from the "
            "guest; expected it on QEMU's standard output, as with -serial stdio"
        )
    return f"{words[0]}: QEMU ended with status {ended.exit_code}, and nothing was recorded"


def _write_options(folder: Path, words: Sequence[str], options: WholeOptions, trace: str) -> None:
    command = shlex.join(words)[:_COMMAND_CHARACTERS]
    settings: dict[str, str | int] = {
        "trace": trace,
        "include": options.include,
        "period": options.period_ps,
        "memory": memory_bytes(words),
        "command": "".join(c if c.isprintable() else "?" for c in command),
        "creator": f"nearfar {__version__}",
    }
    for name, (size, ways) in _CACHES.items():
        settings[f"{name}.size"] = size
        settings[f"{name}.ways"] = ways
    text = "".join(f"{name} = {value}\n" for name, value in settings.items())
    (folder / "options").write_text(text, encoding="utf-8")
