"""A trace through a model: how long it takes, how fast, and with which latencies."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast

from nearfar.errors import InputError, check_one_of
from nearfar.measuring import energy
from nearfar.measuring.quantity import at_least
from nearfar.measuring.run import Progress
from nearfar.measuring.target import describe, environment, resolve
from nearfar.model import Model
from nearfar.results import ReplayResult, check_writable
from nearfar.results.machine import LoadLatency
from nearfar.results.replay import Traffic
from nearfar.simulate.traces.file import shown, trace_pieces
from nearfar.simulate.traces.formats import readable
from nearfar.simulate.traces.unpack import exact_end

PACES = ("trace", "asap")

# Where the addresses of a trace lie in memory.
FRAMES = ("first-touch", "fold", "refuse")


class Player(Protocol):
    """What replaying needs of the core; `_core.Replay` has it."""

    def feed(self, data: bytes) -> None: ...
    def done(self) -> bool: ...
    def is_beyond_memory(self) -> bool: ...
    def format(self) -> str: ...
    def finish(self) -> Mapping[str, Any]: ...


# Called as `_core.Replay` is: the settings, then keywords.
PlayerFactory = Callable[..., Player]


@dataclass(frozen=True)
class ReplayOptions:
    """How a trace is replayed.

    `base`, 10 or 16, is that of addresses without 0x; None: the format's own.
    `pace="trace"` sends each access at its cycle, "asap" as fast as `outstanding` requests
    in flight allow. `clock_ps` is the period of the trace's cycles; None: what the trace says,
    or else the model's memory clock. `skip` records are not played, `warm` after them are played
    but not counted, `run` are counted (None: all that are left); where the trace counts
    instructions, so do these. `frames` says where pages lie: "first-touch", in the order of their
    first touch; "fold", at the remainder of the address by memory's size; "refuse", at the address,
    which is refused beyond memory. None: "first-touch" where addresses are virtual, and where a
    trace in a file has one beyond memory, which the result's `trace` then says. With `drain` time
    ends when the last write has left memory's queues, without it when the last write was accepted.
    Every DRAM command is written to the file `command_trace`, as CSV.
    """

    format: str = "auto"
    base: int | None = None
    pace: str = "trace"
    outstanding: int | None = None
    clock_ps: int | None = None
    skip: int = 0
    warm: int = 0
    run: int | None = None
    frames: str | None = None
    drain: bool = True
    command_trace: str | Path | None = None

    def check(self) -> None:
        """Raise InputError for what cannot be."""
        check_one_of("format", self.format, readable())
        check_one_of("pace", self.pace, PACES)
        if self.frames is not None:
            check_one_of("frames", self.frames, FRAMES)
        if self.outstanding is not None:
            at_least("outstanding", self.outstanding, 1)
        check_window(self.skip, self.warm, self.run)
        if self.command_trace is not None:
            check_writable(self.command_trace)


_DEFAULTS = ReplayOptions()


def pretranslates(model: Model) -> bool:
    """Whether the machine has Pre-translation."""
    enabled = model.values.get("nvdimm.pretranslation.enabled")
    return enabled is not None and enabled.value is True


def check_marks(model: Model) -> None:
    """A trace has no registers' values by which loads of pointers could be found."""
    if pretranslates(model) and model["cpu.pretranslation.mark"] == "auto":
        raise InputError(
            f"{model.name}: found cpu.pretranslation.mark = auto, which follows the registers of a "
            "program; a trace has none: expected mkpt (for marks that were recorded), or nearfar "
            "run"
        )


def replay(
    target: str | Model,
    trace: str | Path,
    options: ReplayOptions = _DEFAULTS,
    *,
    progress: Progress | None = None,
    player: PlayerFactory | None = None,
) -> ReplayResult:
    """Play the trace file `trace` on a model; plain, or packed with gzip, bzip2, zstandard, xz or
    zip.

    `progress` is told bytes of the file, done and in all. Times of the result are in the unit that
    their names end in, bandwidth in 10^9 bytes a second.

    Raises InputError for a file or a line that cannot be read, for an address beyond the model's
    memory, and for options that cannot be.
    """
    options.check()
    model = resolve(target)
    check_marks(model)
    make = player or _core_player()

    def play(frames: str | None) -> Player:
        given = options.clock_ps
        return make(
            model.export(),
            name=shown(trace),
            format=options.format,
            base=options.base or 0,
            pace=options.pace,
            outstanding=options.outstanding or 0,
            clock_ps=_memory_clock(model) if given is None else given,
            trace_clock=given is None,
            skip=options.skip,
            warm=options.warm,
            run=options.run or 0,
            frames=frames or "",
            drain=options.drain,
            command_trace=os.fsencode(options.command_trace or ""),
        )

    frames = options.frames
    running = play(frames)
    try:
        data = _finished(running, trace, options.format, progress)
    except InputError:
        again = frames is None and running.is_beyond_memory() and Path(trace).is_file()
        if not again:
            raise
        frames = "first-touch"
        del running  # and its command trace, before there is another
        data = _finished(play(frames), trace, options.format, progress)
    return _result(model, _played(trace, data["format"], options, frames), data)


def _result(model: Model, played: Mapping[str, Any], data: Mapping[str, Any]) -> ReplayResult:
    latency = {name: _ns(data.get(name)) for name in ("p50_ps", "p99_ps", "p999_ps", "max_ps")}
    return ReplayResult(
        target=describe(model),
        environment=environment(model, seed=int(model["seed"])),
        trace=played,
        requests=data["requests"],
        reads=data["reads"],
        writes=data["writes"],
        fences=data["fences"],
        elapsed_ps=data["elapsed_ps"],
        gb_per_s=data["gb_per_s"],
        read_p50_ns=latency["p50_ps"],
        read_p99_ns=latency["p99_ps"],
        read_p999_ns=latency["p999_ps"],
        read_max_ns=latency["max_ps"],
        late=data.get("late"),
        late_max_ns=_ns(data.get("late_max_ps")),
        **energy.summary(data["counters"]),
        commands=commands(data["counters"]),
        commands_by_device=commands_by_device(data["counters"]),
        counters=dict(sorted(data["counters"].items())),
        read_latency=_read_latency(data),
        over_time=_traffic(data),
    )


def _read_latency(data: Mapping[str, Any]) -> LoadLatency | None:
    """None where nothing was read."""
    if not data.get("ranges_ps"):
        return None
    return LoadLatency(
        count=data["reads"],
        mean_ns=data["mean_ps"] / 1000,
        p50_ns=data["p50_ps"] / 1000,
        p90_ns=data["p90_ps"] / 1000,
        p99_ns=data["p99_ps"] / 1000,
        p999_ns=data["p999_ps"] / 1000,
        max_ns=data["max_ps"] / 1000,
        buckets=tuple(tuple(one) for one in data["ranges_ps"]),
    )


def _traffic(data: Mapping[str, Any]) -> Traffic | None:
    moved = data.get("moved")
    if not moved:
        return None
    reads, writes = zip(*moved, strict=True)
    return Traffic(bucket_ns=data["bucket_ps"] / 1000, reads=tuple(reads), writes=tuple(writes))


def _finished(
    running: Player, trace: str | Path, format: str, progress: Progress | None
) -> Mapping[str, Any]:
    with exact_end(running):
        for piece in trace_pieces(trace, format, progress):
            running.feed(piece)
            if running.done():
                break
    return running.finish()


def _ns(picoseconds: int | None) -> float | None:
    return None if picoseconds is None else picoseconds / 1000


# DRAM commands by the counter of a channel that counts them.
_COMMANDS = {
    "activates": "ACT",
    "read_bursts": "RD",
    "write_bursts": "WR",
    "precharges": "PRE",
    "refreshes": "REF",
    "powerdowns": "PDE",
    "self_refreshes": "SRE",
}


def commands(counters: Mapping[str, int]) -> dict[str, int]:
    """How many DRAM commands of each kind were issued, over all channels.

    RD and WR include those with auto-precharge, PRE includes PREA.
    """
    counts = {
        kind: sum(count for name, count in counters.items() if name.endswith(f".{counter}"))
        for counter, kind in _COMMANDS.items()
    }
    return {kind: count for kind, count in counts.items() if count}


def commands_by_device(counters: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """As `commands`, by the devices that a command trace tells apart."""
    devices: dict[str, dict[str, int]] = {}
    for name, count in counters.items():
        below_near = name.startswith("near.")
        device = "near" if below_near else "nvdimm" if ".dimm.dram." in name else "dram"
        devices.setdefault(device, {})[name] = count
    found = {device: commands(own) for device, own in sorted(devices.items())}
    return {device: counts for device, counts in found.items() if counts}


def check_window(skip: int, warm: int, run: int | None) -> None:
    """Raise InputError unless these can be parts of a trace."""
    at_least("skip", skip, 0)
    at_least("warm", warm, 0)
    if run is not None:
        at_least("run", run, 1)


def _played(
    trace: str | Path, format: str, options: ReplayOptions, frames: str | None
) -> dict[str, Any]:
    given = {
        "outstanding": options.outstanding,
        "clock_ps": options.clock_ps,
        "skip": options.skip or None,
        "warm": options.warm or None,
        "run": options.run,
        "base": options.base,
        "frames": frames,
        "drain": options.drain or None,
    }
    said = {name: value for name, value in given.items() if value is not None}
    return {"file": Path(trace).name, "format": format, "pace": options.pace, **said}


def _memory_clock(model: Model) -> int:
    """The period, in ps, of the bus behind the controller."""
    return int(model["dram.clock" if model["machine"] == "dram" else "nvdimm.dram.clock"])


def _core_player() -> PlayerFactory:
    from nearfar import _core

    return cast(PlayerFactory, _core.Replay)
