"""Families of bandwidth-latency curves: what is asked for, and the rates that make a curve.

The method is that of the Mess benchmark (Esmaili-Dokht et al., MICRO 2024): one thread follows a
random chain, generators on the other cores load the memory with a given share of reads at a given
rate, and the latency stands over all that moved.
"""

# ruff: noqa: RUF009  (a descriptor as a default is how a dataclass is given one)

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from nearfar.errors import InputError
from nearfar.measuring import fields
from nearfar.measuring.fields import Option
from nearfar.measuring.quantity import LINE

LOADED_OPS = ("store", "ntstore")
LEAST_POINTS = 3  # unpaced, one paced rate, idle


@dataclass(frozen=True)
class Loaded:
    """The latency of a dependent reader over total bandwidth, one curve for each share of reads.

    `reads` are shares of the traffic at the memory, in per cent. A cached store moves its line
    twice, in and back out, so that a share of 50 % is stores alone and less takes `op` "ntstore".
    Each curve has `points` rates: unpaced, paced ones evenly below that bandwidth, and idle.
    `threads` generators load the memory in order; None: one on every other core. `lines` is how
    many the reader loads for each point.
    """

    reads: fields.Percents = fields.Percents(
        (50, 75, 100),
        Option(
            "of the traffic at the memory, one curve each; default 50%,75%,100%",
            json="reads_percent",
        ),
    )
    points: fields.Count = fields.Count(
        10, Option("rates of each curve; default 10"), least=LEAST_POINTS
    )
    threads: fields.OptionalCount = fields.OptionalCount(
        None, Option("generators; default: one on every other core")
    )
    op: fields.Name = fields.Name(
        "store", LOADED_OPS, Option("the generators' stores; default store")
    )
    area: fields.Size = fields.Size(
        256 << 20, Option("of each thread; default 256MiB", json="area_bytes")
    )
    lines: fields.OptionalCount = fields.OptionalCount(
        None, Option("the reader loads at each point; default 1000 on a model, 20000 on a host")
    )
    seed: fields.Count = fields.Count(1, Option("of every random order; default 1"), least=0)

    kind: ClassVar[str] = "loaded"

    def __post_init__(self) -> None:
        for percent in self.reads:
            if self.op == "store" and percent < 50:
                raise InputError(
                    f"reads: found {percent}%, expected 50% or more: a cached store reads its line "
                    "before it is written; give --op ntstore for less"
                )
        if self.area < 16 * LINE:
            raise InputError(f"area: found {self.area} B, expected at least {16 * LINE} B")

    def mix(self, percent: int) -> tuple[int, int]:
        """Stores among so many accesses of a generator, for a share of reads of the traffic."""
        return 100 - percent, percent if self.op == "store" else 100

    def traffic(self, percent: int) -> float:
        """Bytes that move for one access of a generator, in the mean."""
        stores, accesses = self.mix(percent)
        return LINE * (1 + stores / accesses if self.op == "store" else 1)

    def pauses_ns(self, gb_per_s: float, percent: int, threads: int) -> list[float]:
        """Pauses of a generator after an access, ascending, so that all `threads` together offer
        even parts of `gb_per_s`, the bandwidth without a pause."""
        unpaced = threads * self.traffic(percent) / gb_per_s
        steps = self.points - 2
        return [unpaced * steps / step for step in range(steps, 0, -1)]

    def footprint(self, threads: int) -> int:
        """Bytes of memory that the reader and so many generators reach."""
        return (1 + threads) * self.area

    def to_dict(self) -> dict[str, Any]:
        """The pattern as a result carries it."""
        return fields.to_dict(self)
