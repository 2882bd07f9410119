"""What a part of the DIMM brings: the table of a study in which it is switched off and on.

`python bench/studies.py STORE [--switch KEY]` reads a store of `nearfar sweep`. Each line is a
machine and a workload, with what else is set; over the draws of the workload's random numbers,
time without over time with the part, paired by draw, with the 95 % interval of the mean by
Student's t. A speed-up whose interval holds 1 is named as noise; with a single draw there is no
interval, and the line says so.
"""

from __future__ import annotations

import argparse
import math
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nearfar.errors import InputError
from nearfar.report.text import table
from nearfar.results.sweep import DONE, SweepPoint
from nearfar.sweeping.show import read_sweep

# Two-sided 95 % points of Student's t, by degrees of freedom.
STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
DRAW = "draw"


@dataclass(frozen=True)
class Seen:
    """One run: what its busiest process did."""

    time_ns: float
    media_writes: int
    migrations: int
    tlb_misses: float  # a thousand instructions
    bus_ps: int
    p999_ns: float


def seen(result: Mapping[str, Any]) -> Seen:
    """What a run's document says."""
    machines = [one["machine"] for one in result["processes"] if one.get("machine")]
    machine = max(machines, key=lambda one: one["core"]["counts"]["instructions"])
    counters = machine["counters"]

    def total(ending: str) -> int:
        return sum(value for name, value in counters.items() if name.endswith(ending))

    hits, accesses = machine["hits"].get("second TLB", (0, 0))
    instructions = machine["core"]["counts"]["instructions"]
    return Seen(
        time_ns=machine["time_ns"],
        media_writes=total(".dimm.media.writes"),
        migrations=total(".dimm.wear.migrations"),
        tlb_misses=1000 * (accesses - hits) / max(instructions, 1),
        bus_ps=total(".bus.busy_ps"),
        p999_ns=machine["load_latency"]["p999_ns"],
    )


def program(work: str, draw: str | None) -> str:
    """The program and its arguments, without where its files lie and which draw it is."""
    words = work.partition(" -- ")[2].split()
    if draw is not None and words[-1] == draw:
        words = words[:-1]
    kept = [words[0].rpartition("/")[2], *(word for word in words[1:] if "/" not in word)]
    return " ".join(kept)


def interval(ratios: Sequence[float]) -> float | None:
    """Half the 95 % interval of the mean; None from one value."""
    if len(ratios) < 2:
        return None
    student = STUDENT[min(len(ratios) - 2, len(STUDENT) - 1)]
    return student * statistics.stdev(ratios) / math.sqrt(len(ratios))


Pairs = dict[str, dict[str, Seen]]  # by draw, then by the switch's value


def paired(points: Sequence[SweepPoint], switch: str) -> dict[tuple[str, ...], Pairs]:
    """Runs by machine, workload and what else is set."""
    found: dict[tuple[str, ...], Pairs] = defaultdict(lambda: defaultdict(dict))
    for point in points:
        draw = point.settings.get(DRAW)
        rest = [f"{key.rpartition('nvdimm.')[2]}={value}" for key, value in point.settings.items()
                if key not in (switch, DRAW)]  # fmt: skip
        key = (point.target.removeprefix("model:"), program(point.work, draw), *rest)
        found[key][draw or ""][point.settings[switch]] = seen(point.result)
    return found


def row(key: tuple[str, ...], pairs: Pairs) -> tuple[str, ...] | None:
    """A line of the table; None where no draw has both."""
    both = [one for one in pairs.values() if {"false", "true"} <= set(one)]
    if not both:
        return None
    ratios = [one["false"].time_ns / one["true"].time_ns for one in both]
    gain, half = 100 * (statistics.fmean(ratios) - 1), interval(ratios)
    if half is None:
        noise, spread = "one draw", ""
    else:
        noise = "noise" if abs(gain) <= 100 * half else ""
        spread = f"+-{100 * half:.2f}"

    def change(field: str) -> str:
        before, after = (statistics.fmean(getattr(one[state], field) for one in both)
                         for state in ("false", "true"))  # fmt: skip
        return f"{before:,.4g} > {after:,.4g}"

    return (
        *(key[0], " ".join(key[1:])),
        *(f"{gain:+.2f} %", spread, noise),
        *(change(one) for one in ("media_writes", "migrations", "tlb_misses", "p999_ns")),
    )


def main() -> None:
    """Print the table of a store."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("store")
    parser.add_argument("--switch", default="nvdimm.lazy.enabled", help="default: %(default)s")
    options = parser.parse_args()
    try:
        swept = read_sweep(options.store, whole=True)
    except InputError as error:
        raise SystemExit(f"studies: {error}") from None
    points = [one for one in swept.of_state(DONE) if options.switch in one.settings]
    if not points:
        raise SystemExit(f"studies: {options.store}: no point is done that sets {options.switch}")
    rows = [line for key, pairs in sorted(paired(points, options.switch).items())
            if (line := row(key, pairs)) is not None]  # fmt: skip
    header = ("machine", "workload", "speed-up", "95 %", "", "media writes", "migrations",
              "TLB misses/1000", "p99.9 ns")  # fmt: skip
    print(table(header, rows, "<<>><>>>>"), end="")


if __name__ == "__main__":
    main()
