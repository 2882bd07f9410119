"""A stand-in for the simulated machine: simple formulas, so that every number is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

LOAD_NS = 100
STORE_NS = 20
OVERWRITE_NS = 250
STALL_NS = 50_000
STALL_EVERY = 1000


class StandIn:
    """Answers as `nearfar._core` does, remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.interrupt_at: int | None = None
        self.slower_with_seed = False

    def chase(self, settings: str, *, ops: Sequence[str], **asked: Any) -> list[dict[str, Any]]:
        self._note(settings, ops=list(ops), **asked)
        factor = asked["seed"] if self.slower_with_seed else 1
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

    def overwrite(self, settings: str, *, writes: int, op: str, **asked: Any) -> dict[str, Any]:
        self._note(settings, writes=writes, op=op, **asked)
        samples = [
            1000 * (STALL_NS if i % STALL_EVERY == STALL_EVERY - 1 else OVERWRITE_NS)
            for i in range(writes)
        ]
        point = _point(op, 1, lines=4 * writes, threads=1, reads=False)
        return {**point, "elapsed_ps": sum(samples), "samples_ps": samples}

    def stream(self, settings: str, *, op: str, **asked: Any) -> dict[str, Any]:
        self._note(settings, op=op, **asked)
        nanoseconds = LOAD_NS if "load" in op else STORE_NS
        return _point(
            op, nanoseconds, lines=asked["lines"], threads=asked["threads"], reads="load" in op
        )

    def contention(self, settings: str, *, other: str, reads: int, **asked: Any) -> dict[str, Any]:
        self._note(settings, other=other, reads=reads, **asked)
        slower = {"none": 1, "load": 2, "ntload": 2, "ntstore": 3}[other]
        point = _point("load", slower * LOAD_NS, lines=reads, threads=1, reads=True)
        # The lines are the reader's.
        return {**point, "threads": 1 + asked["threads"], "other_lines": 5 * reads}

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
