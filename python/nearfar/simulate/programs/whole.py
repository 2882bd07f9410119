"""Whole machines that QEMU runs: a trace of what of their memory passes the caches."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import tempfile
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar import __version__
from nearfar.errors import InputError, NearfarError, check_one_of
from nearfar.model.units import BYTES, parse
from nearfar.results import check_writable
from nearfar.simulate.programs.keeper import Keeper
from nearfar.simulate.programs.qemu import system_plugin
from nearfar.simulate.programs.start import Ended, run_to_end
from nearfar.simulate.traces.recording import RecordedTrace, Recording

# What of the machine's life is recorded: all of it, or what lies between two lines that it writes.
INCLUDES = ("boot", "roi")
REGION_BEGIN, REGION_END = b"nearfar region begin", b"nearfar region end"

PERIOD_PS = 300  # that an instruction takes at least: 3.3 GHz, one a cycle

# One slice of the last level for a core, and its first level for data: Intel's Cascade Lake.
_CACHES = {"first": (32 << 10, 8), "last": (1408 << 10, 11)}

_DEFAULT_MEMORY = 128 << 20  # QEMU's own
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
    _refuse_hardware(words)
    plugin = system_plugin(words[0])
    recording = Recording(output, gaps="instructions")
    with tempfile.TemporaryDirectory(prefix="nearfar-vm-") as name:
        folder = Path(name)
        with recording.listening(name) as trace, Keeper(name) as keeper:
            _write_options(folder, words, options, trace)
            arguments = [*words, "-plugin", f"{plugin.file},run={name}"]
            with _region(folder, options.include) as streams:
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


def _refuse_hardware(words: Sequence[str]) -> None:
    for word, after in zip(words, (*words[1:], ""), strict=True):
        fast = word in ("-enable-kvm", "--enable-kvm") or (
            word in ("-accel", "-machine", "-M") and re.search(r"\b(kvm|xen|whpx|hvf)\b", after)
        )
        if fast:
            found = word if "enable" in word else f"{word} {after}"
            raise InputError(
                f"{found}: the processor itself would run the guest, where nothing can be "
                "recorded; expected -accel tcg"
            )


def memory_bytes(words: Sequence[str]) -> int:
    """The memory that QEMU's `words` give the machine. Raises InputError if they cannot be read."""
    for word, after in zip(words, (*words[1:], ""), strict=True):
        if word not in ("-m", "--m"):
            continue
        found = re.fullmatch(r"(?:size=)?(\d+)([kKmMgGtT]?)(?:,.*)?", after)
        if found is None:
            raise InputError(f"-m {after}: expected a size such as 1G")
        unit = (found[2] or "M").upper()
        return parse(f"{found[1]} {unit}iB", BYTES)
    return _DEFAULT_MEMORY


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


@contextlib.contextmanager
def _region(folder: Path, include: str) -> Iterator[Sequence[tuple[int, int]]]:
    """The streams that QEMU is to be given in place of this process's: where a region is recorded,
    its standard output passes through here, and tells where the region begins and ends.
    """
    if include != "roi":
        yield ()
        return
    reading, writing = os.pipe()
    with (folder / "region").open("wb+", buffering=0) as flag:
        flag.write(b"0")
        thread = threading.Thread(target=_watch, args=(reading, flag.fileno()))
        thread.start()
        try:
            yield ((1, writing),)
        finally:
            os.close(writing)
            thread.join()
            os.close(reading)


def _watch(reading: int, flag: int) -> None:
    """Passes on what the guest writes, and looks for the two lines."""
    line = b""
    while piece := os.read(reading, 1 << 16):
        with contextlib.suppress(OSError):  # the reader has gone; the guest runs on
            os.write(1, piece)
        *lines, line = (line + piece).split(b"\n")
        for one in lines:
            word = one.strip()
            if word in (REGION_BEGIN, REGION_END):
                os.pwrite(flag, b"1" if word == REGION_BEGIN else b"0", 0)
        line = line[-len(REGION_BEGIN) * 2 :]
