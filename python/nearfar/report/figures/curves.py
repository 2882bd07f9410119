"""Figures of curves over regions, of re-reads and of overwrites: what tables hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nearfar.report.figures.any import distribution
from nearfar.report.figures.figure import Figure, Line, Spot
from nearfar.report.figures.tools import MOST_LINES, Marks, params, thin
from nearfar.results import Histogram, Observation
from nearfar.results.wording import number, size


def chases(members: Sequence[Observation], marks: Marks) -> list[Figure]:
    """Loads and stores apart, walks with address bits held apart, one line a block size."""
    pictures: dict[tuple[Any, ...], dict[str, list[Observation]]] = {}
    for one in members:
        pattern = one.pattern
        load = pattern["op"] in ("load", "ntload")
        unit, modules = pattern.get("unit", "ns"), pattern.get("modules")
        held = pattern.get("held_bits")
        key = (load, unit, bool(held), modules)
        line = f"bits {_bits(held)}" if held else f"{size(pattern['block_bytes'])} blocks"
        line += "" if pattern["op"] in ("ntload", "ntstore") else f", {pattern['op']}"
        pictures.setdefault(key, {}).setdefault(line, []).append(one)
    drawn = []
    for (load, unit, held, modules), found in pictures.items():
        title = ("Loads" if load else "Stores") + (" with address bits held" if held else "")
        title += f", {modules} module{'s' if modules > 1 else ''}" if modules else ""
        names = list(found)
        for start in range(0, len(names), MOST_LINES):
            chosen = {name: found[name] for name in names[start : start + MOST_LINES]}
            drawn.append(_regions(title, unit, chosen, marks if load else None))
    return drawn


def _bits(held: Sequence[int]) -> str:
    return str(held[0]) if len(held) == 1 else f"{held[0]}-{held[-1]}"


def _regions(
    title: str, unit: str, found: Mapping[str, list[Observation]], marks: Marks | None
) -> Figure:
    lines = []
    for name, members in found.items():
        ordered = sorted(members, key=lambda one: one.pattern["region_bytes"])
        lines.append(Line(name, [_region_spot(one, unit) for one in ordered]))
    shows = [one.id for members in found.values() for one in members]
    columns = marks.of(".capacity") if marks else ()
    return Figure("", title, "region", "B", f"{unit} a line", lines, shows, columns=columns)


def _region_spot(one: Observation, unit: str) -> Spot:
    region = one.pattern["region_bytes"]
    low, high = one.interval or (None, None)
    value = one.ns_per_access or 0.0
    rows = (("time", f"{number(value)} {unit}"), ("observation", one.id))
    return Spot(region, value, f"region {size(region)}", rows, low, high)


def rereads(members: Sequence[Observation], marks: Marks) -> list[Figure]:
    """Share evicted over the number of blocks, one line a level."""
    levels: dict[int, list[Observation]] = {}
    for one in members:
        levels.setdefault(one.pattern["level"], []).append(one)
    lines = []
    for level, found in sorted(levels.items()):
        spots = [
            Spot(
                one.pattern["blocks"],
                100 * _mean(one.histogram or ()),
                f"{one.pattern['blocks']} blocks",
                (
                    ("evicted", f"{100 * _mean(one.histogram or ()):.1f} %"),
                    ("observation", one.id),
                ),
            )
            for one in sorted(found, key=lambda one: one.pattern["blocks"])
        ]
        lines.append(Line(f"buffer {level}", spots))
    return [
        Figure(
            *("", "Read again in the same order", "blocks", "", "% evicted", lines),
            [one.id for one in members],
            log_y=False,
            columns=marks.of(".ways"),
        )
    ]


def _mean(histogram: Histogram) -> float:
    total = sum(count for _, count in histogram)
    return sum(value * count for value, count in histogram) / total if total else 0.0


def overwrites(members: Sequence[Observation], marks: Marks) -> list[Figure]:
    """Slow writes over their number; lengths and gaps alone as distributions."""
    drawn = []
    for one in members:
        quantity = one.pattern.get("quantity")
        if quantity:
            drawn.append(distribution([one], f"Wear-levelling {quantity}s", marks))
            continue
        events = one.events or [
            (at, ns) for at, ns in enumerate(one.samples or ()) if ns > _slow(one.samples or ())
        ]
        drawn.append(slow_writes([(one, events)], marks))
    return drawn


def _slow(samples: Sequence[float]) -> float:
    return 20 * sorted(samples)[len(samples) // 2]


def slow_writes(
    found: Sequence[tuple[Observation, Sequence[Sequence[float]]]], marks: Marks
) -> Figure:
    lines = []
    title = "Writes to one line"
    for one, events in found:
        distance = params(one).get("distance")
        if distance:
            title = f"Writes to two lines, {size(distance)} apart"
        spots = [
            Spot(
                at,
                ns,
                f"write {number(at)}",
                (("took", f"{number(ns)} ns"), ("observation", one.id)),
            )
            for at, ns in events
        ]
        lines.append(Line(one.id, thin(spots), joined=False))
    return Figure(
        *("", title, "write", "", "ns", lines, [one.id for one, _ in found]),
        log_x=False,
        levels=marks.lines("migration.stall"),
    )
