"""A trace through a model: how long it takes, how fast, and with which latencies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, cast

from nearfar.errors import InputError, check_one_of
from nearfar.measuring import energy
from nearfar.measuring.quantity import at_least
from nearfar.measuring.run import Progress
from nearfar.measuring.target import describe, environment, resolve
from nearfar.model import Model
from nearfar.results import ReplayResult, check_writable
from nearfar.simulate.traces.file import trace_pieces
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


def replay(
    target: str | Model,
    trace: str | Path,
    *,
    format: str = "auto",
    base: int | None = None,
    pace: str = "trace",
    outstanding: int | None = None,
    clock_ps: int | None = None,
    skip: int = 0,
    warm: int = 0,
    run: int | None = None,
    frames: str | None = None,
    drain: bool = True,
    command_trace: str | Path | None = None,
    progress: Progress | None = None,
    player: PlayerFactory | None = None,
) -> ReplayResult:
    """Play the trace file `trace` on a model; plain, or packed with gzip, bzip2, zstandard, xz or
    zip.

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
    `progress` is told bytes of the file, done and in all.

    Raises InputError for a file or a line that cannot be read, and for an address beyond the
    model's memory.
    """
    check_one_of("format", format, readable())
    check_one_of("pace", pace, PACES)
    if frames is not None:
        check_one_of("frames", frames, FRAMES)
    if outstanding is not None:
        at_least("outstanding", outstanding, 1)
    check_window(skip, warm, run)
    if command_trace is not None:
        check_writable(command_trace)
    model = resolve(target)
    make = player or _core_player()

    def play(frames: str | None) -> Player:
        return make(
            model.export(),
            name=str(trace),
            format=format,
            base=base or 0,
            pace=pace,
            outstanding=outstanding or 0,
            clock_ps=_memory_clock(model) if clock_ps is None else clock_ps,
            trace_clock=clock_ps is None,
            skip=skip,
            warm=warm,
            run=run or 0,
            frames=frames or "",
            drain=drain,
            command_trace="" if command_trace is None else str(command_trace),
        )

    running = play(frames)
    try:
        data = _finished(running, trace, format, progress)
    except InputError:
        again = frames is None and running.is_beyond_memory() and Path(trace).is_file()
        if not again:
            raise
        frames = "first-touch"
        del running  # and its command trace, before there is another
        data = _finished(play(frames), trace, format, progress)
    latency = {name: _ns(data.get(name)) for name in ("p50_ps", "p99_ps", "p999_ps", "max_ps")}
    return ReplayResult(
        target=describe(model),
        environment=environment(model, seed=int(model["seed"])),
        trace=_played(
            trace,
            data["format"],
            pace,
            {
                "outstanding": outstanding,
                "clock_ps": clock_ps,
                "skip": skip or None,
                "warm": warm or None,
                "run": run,
                "base": base,
                "frames": frames,
                "drain": drain or None,
            },
        ),
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
    )


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
    trace: str | Path, format: str, pace: str, optional: Mapping[str, int | str | None]
) -> dict[str, Any]:
    given = {name: value for name, value in optional.items() if value is not None}
    return {"file": Path(trace).name, "format": format, "pace": pace, **given}


def _memory_clock(model: Model) -> int:
    """The period, in ps, of the bus behind the controller."""
    return int(model["dram.clock" if model["machine"] == "dram" else "nvdimm.dram.clock"])


def _core_player() -> PlayerFactory:
    from nearfar import _core

    return cast(PlayerFactory, _core.Replay)
