"""A trace through a model: how long it takes, how fast, and with which latencies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, cast

from nearfar.errors import check_one_of
from nearfar.measuring import energy
from nearfar.measuring.quantity import at_least
from nearfar.measuring.run import Progress
from nearfar.measuring.target import describe, environment, resolve
from nearfar.model import Model
from nearfar.results import ReplayResult, check_writable
from nearfar.simulate.traces.convert import FORMATS
from nearfar.simulate.traces.file import trace_pieces
from nearfar.simulate.traces.unpack import exact_end

PACES = ("trace", "asap")


class Player(Protocol):
    """What replaying needs of the core; `_core.Replay` has it."""

    def feed(self, data: bytes) -> None: ...
    def done(self) -> bool: ...
    def format(self) -> str: ...
    def finish(self) -> Mapping[str, Any]: ...


# Called as `_core.Replay` is: the settings, then keywords.
PlayerFactory = Callable[..., Player]


def replay(
    target: str | Model,
    trace: str | Path,
    *,
    format: str = "auto",
    pace: str = "trace",
    outstanding: int | None = None,
    clock_ps: int | None = None,
    skip: int = 0,
    warm: int = 0,
    run: int | None = None,
    command_trace: str | Path | None = None,
    progress: Progress | None = None,
    player: PlayerFactory | None = None,
) -> ReplayResult:
    """Play the trace file `trace` on a model; plain, or packed with gzip, zstandard or xz.

    `pace="trace"` sends each access at its cycle, "asap" as fast as `outstanding` requests
    in flight allow. `clock_ps` is the period of the trace's cycles; None: what the trace says,
    or else the model's memory clock. `skip` records are not played, `warm` after them are played
    but not counted, `run` are counted (None: all that are left); where the trace counts
    instructions, so do these. `progress` is told bytes of the file, done and in all.

    Raises InputError for a file or a line that cannot be read, and for an address beyond the
    model's memory.
    """
    check_one_of("format", format, FORMATS)
    check_one_of("pace", pace, PACES)
    if outstanding is not None:
        at_least("outstanding", outstanding, 1)
    check_window(skip, warm, run)
    if command_trace is not None:
        check_writable(command_trace)
    model = resolve(target)
    make = player or _core_player()
    running = make(
        model.export(),
        name=str(trace),
        format=format,
        pace=pace,
        outstanding=outstanding or 0,
        clock_ps=_memory_clock(model) if clock_ps is None else clock_ps,
        trace_clock=clock_ps is None,
        skip=skip,
        warm=warm,
        run=run or 0,
        command_trace="" if command_trace is None else str(command_trace),
    )
    with exact_end(running):
        for piece in trace_pieces(trace, format, progress):
            running.feed(piece)
            if running.done():
                break
    data = running.finish()
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
            },
        ),
        requests=data["requests"],
        reads=data["reads"],
        writes=data["writes"],
        fences=data["fences"],
        elapsed_ps=data["elapsed_ps"],
        gb_per_s=data["gb_per_s"],
        read_p50_ns=data["p50_ps"] / 1000,
        read_p99_ns=data["p99_ps"] / 1000,
        read_p999_ns=data["p999_ps"] / 1000,
        read_max_ns=data["max_ps"] / 1000,
        late=data["late"],
        late_max_ns=data["late_max_ps"] / 1000,
        **energy.summary(data["counters"]),
        commands=commands(data["counters"]),
        commands_by_device=commands_by_device(data["counters"]),
        counters=dict(sorted(data["counters"].items())),
    )


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
    trace: str | Path, format: str, pace: str, optional: Mapping[str, int | None]
) -> dict[str, Any]:
    given = {name: value for name, value in optional.items() if value is not None}
    return {"file": Path(trace).name, "format": format, "pace": pace, **given}


def _memory_clock(model: Model) -> int:
    """The period, in ps, of the bus behind the controller."""
    return int(model["dram.clock" if model["machine"] == "dram" else "nvdimm.dram.clock"])


def _core_player() -> PlayerFactory:
    from nearfar import _core

    return cast(PlayerFactory, _core.Replay)
