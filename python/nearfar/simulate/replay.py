"""A trace through a model: how long it takes, how fast, and with which latencies."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast

from nearfar.errors import InputError
from nearfar.measure.quantity import at_least, choice
from nearfar.measure.target import describe, environment, resolve
from nearfar.model import Model
from nearfar.results import Environment, Target, check_writable
from nearfar.simulate.unpack import pieces

SCHEMA = "nearfar/replay/1"
FORMATS = ("auto", "ramulator", "dramsim3", "vans")
PACES = ("trace", "asap")


class Player(Protocol):
    """What replaying needs of the core; `_core.Replay` has it."""

    def feed(self, data: bytes) -> None: ...
    def finish(self) -> Mapping[str, Any]: ...


# Called as `_core.Replay` is: the settings, then keywords.
PlayerFactory = Callable[..., Player]


@dataclass(frozen=True)
class Replayed:
    """What a trace did to a model. Latencies are those of reads, in ns."""

    target: Target
    environment: Environment
    trace: Mapping[str, Any]
    requests: int
    elapsed_ps: int
    gb_per_s: float
    p50_ns: float
    p99_ns: float
    p999_ns: float
    max_ns: float
    counters: Mapping[str, int]

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts and lists, as `json.dumps` takes them."""
        out: dict[str, Any] = {"schema": SCHEMA}
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if dataclasses.is_dataclass(value) and not isinstance(value, type):
                value = dataclasses.asdict(value)
            out[field.name] = dict(value) if isinstance(value, Mapping) else value
        out["commands"] = self.commands
        return out

    @property
    def commands(self) -> dict[str, int]:
        """How many DRAM commands of each kind were issued, over all channels and ranks."""
        counts: dict[str, int] = {}
        for name, count in self.counters.items():
            kind = name.rpartition("commands.")[2]
            if kind != name:
                counts[kind] = counts.get(kind, 0) + count
        return counts


def replay(
    target: str | Model,
    trace: str | Path,
    *,
    format: str = "auto",
    pace: str = "trace",
    outstanding: int | None = None,
    clock_ps: int | None = None,
    command_trace: str | Path | None = None,
    player: PlayerFactory | None = None,
) -> Replayed:
    """Play the trace file `trace` on a model; plain, gzip or zstandard.

    `pace="trace"` sends each access at its cycle, "asap" as fast as `outstanding` requests
    in flight allow. `clock_ps` is the period of the trace's cycles; None: the model's
    memory clock. Raises InputError for a file or a line that cannot be read, and for an
    address beyond the model's memory.
    """
    choice("format", format, FORMATS)
    choice("pace", pace, PACES)
    if outstanding is not None:
        at_least("outstanding", outstanding, 1)
    if command_trace is not None:
        check_writable(command_trace)
    model = resolve(target)
    make = player or _core_player()
    running = make(
        model.export(),
        format=format,
        pace=pace,
        outstanding=outstanding or 0,
        clock_ps=clock_ps or 0,
        command_trace="" if command_trace is None else str(command_trace),
    )
    try:
        for piece in pieces(trace):
            running.feed(piece)
        data = running.finish()
    except InputError as error:
        raise _naming(trace, error) from None
    return Replayed(
        target=describe(model),
        environment=environment(model, seed=int(model["seed"])),
        trace={"file": Path(trace).name, "format": format, "pace": pace}
        | ({} if outstanding is None else {"outstanding": outstanding})
        | ({} if clock_ps is None else {"clock_ps": clock_ps}),
        requests=data["requests"],
        elapsed_ps=data["elapsed_ps"],
        gb_per_s=data["gb_per_s"],
        p50_ns=data["p50_ps"] / 1000,
        p99_ns=data["p99_ps"] / 1000,
        p999_ns=data["p999_ps"] / 1000,
        max_ns=data["max_ps"] / 1000,
        counters=dict(sorted(data["counters"].items())),
    )


def _core_player() -> PlayerFactory:
    from nearfar import _core

    return cast(PlayerFactory, _core.Replay)


def _naming(trace: str | Path, error: InputError) -> InputError:
    """The core knows the line, this side knows the file."""
    text = str(error)
    return error if text.startswith(str(trace)) else InputError(f"{trace}: {text}")
