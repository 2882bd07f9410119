"""A stand-in for the simulated machine: simple formulas, so that every number is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nearfar import _core

LOAD_NS = 100
STORE_NS = 20
OVERWRITE_NS = 250
STALL_NS = 50_000
STALL_EVERY = 1000


@dataclass(frozen=True)
class Filled:
    """A struct of the core: which, and the fields that were given."""

    name: str
    values: Mapping[str, Any]


@dataclass(frozen=True)
class Struct:
    """Makes them, with the fields that the core's own struct has, and no others."""

    name: str

    def fields(self) -> Sequence[str]:
        names: Sequence[str] = getattr(_core, self.name).fields()
        return names

    def __call__(self, **values: Any) -> Filled:
        assert set(values) <= set(self.fields()), f"{self.name} has no such field"
        return Filled(self.name, values)


class StandIn:
    """Answers as `nearfar._core` does, remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.interrupt_at: int | None = None
        self.slower_with_seed = False

    ChasePattern = Struct("ChasePattern")
    OverwritePattern = Struct("OverwritePattern")
    StreamPattern = Struct("StreamPattern")
    ContentionPattern = Struct("ContentionPattern")

    def measure(self, settings: str, pattern: Filled, *, seed: int) -> list[dict[str, Any]]:
        asked = pattern.values
        self._note(settings, seed=seed, **asked)
        return {
            "ChasePattern": self._chase,
            "OverwritePattern": self._overwrite,
            "StreamPattern": self._stream,
            "ContentionPattern": self._contention,
        }[pattern.name](asked, seed)

    def _chase(self, asked: Mapping[str, Any], seed: int) -> list[dict[str, Any]]:
        factor = seed if self.slower_with_seed else 1
        ops = ["raw"] if asked["raw"] else asked["ops"]
        ordered = sorted(ops, key=lambda op: "load" in op)  # stores first, as the core does
        return [
            _point(
                op,
                factor * (LOAD_NS if "load" in op else STORE_NS),
                lines=asked["lines"] * asked["threads"],
                threads=asked["threads"],
                reads="load" in op,
            )
            for op in ordered
        ]

    def _overwrite(self, asked: Mapping[str, Any], _seed: int) -> list[dict[str, Any]]:
        samples = [
            1000 * (STALL_NS if i % STALL_EVERY == STALL_EVERY - 1 else OVERWRITE_NS)
            for i in range(asked["writes"])
        ]
        point = _point(asked["op"], 1, lines=4 * asked["writes"], threads=1, reads=False)
        return [{**point, "elapsed_ps": sum(samples), "samples_ps": samples}]

    def _stream(self, asked: Mapping[str, Any], _seed: int) -> list[dict[str, Any]]:
        reads = "load" in asked["op"]
        return [
            _point(
                asked["op"],
                LOAD_NS if reads else STORE_NS,
                lines=asked["lines"],
                threads=asked["threads"],
                reads=reads,
            )
        ]

    def _contention(self, asked: Mapping[str, Any], _seed: int) -> list[dict[str, Any]]:
        slower = {"none": 1, "load": 2, "ntload": 2, "ntstore": 3}[asked["other"]]
        point = _point("load", slower * LOAD_NS, lines=asked["reads"], threads=1, reads=True)
        # The lines are the reader's.
        return [{**point, "threads": 1 + asked["threads"], "other_lines": 5 * asked["reads"]}]

    def _note(self, settings: str, **asked: Any) -> None:
        if self.interrupt_at == len(self.asked):
            raise KeyboardInterrupt
        self.asked.append({"settings": settings, **asked})


def _point(op: str, nanoseconds: int, *, lines: int, threads: int, reads: bool) -> dict[str, Any]:
    """Every thread takes `nanoseconds` a line; the media move twice what the host asks for."""
    direction = "read" if reads else "write"
    return {
        "op": op,
        "elapsed_ps": 1000 * nanoseconds * lines // threads,
        "lines": lines,
        "threads": threads,
        "p50_ps": 1000 * nanoseconds if reads else 0,
        "p99_ps": 2000 * nanoseconds if reads else 0,
        "p999_ps": 3000 * nanoseconds if reads else 0,
        "max_ps": 4000 * nanoseconds if reads else 0,
        "counters": {
            "channel.0.reads": lines if reads else 0,
            "channel.0.writes": 0 if reads else lines,
            "channel.0.dimm.media.read_bytes": 0,
            "channel.0.dimm.media.write_bytes": 0,
            f"channel.0.dimm.media.{direction}_bytes": 128 * lines,
            "channel.0.dimm.rmw.hits": 3,
            "channel.1.dimm.rmw.hits": 4,
            "channel.0.dimm.dram.reads": 999,
        },
    }
