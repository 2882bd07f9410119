"""What parts of the DIMM bring: the table of a study in which they are switched off and on.

`python bench/studies.py STORE... [--switch KEY]...` reads stores of `nearfar sweep`. Each line is
a machine, a workload and what is switched on, with what else is set; over the draws of the
workload's random numbers, time with everything off over time with it, paired by draw, with the 95 %
interval of the mean by Student's t. A speed-up whose interval holds 1 is named as noise; with a
single draw there is no interval, and the line says so. `--mean` adds the geometric mean over
workloads.
"""

from __future__ import annotations

import argparse
import math
import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nearfar.errors import InputError
from nearfar.report.text import table
from nearfar.results.sweep import DONE, SweepPoint
from nearfar.sweeping.show import read_sweep

# Two-sided 95 % points of Student's t, by degrees of freedom.
STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
DRAW = "draw"
# What a switch turns on, as the table calls it.
NAMES = {
    "nvdimm.lazy.enabled": "Lazy cache",
    "nvdimm.pretranslation.enabled": "Pre-translation",
}
DEFAULT = "nvdimm.lazy.enabled"


@dataclass(frozen=True)
class Seen:
    """One run: what its busiest process did. Time is what its cores were busy, without waits in the
    kernel, which depend on other processes."""

    time_ns: float
    media_writes: int
    migrations: int
    tlb_misses: float  # a thousand instructions
    bus_ps: int
    p999_ns: float


def busy_ns(machine: Mapping[str, Any]) -> float:
    """How long the machine's cores executed the program."""
    stack = machine["core"]["stack_ps"]
    return float(sum(spent for cause, spent in stack.items() if cause != "away")) / 1000


def seen(result: Mapping[str, Any]) -> Seen:
    """What a run's document says."""
    machines = [one["machine"] for one in result["processes"] if one.get("machine")]
    machine = max(machines, key=busy_ns)
    counters = machine["counters"]

    def total(ending: str) -> int:
        return sum(value for name, value in counters.items() if name.endswith(ending))

    hits, accesses = machine["hits"].get("second TLB", (0, 0))
    instructions = machine["core"]["counts"]["instructions"]
    return Seen(
        time_ns=busy_ns(machine),
        media_writes=total(".dimm.media.writes"),
        migrations=total(".dimm.wear.migrations"),
        tlb_misses=1000 * (accesses - hits) / max(instructions, 1),
        bus_ps=total(".bus.busy_ps"),
        p999_ns=machine["load_latency"].get("p999_ns") or 0,
    )


def words_of(work: str) -> list[str]:
    """The program and its arguments."""
    return work.partition(" -- ")[2].split()


Places = dict[tuple[str, int], set[int]]  # by program and number of words


def draw_places(points: Sequence[SweepPoint]) -> Places:
    """Where each program is told the draw: the words that are it in all points."""
    places: Places = {}
    for point in points:
        words, draw = words_of(point.work), point.settings.get(DRAW)
        told = {at for at, word in enumerate(words) if word == draw}
        key = (words[0], len(words))
        places[key] = places.get(key, told) & told
    return places


def program(work: str, places: Places) -> str:
    """The program and its arguments, without where its files lie and which draw it is."""
    words = words_of(work)
    told = places[words[0], len(words)]
    kept = [word for at, word in enumerate(words) if at and at not in told and "/" not in word]
    return " ".join([words[0].rpartition("/")[2], *kept])


def interval(ratios: Sequence[float]) -> float | None:
    """Half the 95 % interval of the mean; None from one value."""
    if len(ratios) < 2:
        return None
    student = STUDENT[min(len(ratios) - 2, len(STUDENT) - 1)]
    return student * statistics.stdev(ratios) / math.sqrt(len(ratios))


On = frozenset[str]  # switches that are on
Runs = dict[str, dict[On, Seen]]  # by draw


def paired(points: Sequence[SweepPoint], switches: Sequence[str]) -> dict[tuple[str, ...], Runs]:
    """Runs by machine, workload and what else is set."""
    found: dict[tuple[str, ...], Runs] = defaultdict(lambda: defaultdict(dict))
    places = draw_places(points)
    for point in points:
        draw = point.settings.get(DRAW)
        rest = [f"{key.rpartition('nvdimm.')[2]}={value}" for key, value in point.settings.items()
                if key not in (*switches, DRAW)]  # fmt: skip
        base, *own = point.target.removeprefix("model:").split(",")
        # A switch of the target's own, and how it finds pointers, are no other machine.
        kept = [part for part in own
                if not part.startswith(("cpu.pretranslation.", *switches))]  # fmt: skip
        key = (",".join([base, *kept]), program(point.work, places), *rest)
        on = frozenset(one for one in switches
                       if point.settings.get(one) == "true" or f"{one}=true" in own)  # fmt: skip
        found[key][draw or ""][on] = seen(point.result)
    return found


@dataclass(frozen=True)
class Gain:
    """What switching something on brings: speed-ups less 1, in per cent."""

    speedup: float
    half: float | None  # of the 95 % interval

    @property
    def note(self) -> str:
        """What to think of it."""
        if self.half is None:
            return "one draw"
        return "noise" if abs(self.speedup) <= self.half else ""


def gain(ratios: Sequence[float]) -> Gain:
    """From times without over times with, one a draw."""
    half = interval(ratios)
    return Gain(100 * (statistics.fmean(ratios) - 1), None if half is None else 100 * half)


def row(key: tuple[str, ...], runs: Runs, on: On) -> tuple[tuple[str, ...], Gain] | None:
    """A line of the table, and what it says; None where no draw has both."""
    both = [(one[frozenset()], one[on]) for one in runs.values() if {frozenset(), on} <= set(one)]
    if not both:
        return None
    found = gain([off.time_ns / with_it.time_ns for off, with_it in both])
    spread = "" if found.half is None else f"+-{found.half:.2f}"

    def change(field: str) -> str:
        before, after = (statistics.fmean(getattr(pair[side], field) for pair in both)
                         for side in (0, 1))  # fmt: skip
        return f"{before:,.4g} > {after:,.4g}"

    named = " + ".join(NAMES.get(one, one) for one in sorted(on))
    fields = ("media_writes", "migrations", "tlb_misses", "bus_ps", "p999_ns")
    line = (
        *(key[0], " ".join(key[1:]), named, str(len(both))),
        *(f"{found.speedup:+.2f} %", spread, found.note),
        *(change(one) for one in fields),
    )
    return line, found


def means(found: Mapping[tuple[str, str], Sequence[float]]) -> Iterator[tuple[str, ...]]:
    """A line for each machine and what is on: the geometric mean over workloads."""
    for (target, named), gains in sorted(found.items()):
        ratios = [1 + one / 100 for one in gains]
        mean = 100 * (statistics.geometric_mean(ratios) - 1)
        yield (target, f"mean of {len(gains)} workloads", named, "", f"{mean:+.2f} %",
               *("",) * 7)  # fmt: skip


def combinations(switches: Sequence[str], runs: Mapping[tuple[str, ...], Runs]) -> list[On]:
    """What is switched on in the runs, the fewest first."""
    met = {on for draws in runs.values() for one in draws.values() for on in one if on}
    return sorted(met, key=lambda on: (len(on), [switches.index(one) for one in sorted(on)]))


def points_of(stores: Sequence[str], switches: Sequence[str]) -> list[SweepPoint]:
    """What is done in the stores and sets a switch. Ends the program where there is nothing."""
    found = []
    for store in stores:
        try:
            swept = read_sweep(store, whole=True)
        except InputError as error:
            raise SystemExit(f"studies: {error}") from None
        done = [one for one in swept.of_state(DONE) if set(switches) & set(one.settings)]
        if not done:
            raise SystemExit(
                f"studies: {store}: no point is done that sets {' or '.join(switches)}"
            )
        found += done
    return found


HEADER = ("machine", "workload", "with", "draws", "speed-up", "95 %", "", "media writes",
          "migrations", "TLB misses/1000", "bus ps", "p99.9 ns")  # fmt: skip


def main() -> None:
    """Print the table of stores."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("store", nargs="+")
    parser.add_argument("--switch", action="append", metavar="KEY", help=f"default: {DEFAULT}")
    parser.add_argument("--mean", action="store_true", help="add the mean over workloads")
    options = parser.parse_args()
    switches = options.switch or [DEFAULT]
    runs = paired(points_of(options.store, switches), switches)
    rows, gains = [], defaultdict(list)
    for key, draws in sorted(runs.items()):
        for on in combinations(switches, runs):
            line = row(key, draws, on)
            if line is not None:
                rows.append(line[0])
                gains[(key[0], line[0][2])].append(line[1].speedup)
    if options.mean:
        rows += means(gains)
    print(table(HEADER, rows, "<<<>>><>>>>>"), end="")


if __name__ == "__main__":
    main()
