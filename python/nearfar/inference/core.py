"""A processor's core from the times of its loops: clock, rates, windows, misses in flight.

Method: dependent additions are a cycle each, of a core that executes them; independent
instructions show how many of a kind go on in one. Two loads that miss, with instructions between
them, take one miss's time as long as both fit the reorder buffer, and two beyond it (Wong,
"Measuring Reorder Buffer Capacity", 2013); with stores between them the store queue is what fills.
Loads along more and more chains of their own show how many misses are in flight.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nearfar.results.findings import Finding, Observation, identified, not_identifiable

PROBER = "core"
KIND = "core_loop"
LINE = 64

# Repetitions of one loop that differ by more are no measurement of a rate.
_STEADY = 0.05
# Two misses after another take twice as long as two at once; a machine's noise is less.
_STEP = 1.5
_WIDEST_EDGE = 64  # instructions between the last count that overlaps and the first that does not
_LATE = 8  # entries that may still be taken by what came before
_SATURATED = 1.1  # twice as many chains, and no more than that gained
# Additions that a multiplication takes: 6 at most from Nehalem and Bulldozer on (A. Fog,
# "Instruction tables", IMUL r64,r64). With more, the additions are not executed one by one.
_LONGEST_MULTIPLY = 8.0
_UNLEARNT = 2.0  # a branch that goes both ways takes so many times as long, at least

_RATES = (
    ("core.adds", "adds", "independent additions"),
    ("core.multiplies", "multiplies", "independent multiplications"),
    ("core.loads", "loads", "independent loads from L1"),
)
_EDGES = (
    ("core.window", "nops", "instructions"),
    ("core.stores", "stores", "stores"),
)


@dataclass(frozen=True)
class _Times:
    """What a round of one loop took, in the repetitions."""

    id: str
    count: int
    samples: Sequence[float]

    @property
    def middle(self) -> float:
        return statistics.median(self.samples)

    @property
    def low(self) -> float:
        return min(self.samples)

    @property
    def high(self) -> float:
        return max(self.samples)

    @property
    def typical(self) -> float:
        """The lower quartile: others lengthen repetitions, and a few are short, whose lines
        happened to lie in a cache."""
        return typical(self.samples)

    @property
    def spread(self) -> float:
        return (self.high - self.low) / self.middle


def typical(samples: Sequence[float]) -> float:
    """The lower quartile."""
    return sorted(samples)[len(samples) // 4]


def findings(observations: Sequence[Observation]) -> list[Finding]:
    """What the loops of `core` say; empty if it made no observations."""
    loops: dict[str, list[_Times]] = {}
    for one in observations:
        if one.prober == PROBER and one.pattern.get("kind") == KIND and one.samples:
            times = _Times(one.id, int(one.pattern["count"]), tuple(one.samples))
            loops.setdefault(str(one.pattern["name"]), []).append(times)
    return list(_findings(loops)) if loops else []


def _findings(loops: dict[str, list[_Times]]) -> Iterator[Finding]:
    clock = _clock(loops)
    yield clock
    cycle = loops["add_chain"][0] if clock.value is not None else None
    for name, loop, what in _RATES:
        yield _rate(name, loops.get(loop), cycle, what)
    yield _latency(loops.get("multiply_chain"), cycle)
    yield _mispredict(loops.get("steady_branches"), loops.get("random_branches"))
    for name, loop, what in _EDGES:
        yield _edge(name, loops.get(loop), what)
    yield _misses(loops.get("chains"))
    yield not_identifiable(
        "core.l2.misses",
        "loads of one core wait in L1 first, and it waits for no more than L2 does",
        (),
    )
    yield _bandwidth(loops.get("lines"))


def _lacking(name: str) -> Finding:
    return not_identifiable(name, "the probe ended before it was measured", ())


def _unsteady(name: str, times: _Times) -> Finding:
    return not_identifiable(
        name,
        f"repetitions differ by {times.spread:.0%}: the clock changes, or others run here",
        [times.id],
    )


def _clock(loops: dict[str, list[_Times]]) -> Finding:
    name = "core.clock"
    if "add_chain" not in loops:
        return _lacking(name)
    times = loops["add_chain"][0]
    if times.spread > _STEADY:
        return _unsteady(name, times)
    for product in loops.get("multiply_chain", ())[:1]:
        if product.middle > _LONGEST_MULTIPLY * times.middle:
            return not_identifiable(
                name,
                f"a multiplication takes as long as {product.middle / times.middle:.0f} dependent "
                f"additions, expected at most {_LONGEST_MULTIPLY:.0f}: the additions are not a "
                "cycle each",
                [times.id, product.id],
            )
    return identified(
        name,
        round(1 / times.middle, 4),
        "dependent additions, a cycle each",
        [times.id],
        interval=(round(1 / times.high, 4), round(1 / times.low, 4)),
    )


def _rate(name: str, seen: list[_Times] | None, cycle: _Times | None, what: str) -> Finding:
    if not seen:
        return _lacking(name)
    if cycle is None:
        return not_identifiable(name, "the clock is not known", [seen[0].id])
    times = seen[0]
    if times.spread > _STEADY:
        return _unsteady(name, times)
    return identified(
        name,
        round(cycle.middle / times.middle, 3),
        f"{what}, over dependent additions",
        [times.id, cycle.id],
        interval=(round(cycle.low / times.high, 3), round(cycle.high / times.low, 3)),
    )


def _latency(seen: list[_Times] | None, cycle: _Times | None) -> Finding:
    name = "core.multiply.latency"
    if not seen:
        return _lacking(name)
    if cycle is None:
        return not_identifiable(name, "the clock is not known", [seen[0].id])
    times = seen[0]
    if times.spread > _STEADY:
        return _unsteady(name, times)
    return identified(
        name,
        round(times.middle / cycle.middle, 3),
        "dependent multiplications, over dependent additions",
        [times.id, cycle.id],
        interval=(round(times.low / cycle.high, 3), round(times.high / cycle.low, 3)),
    )


def _mispredict(steady: list[_Times] | None, random: list[_Times] | None) -> Finding:
    """Half of the branches that go either way at random are predicted wrong."""
    name = "core.mispredict"
    if not steady or not random:
        return _lacking(name)
    one, other = steady[0], random[0]
    evidence = [one.id, other.id]
    for times in (one, other):
        if times.spread > _STEADY:
            return _unsteady(name, times)
    if other.middle < _UNLEARNT * one.middle:
        return not_identifiable(
            name,
            f"branches at random take {other.middle:.2f} ns and others {one.middle:.2f}: they may "
            "have been learnt",
            evidence,
        )
    return identified(
        name,
        round(2 * (other.middle - one.middle), 3),
        "branches at random, half of them predicted wrong, less branches that never turn",
        evidence,
        interval=(round(2 * (other.low - one.high), 3), round(2 * (other.high - one.low), 3)),
    )


def _edge(name: str, seen: list[_Times] | None, what: str) -> Finding:
    """Up to how many instructions between two misses both are waited for at once."""
    if not seen or len(seen) < 4:
        return _lacking(name)
    points = sorted(seen, key=lambda one: one.count)
    ends = max(2, len(points) // 8)
    least = min(one.typical for one in points[:ends])
    most = statistics.median(one.typical for one in points[-ends:])
    if most < _STEP * least:
        return not_identifiable(
            name,
            f"two misses take {least:.0f} ns with none between them and {most:.0f} ns with "
            f"{points[-1].count} {what}: they overlap still, or noise hides that they do not",
            [points[0].id, points[-1].id],
        )
    middle = (least + most) / 2
    slow = [one.typical > middle for one in points]
    most_are_slow = [one.middle > middle for one in points]
    if most_are_slow[0] or not slow[-1]:
        return not_identifiable(name, "too noisy: no end of the curve is flat", [points[0].id])
    last = points[most_are_slow.index(True) - 1]
    first = points[len(slow) - slow[::-1].index(False)]
    if first.count - last.count > _WIDEST_EDGE:
        return not_identifiable(
            name,
            f"with {last.count} to {first.count} {what} between them two misses overlap or not: "
            "too noisy",
            [last.id, first.id],
        )
    return identified(
        name,
        (last.count + first.count) // 2,
        f"two misses overlap with {last.count} {what} between them, no longer with {first.count}",
        [last.id, first.id],
        interval=(last.count, first.count + _LATE),
    )


def _misses(seen: list[_Times] | None) -> Finding:
    name = "core.misses"
    if not seen or len(seen) < 4:
        return _lacking(name)
    points = sorted(seen, key=lambda one: one.count)
    alone = min(points[:3], key=lambda one: one.typical)
    best = max(points, key=lambda one: one.count / one.typical)
    evidence = [alone.id, best.id]
    half = [one for one in points if one.count <= points[-1].count * 2 // 3]
    before = max(one.count / one.typical for one in half)
    flight = best.count / best.typical * alone.typical
    if best.count / best.typical > _SATURATED * before:
        return not_identifiable(
            name,
            f"{flight:.0f} with {best.count} chains, and more chains would move more",
            evidence,
        )
    return identified(
        name,
        round(flight, 1),
        f"lines of {best.count} chains that come in the time of one miss, {alone.typical:.0f} ns",
        evidence,
        interval=(
            round(best.count / best.high * alone.low, 1),
            round(best.count / best.low * alone.high, 1),
        ),
    )


def _bandwidth(seen: list[_Times] | None) -> Finding:
    name = "core.bandwidth"
    if not seen:
        return _lacking(name)
    times = seen[0]
    if times.spread > 4 * _STEADY:
        return _unsteady(name, times)
    return identified(
        name,
        round(LINE / times.middle, 2),
        "loads of one core in order, far beyond the caches",
        [times.id],
        interval=(round(LINE / times.high, 2), round(LINE / times.low, 2)),
    )
