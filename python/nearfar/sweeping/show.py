"""A study read back from its store, as a result that is shown, saved and compared."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from nearfar.errors import InputError, suggestion
from nearfar.results import Sensitivity, SweepPoint, SweepResult
from nearfar.results.sweep import DONE, FAILED, MISSING
from nearfar.sweeping.designs import parse_design
from nearfar.sweeping.figures import figures as figures_of
from nearfar.sweeping.points import Point
from nearfar.sweeping.sensitivity import sensitivity
from nearfar.sweeping.store import Store, Stored, StoredStudy
from nearfar.sweeping.study import SEED

SHORTEST = 6  # digits of an address


def read_sweep(
    store: str | Path, study: str | None = None, figures: Sequence[str] = (), *, whole: bool = False
) -> SweepResult:
    """A study of a store, by its name where there are several, with every point in its order.

    `figures` are shown instead of the study's own; with `whole` each point has its full result.
    Raises InputError, also for a figure that no point has.
    """
    with Store(store, new=False) as opened:
        stored = opened.study(study)
        rows = opened.find(point.hash for point in stored.points)
        asked = tuple(figures or stored.definition["figures"])
        points = [_shown(opened, one, rows.get(one.hash), asked, whole) for one in stored.points]
    names = _expanded(asked, points) or _short(stored, rows)
    keys = _keys(stored)
    return SweepResult(
        study=stored.name,
        store=str(store),
        version=stored.version,
        targets=tuple(stored.definition["targets"]),
        works=tuple(stored.definition["works"]),
        keys=keys,
        figures=names,
        points=tuple(points),
        ranges=stored.definition["ranges"],
        description=stored.definition["description"],
        design=stored.definition["design"],
        goal=(stored.definition["goal"] or [None])[0],
        sensitivity=tuple(_sensitivity(stored, keys, points, names)),
    )


def relative(result: SweepResult, key: str, value: str) -> SweepResult:
    """Each shown figure over that of the point with `key` = `value` and all else alike, where both
    are there. Raises InputError for what the study does not vary."""
    if key not in result.keys:
        known = ", ".join(result.keys) or "none"
        hint = suggestion(key, result.keys)
        raise InputError(f"over: found '{key}', which does not vary, expected one of {known}{hint}")
    bases = {_beside(point, key): point for point in result.points if point.settings[key] == value}
    if not bases:
        values = dict.fromkeys(point.settings[key] for point in result.points)
        hint = suggestion(value, values)
        raise InputError(f"over: found {key}={value}, expected one of {', '.join(values)}{hint}")
    points = [
        replace(point, figures=_ratios(result, point, bases.get(_beside(point, key))))
        for point in result.points
    ]
    return replace(result, points=tuple(points))


def _ratios(result: SweepResult, point: SweepPoint, base: SweepPoint | None) -> dict[str, float]:
    below = {} if base is None else base.figures
    return {
        name: point.figures[name] / below[name]
        for name in result.figures
        if name in point.figures and below.get(name)
    }


def _beside(point: SweepPoint, key: str) -> tuple[object, ...]:
    """What a point has in common with those that differ in `key` alone."""
    work = point.work.replace(point.settings[key], "{}")
    return point.target, work, *(pair for pair in point.settings.items() if pair[0] != key)


def read_result(store: str | Path, address: str) -> str:
    """The full result of a point as JSON text, by the beginning of its address."""
    if len(address) < SHORTEST:
        raise InputError(f"point: found '{address}', expected {SHORTEST} digits or more")
    with Store(store, new=False) as opened:
        names = {one.hash for name in opened.studies() for one in opened.study(name).points}
        found = sorted(name for name in names if name.startswith(address))
        if len(found) != 1:
            raise InputError(f"{store}: found {len(found)} points {address}, expected one")
        row = opened.find(found).get(found[0])
        if row is None or not row.result:
            raise InputError(f"{store}: point {address} has no result")
        return opened.result_file(found[0]).read_text(encoding="utf-8")


def _shown(
    store: Store, point: Point, row: Stored | None, wanted: Sequence[str], whole: bool
) -> SweepPoint:
    if row is None:
        return SweepPoint(point.hash, point.target, point.work, point.row, MISSING)
    figures = dict(row.figures)
    document: Any = None
    if row.result and (whole or any(not _has(figures, name) for name in wanted)):
        document = json.loads(store.result_file(point.hash).read_text(encoding="utf-8"))
        if not row.error:
            figures = figures_of(document, [*wanted, *row.short])
    state = FAILED if row.error else DONE
    result = document if whole else None
    return SweepPoint(
        point.hash, point.target, point.work, point.row, state, row.error, figures, result
    )


def _has(figures: dict[str, float], name: str) -> bool:
    return name in figures or any(key.startswith(f"{name}[") for key in figures)


def _expanded(asked: Sequence[str], points: Sequence[SweepPoint]) -> tuple[str, ...]:
    """The names of figures: a field of several points stands for one each."""
    known = dict.fromkeys(name for point in points for name in point.figures)
    names: dict[str, None] = {}
    for one in asked:
        found = [name for name in known if name == one or name.startswith(f"{one}[")]
        if not found and known:
            short = {name.partition("[")[0] for name in known}
            raise InputError(
                f"figure: found '{one}', which no point has, expected one of "
                f"{', '.join(sorted(short))} or a path into the result{suggestion(one, short)}"
            )
        names |= dict.fromkeys(found)
    return tuple(names)


def _short(stored: StoredStudy, rows: dict[str, Stored]) -> tuple[str, ...]:
    """The few figures of each work, where the study names none."""
    found = (rows[point.hash].short for point in stored.points if point.hash in rows)
    return tuple(dict.fromkeys(name for names in found for name in names))


def _keys(stored: StoredStudy) -> tuple[str, ...]:
    keys = [*stored.definition["ranges"]]
    return tuple([*keys, SEED] if stored.definition["seeds"] and SEED not in keys else keys)


def _sensitivity(
    stored: StoredStudy, keys: Sequence[str], points: Sequence[SweepPoint], names: Sequence[str]
) -> Iterator[Sensitivity]:
    """Of each figure, by the design; nothing of a grid, or while points are missing."""
    if stored.definition["design"] is None or any(point.state != DONE for point in points):
        return
    design = parse_design(stored.definition["design"])
    seed = stored.definition["design_seed"]
    varied = [key for key in keys if key != SEED]
    # Points of one target, work and seed lie apart; each such strand is a whole design.
    strands = len(stored.definition["targets"]) * len(stored.definition["works"])
    strands *= len(stored.definition["seeds"]) or 1
    for strand in range(strands):
        part = points[strand::strands]
        of = _strand(stored, part[0]) if strands > 1 else ""
        for name in names:
            if all(name in point.figures for point in part):
                yield from sensitivity(design, seed, varied, part, name, of)


def _strand(stored: StoredStudy, point: SweepPoint) -> str:
    """What tells a strand from the others."""
    told = [
        point.target if len(stored.definition["targets"]) > 1 else "",
        point.work if len(stored.definition["works"]) > 1 else "",
        f"seed {point.settings[SEED]}" if stored.definition["seeds"] else "",
    ]
    return ", ".join(filter(None, told))
