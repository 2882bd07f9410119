"""Findings about the buffers, from load curves and re-reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from nearfar.inference.curves.ascents import ascents
from nearfar.inference.curves.bits import Way, way_span
from nearfar.inference.curves.certainty import (
    allowed,
    among,
    count,
    height,
    nothing,
    slopes,
    too_short,
    translated,
)
from nearfar.inference.curves.edges import Rise
from nearfar.inference.curves.entry import Size, plateaus, power_of_two, read_entry
from nearfar.inference.curves.group import LOADS, Curve
from nearfar.inference.curves.levels import Fit, Level, fit
from nearfar.inference.curves.order import Step, same_order
from nearfar.inference.curves.queues import unit_of_writes
from nearfar.inference.curves.repeated import repeated_findings
from nearfar.results.findings import Finding, Observation, identified, not_identifiable
from nearfar.results.wording import number, size

# Entry sizes that a walk is simulated with where the data do not tell: the shape hardly
# depends on them, and the interval covers all.
_UNKNOWN_ENTRIES = (128, 1024, 4096)
_OVERFLOWED = 8.0  # times the capacity: from here on nearly every touch misses
_FEWEST = 3  # points of a curve
_FITTING = 1 / 8
_VAGUE = 1.15  # an interval whose ends differ by more is no answer
_TELLING = 0.02  # a rise below this share of its plateau says little about where it begins


@dataclass(frozen=True)
class _Found:
    """One level: where its ramp is, what was fitted, and what else is known."""

    number: int
    rise: Rise
    level: Level
    entry: Size | None
    way: Way | None
    held: tuple[str, ...]
    step: Step | None
    reread: tuple[str, ...]


def buffer_findings(found: Sequence[Curve], rereads: Sequence[Observation]) -> list[Finding]:
    """Every level's findings; from re-reads alone, ways and policy."""
    loads = _load_curves(found)
    if not loads:
        return [*too_short(found), *_reread_findings(rereads)]
    curve = loads[0]
    if not curve.fresh:
        return repeated_findings(curve)
    edges, seen = curve.rises(), ascents(curve.region, curve.values, curve.timed)
    if any(not among(step, edges) for step in seen.sure):
        return repeated_findings(curve)  # too coarse to be fitted: its rises are all there is
    if not edges:
        return [nothing(curve, seen)]
    entries = _entries(found, loads, edges)
    whole = _fit(curve, edges, entries)
    steps = _steps(rereads)
    levels = []
    for at, (rise, level) in enumerate(zip(edges, whole.levels, strict=True)):
        level = _narrowed(level, loads[1:], rise, entries[at])
        step, ids = steps.get(at + 1, (None, ()))
        way, held = _way(found, curve, at)
        levels.append(_Found(at + 1, rise, level, entries[at], way, held, step, ids))
    findings = [count(curve, edges, whole)]
    for one in levels:
        findings += _level_findings(one, curve, whole)
    return [*findings, _memory_latency(curve, edges, whole)]


def _load_curves(found: Sequence[Curve]) -> list[Curve]:
    """Free walks of the fewest modules: the finest block first, the longest curve first."""
    loads = [c for c in found if c.op in LOADS and not c.held]
    fewest = min((c.modules or 1 for c in loads), default=1)
    chosen = [c for c in loads if (c.modules or 1) == fewest and len(c.region) >= _FEWEST]
    fresh = [c for c in chosen if c.fresh] or chosen
    return sorted(fresh, key=lambda c: (c.block, not c.timed, c.stride < c.block, -len(c.region)))


def _entries(
    found: Sequence[Curve], loads: Sequence[Curve], edges: Sequence[Rise]
) -> list[Size | None]:
    """The entry of each level, from blocks of several sizes at equal regions."""
    written = unit_of_writes(found)
    entries: list[Size | None] = []
    for at, rise in enumerate(edges):
        below = _OVERFLOWED * edges[at - 1].first if at else 0.0
        beyond = edges[at + 1].last if at + 1 < len(edges) else float("inf")
        levels = [
            plateaus(
                *(curve.region, curve.values, curve.block, curve.noise),
                (max(below, _FITTING * rise.last), rise.last),
                (_OVERFLOWED * rise.last, beyond),
            )
            for curve in loads
            if curve.unit == loads[0].unit
        ]
        read = read_entry([one for one in levels if one is not None])
        # What is written at a time is an entry of the nearest buffer, which is where parts
        # of it are put together.
        if at == 0 and written and (read is None or read.low < written.high < read.high * 1.1):
            read = written
        entries.append(read)
    return entries


def _whole(entry: Size | None) -> int | None:
    return power_of_two(entry.low, entry.high) if entry else None


def _fit(curve: Curve, edges: Sequence[Rise], entries: Sequence[Size | None]) -> Fit:
    """All levels at once; where an entry is unknown, for several, with the widest interval."""
    fits = []
    for unknown in _UNKNOWN_ENTRIES:
        # An entry is hardly smaller than those of the buffer before it.
        sizes = [max(_whole(entry) or unknown, _whole(entries[0]) or 0) for entry in entries]
        fits.append(fit(curve.region, curve.values, curve.block, edges, sizes))
        if all(_whole(entry) for entry in entries):
            break
    best = min(fits, key=lambda one: one.error)
    levels = tuple(
        replace(
            level,
            low=min(one.levels[at].low for one in fits),
            high=max(one.levels[at].high for one in fits),
            possible=tuple(
                policy
                for policy in level.errors
                if any(policy in one.levels[at].possible for one in fits)
            ),
        )
        for at, level in enumerate(best.levels)
    )
    latencies = tuple(
        replace(
            latency,
            low=min(one.latencies[at].low for one in fits),
            high=max(one.latencies[at].high for one in fits),
        )
        for at, latency in enumerate(best.latencies)
    )
    return replace(best, levels=levels, latencies=latencies)


def _narrowed(level: Level, others: Sequence[Curve], rise: Rise, entry: Size | None) -> Level:
    """The capacity's interval, cut to what larger blocks that still overflow it allow."""
    for curve in others:
        same = [
            one
            for one in curve.rises()
            if rise.last / 2 < one.last < 2 * rise.first and height(curve, one) > _TELLING
        ]
        size_ = _whole(entry)
        if len(same) != 1 or size_ is None or size_ < 2 * curve.block or not curve.fresh:
            continue
        other = fit(curve.region, curve.values, curve.block, same, [size_]).levels[0]
        low, high = max(level.low, other.low), min(level.high, other.high)
        if low <= high:
            inside = min(max(level.capacity, low), high)
            level = replace(level, low=low, high=high, capacity=inside)
    return level


def _way(found: Sequence[Curve], free: Curve, at: int) -> tuple[Way | None, tuple[str, ...]]:
    """The span of a way of level `at`, from the walks that hold one address bit."""
    walks = [c for c in found if c.op in LOADS and len(c.held) == 1]
    units = {c.unit for c in walks}
    unheld = [c for c in found if c.op in LOADS and not c.held and c.unit in units]
    if not unheld:
        return None, ()
    edges = (free if any(free is c for c in unheld) else unheld[0]).rises()
    if len(edges) <= at:
        return None, ()
    held: dict[int, Rise | None] = {}
    evidence: dict[int, tuple[str, ...]] = {}
    for curve in walks:
        moved = curve.rises()
        rise = moved[at] if len(moved) == len(edges) else None
        held[curve.held[0]] = rise
        evidence[curve.held[0]] = curve.evidence(rise.last, rise.first) if rise else ()
    way = way_span(edges[at], dict(sorted(held.items())))
    return way, tuple(one for bit in way.bits for one in evidence[bit]) if way else ()


def _steps(rereads: Sequence[Observation]) -> dict[int, tuple[Step | None, tuple[str, ...]]]:
    """The step of each level's re-reads."""
    levels: dict[int, list[Observation]] = {}
    for one in rereads:
        levels.setdefault(one.pattern["level"], []).append(one)
    found = {}
    for level, members in sorted(levels.items()):
        members = sorted(members, key=lambda one: one.pattern["blocks"])
        lost = [_lost(one) for one in members]
        step = same_order([one.pattern["blocks"] for one in members], lost)
        ids: tuple[str, ...] = ()
        if step is not None:
            near = [one for one in members if abs(one.pattern["blocks"] - step.ways) <= 4]
            ids = tuple(one.id for one in near)
        found[level] = (step, ids)
    return found


def _lost(one: Observation) -> float:
    counts = one.histogram or ()
    return sum(value * count for value, count in counts) / sum(count for _, count in counts)


def _level_findings(one: _Found, curve: Curve, whole: Fit) -> list[Finding]:
    prefix = f"buffer.{one.number}"
    evidence = curve.evidence(one.rise.last / 4, 4 * one.rise.first)
    together = (
        f"; over all {curve.modules} modules together, not divided"
        if (curve.modules or 1) > 1
        else ""
    )
    level = one.level
    entry = _whole(one.entry) or 0
    bounds = (level.low - entry, level.high + entry)  # whole entries: one either side
    capacity = power_of_two(*bounds)
    shown = capacity or round(level.capacity / 64) * 64
    rounded = "the power of two among them" if capacity else "the best fit"
    off = level.errors[level.policy]
    told = (
        f"first rise between {size(int(one.rise.last))} and {size(int(one.rise.first))}; "
        f"the simulated walk fits {size(round(level.low))} to {size(round(level.high))} "
        f"({100 * off:.1f} % off, best {size(round(level.capacity))}); "
    )
    doubt = translated(curve, one.rise)
    if slopes(curve):
        doubt = "a straight line over the logarithm of the region explains the curve as well"
    if off > allowed(curve) or doubt is not None:
        far = "so far off that this is no buffer that is walked so, or not one alone"
        why = told + (doubt or far)
        unserved = "no buffer is certain to serve these reads"
        wide = (
            min(bounds[0], one.rise.last / 2),
            max(bounds[1], float(curve.region[one.rise.end])),
        )
        return [
            not_identifiable(f"{prefix}.capacity", why, evidence, wide),
            not_identifiable(f"{prefix}.latency", unserved, evidence),
        ]
    findings = [
        identified(
            f"{prefix}.capacity",
            shown,
            f"{told}{rounded}{together}",
            evidence,
            (min(bounds[0], shown), max(bounds[1], shown)),
        )
    ]
    findings += _geometry(prefix, one, shown, evidence)
    findings.append(_policy(prefix, one, evidence))
    findings.append(_latency(f"{prefix}.latency", curve, whole, one.number - 1, evidence))
    return findings


def _geometry(prefix: str, one: _Found, capacity: int, evidence: Sequence[str]) -> list[Finding]:
    """Entry, entries, ways and sets."""
    entry = _whole(one.entry)
    name = f"{prefix}.entry"
    if one.entry is None:
        reason = "needs curves of several block sizes, some as large as an entry"
        findings = [not_identifiable(name, reason, ())]
    elif entry is None:
        reason = (
            f"above {number(one.entry.low)} B and at most {number(one.entry.high)} B: "
            "needs block sizes in between, or stores of them"
        )
        bounds = (one.entry.low, one.entry.high)
        findings = [not_identifiable(name, reason, evidence, bounds)]
    else:
        reason = (
            f"what overflowing costs falls with the block size as for {number(one.entry.low)} to "
            f"{number(one.entry.high)} B; the power of two among them"
        )
        bounds = (min(one.entry.low, entry), max(one.entry.high, entry))
        findings = [identified(name, entry, reason, evidence, bounds)]
    if entry is None:
        reason = "the entry size is not known"
        return [
            *findings,
            not_identifiable(f"{prefix}.entries", reason, ()),
            *_ways(prefix, one, capacity, None),
        ]
    low, high = one.level.low / entry - 1, one.level.high / entry + 1
    entries = capacity // entry
    if one.step is not None and one.step.low == one.step.high == entries:
        low = high = float(entries)
    findings.append(
        identified(
            f"{prefix}.entries",
            entries,
            "capacity over entry",
            evidence,
            (min(low, entries), max(high, entries)),
        )
    )
    return [*findings, *_ways(prefix, one, capacity, entries)]


def _ways(prefix: str, one: _Found, capacity: int, entries: int | None) -> list[Finding]:
    """From held address bits, or from a re-read that lost everything at once."""
    names = (f"{prefix}.ways", f"{prefix}.sets")
    ways: int | None = None
    reason, evidence = "", one.reread
    if one.way is not None and one.way.exact:
        evidence = one.held
        ways = capacity // one.way.span
        reason = f"holding any address bit below {size(one.way.span)} halves the edge, none above"
    elif one.way is not None and entries is not None and one.way.span <= capacity // entries:
        evidence = one.held
        ways = entries
        reason = f"no held address bit from {one.way.span} B on moves the edge: one set"
    elif one.step is not None:
        ways = one.step.ways
        reason = f"re-read in the same order, {ways} blocks stay and {ways + 1} do not"
    if not ways:
        why = "needs walks with address bits held, or at strides from one entry to the capacity"
        return [not_identifiable(name, why, ()) for name in names]
    bounds = (float(ways), float(ways))
    found = [identified(names[0], ways, reason, evidence, bounds)]
    if entries is not None and entries % ways == 0:
        found.append(identified(names[1], entries // ways, "entries over ways", evidence))
    else:
        found.append(not_identifiable(names[1], "the number of entries is not known", ()))
    return found


def _policy(prefix: str, one: _Found, evidence: Sequence[str]) -> Finding:
    name = f"{prefix}.policy"
    level = one.level
    possible = set(level.possible)
    if one.step is not None:
        possible -= {"fifo", "lru"} if one.step.random else {"random"}
    errors = ", ".join(f"{policy} {100 * off:.1f} %" for policy, off in level.errors.items())
    if len(possible) == 1:
        (policy,) = possible
        return identified(name, policy, f"rms error of the fit: {errors}", evidence)
    left = " or ".join(sorted(possible)) or "none of fifo, lru, random"
    reason = f"{left} (rms error of the fit: {errors}); needs re-reads in two orders"
    return not_identifiable(name, reason, (*evidence, *one.reread))


def _latency(name: str, curve: Curve, whole: Fit, depth: int, evidence: Sequence[str]) -> Finding:
    if not curve.timed:
        return not_identifiable(name, "the clock is not stated: cycles cannot be turned to ns", ())
    value = whole.latencies[depth]
    if whole.error > allowed(curve) or value.low <= 0:
        why = f"the fitted levels miss the curve by {100 * whole.error:.1f} %"
        return not_identifiable(name, why, evidence)
    if value.high > _VAGUE * value.low:
        reason = "how often a line hits before it depends on the entry sizes, which are not known"
        return not_identifiable(name, reason, evidence, (value.low, value.high))
    reason = (
        "from the fit: what is left of a line's time when its hits are counted by the simulated "
        "walk; address translation included"
    )
    return identified(name, round(value.value, 2), reason, evidence, (value.low, value.high))


def _memory_latency(curve: Curve, edges: Sequence[Rise], whole: Fit) -> Finding:
    evidence = curve.evidence(edges[-1].first, float("inf"))
    if slopes(curve) or translated(curve, edges[-1]) is not None:
        why = "no buffer is certain to end before"
        return not_identifiable("memory.latency", why, evidence)
    return _latency("memory.latency", curve, whole, len(edges), evidence)


def _reread_findings(rereads: Sequence[Observation]) -> list[Finding]:
    """Ways and policy where re-reads are all there is."""
    findings = []
    for level, (step, ids) in _steps(rereads).items():
        prefix = f"buffer.{level}"
        if step is None:
            every = tuple(one.id for one in rereads if one.pattern["level"] == level)
            reason = "no number of blocks at which the re-read begins to miss"
            findings.append(not_identifiable(f"{prefix}.ways", reason, every))
            continue
        bounds = (float(step.low), float(step.high))
        about = f"re-read in the same order, {step.ways} blocks stay and {step.ways + 1} do not"
        findings.append(identified(f"{prefix}.ways", step.ways, about, ids, bounds))
        if step.random:
            why = "losses grow slowly beyond the ways"
            findings.append(identified(f"{prefix}.policy", "random", why, ids))
        else:
            why = "not random: everything is lost at once; fifo and lru do the same in this order"
            findings.append(not_identifiable(f"{prefix}.policy", why, ids))
    return findings
