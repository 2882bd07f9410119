"""Observations as figures: what was varied along the axis, what was measured up it.

Experiments of one kind that differ in one parameter make one picture. Those that a figure
has no place for are still in the table of observations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from nearfar.report.figure import Figure, Line, Mark, Spot
from nearfar.results import Finding, Histogram, Observation
from nearfar.results.findings import IDENTIFIED
from nearfar.results.wording import number, size

_MOST_SPOTS = 1500  # of one line: more would only be a thicker one
_MOST_LINES = 6


def figures(
    observations: Sequence[Observation], findings: Sequence[Finding], prefix: str = ""
) -> list[Figure]:
    """Every picture, in the order of the observations; ids begin with `prefix`."""
    groups: dict[str, list[Observation]] = {}
    for one in observations:
        groups.setdefault(_kind(one), []).append(one)
    marks = _Marks(findings)
    drawn: list[Figure] = []
    for kind, members in groups.items():
        draw = _DRAWN.get(kind.split(" ")[0], _anything)
        drawn += [one for one in draw(members, marks) if one.points]
    for at, figure in enumerate(drawn):
        figure.name = f"{prefix}figure-{at}"
    return drawn


def places(drawn: Iterable[Figure]) -> dict[str, str]:
    """The figure of each observation that one shows."""
    return {one: figure.name for figure in drawn for one in figure.shows}


class _Marks:
    """Findings as places on axes."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        self._known = {
            one.name: float(one.value)
            for one in findings
            if one.status == IDENTIFIED and isinstance(one.value, (int, float))
        }

    def of(self, ending: str) -> list[Mark]:
        """Those whose name ends so, such as every level's capacity."""
        return [Mark(at, name) for name, at in self._known.items() if name.endswith(ending)]

    def lines(self, *names: str) -> list[Mark]:
        return [Mark(self._known[name], name) for name in names if name in self._known]


def _kind(one: Observation) -> str:
    """The experiment's kind, apart by prober."""
    kind = str(one.pattern.get("kind", "?"))
    order = one.pattern.get("order")
    if isinstance(order, Mapping):
        return f"{kind}:{order.get('kind')} {one.prober} {one.pattern.get('pages', '')}"
    return kind


def _params(one: Observation) -> Mapping[str, Any]:
    found = one.pattern.get("order")
    return found.get("params", {}) if isinstance(found, Mapping) else one.pattern


# Curves over the region


def _chases(members: Sequence[Observation], marks: _Marks) -> list[Figure]:
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
        for start in range(0, len(names), _MOST_LINES):
            chosen = {name: found[name] for name in names[start : start + _MOST_LINES]}
            drawn.append(_regions(title, unit, chosen, marks if load else None))
    return drawn


def _bits(held: Sequence[int]) -> str:
    return str(held[0]) if len(held) == 1 else f"{held[0]}-{held[-1]}"


def _regions(
    title: str, unit: str, found: Mapping[str, list[Observation]], marks: _Marks | None
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


def _walks(members: Sequence[Observation], marks: _Marks) -> list[Figure]:
    """Walks again and again through a region: the slowest place, and the median."""
    repeated = [one for one in members if one.positions and _params(one).get("passes", 2) > 1]
    ordered = sorted(repeated, key=lambda one: _params(one)["region"])
    worst: list[Spot] = []
    middle: list[Spot] = []
    for one in ordered:
        region = _params(one)["region"]
        rows = [("observation", one.id), ("stride", size(_params(one)["stride"]))]
        label = f"region {size(region)}"
        for line, name, share in ((worst, "slowest place", 1.0), (middle, "median", 0.5)):
            value = _quantile(one.positions or (), share)
            line.append(Spot(region, value, label, ((name, f"{number(value)} ns"), *rows)))
    return [
        Figure(
            *("", "Regions walked again and again", "region", "B", "ns a load"),
            [Line("slowest place", worst), Line("median place", middle)],
            [one.id for one in repeated],
            "A region that fits a level has no place that anything deeper serves.",
            columns=marks.of(".capacity"),
            levels=marks.of(".latency"),
        )
    ]


def _quantile(histogram: Histogram, share: float) -> float:
    """The value that `share` of the counts do not exceed."""
    total = sum(count for _, count in histogram)
    seen = 0.0
    for value, count in histogram:
        seen += count
        if seen >= share * total:
            return float(value)
    return float(histogram[-1][0]) if histogram else 0.0


# Experiments whose order says what each sample was


def _pairs(members: Sequence[Observation], marks: _Marks) -> list[Figure]:
    """The second of two touches over their distance."""
    from nearfar.infer.orders import pair_distances

    lines = []
    shows = []
    for one in members:
        if one.samples is None or _params(one).get("store"):
            continue
        spots = [
            Spot(
                float(distance) or _SAME_PLACE,
                ns,
                f"{size(int(distance))} beyond" if distance else "the same line",
                (("second read", f"{number(ns)} ns"), ("observation", one.id)),
            )
            for distance, ns in zip(
                pair_distances(one.pattern["order"]), one.samples[1::2], strict=True
            )
        ]
        lines.append(Line(one.id, spots, joined=False))
        shows.append(one.id)
    return [
        Figure(
            *("", "Read a fresh place, then one at a distance", "distance", "B"),
            *("ns, second read", lines[:_MOST_LINES], shows),
            "The second read is fast where both lie in one entry; the same line stands at 32 B.",
            columns=marks.of(".entry"),
            levels=marks.of(".latency"),
        )
    ]


_SAME_PLACE = 32.0  # where distance 0 stands on a logarithmic axis


def _crowds(members: Sequence[Observation], marks: _Marks) -> list[Figure]:
    """A store beyond a crowd of stores, over its distance."""
    from nearfar.infer.orders import crowd_distances

    lines = []
    for one in members:
        if one.samples is None:
            continue
        at, distances = crowd_distances(one.pattern["order"])
        spots = [
            Spot(
                float(distance),
                one.samples[int(place)],
                f"{size(int(distance))} away",
                (("store", f"{number(one.samples[int(place)])} ns"), ("observation", one.id)),
            )
            for place, distance in zip(at, distances, strict=True)
        ]
        spots = sorted(spots, key=lambda spot: spot.x)
        lines.append(Line(one.id, _thin(spots), joined=False))
    return [
        Figure(
            *("", "A store at a distance from a busy module", "distance", "B", "ns to accept"),
            *(lines, [one.id for one in members]),
            "A store to another module does not wait.",
            log_x=False,
            columns=marks.of("interleave"),
        )
    ]


def _backlogs(members: Sequence[Observation], marks: _Marks) -> list[Figure]:
    spots = [
        Spot(
            _params(one)["back"] + 1,
            one.samples[0],
            f"the line stored {_params(one)['back']} stores before the last",
            (("load", f"{number(one.samples[0])} ns"), ("observation", one.id)),
        )
        for one in members
        if one.samples
    ]
    return [
        Figure(
            *("", "Load a line that was just stored", "stores back, the last is 1", "", "ns"),
            [Line("load", sorted(spots, key=lambda spot: spot.x))],
            [one.id for one in members],
            "What waits in the controller's queue is answered by the controller.",
            log_x=False,
            log_y=False,
            columns=marks.lines("wpq.lines"),
        )
    ]


def _series(members: Sequence[Observation], marks: _Marks) -> list[Figure]:  # noqa: ARG001
    """Every sample in its order."""
    drawn = []
    for one in members:
        if not one.samples:
            continue
        spots = [
            Spot(at, ns, f"access {at}", (("time", f"{number(ns)} ns"), ("observation", one.id)))
            for at, ns in enumerate(one.samples)
        ]
        params = _params(one)
        if "lead" in params:
            title = f"{params['lead']} stores to new blocks, then {params['same']} to one line"
        else:
            title = f"Times in their order, {_about(one)}"
        drawn.append(
            Figure(
                *("", title, "access", "", "ns", [Line(one.id, _thin(spots), joined=False)]),
                *([one.id], ""),
                log_x=False,
                log_y=False,
            )
        )
    return drawn


def _rests(members: Sequence[Observation], marks: _Marks) -> list[Figure]:
    lines = [
        Line(
            {"none": "no fence"}.get(_params(one)["fence"], _params(one)["fence"]),
            [
                Spot(
                    at + 1,
                    ns,
                    f"{_params(one)['fence']}, line {at + 1}",
                    (("load", f"{number(ns)} ns"), ("observation", one.id)),
                )
                for at, ns in enumerate(one.samples or ())
            ],
        )
        for one in members
    ]
    return [
        Figure(
            *("", "Store, fence, rest, load again", "line", "", "ns", lines),
            [one.id for one in members],
            "Lines that a fence sent on are served by the buffer behind the queue.",
            log_x=False,
            log_y=False,
            levels=marks.of(".latency"),
        )
    ]


# Overwrites


def _overwrites(members: Sequence[Observation], marks: _Marks) -> list[Figure]:
    """Slow writes over their number; lengths and gaps alone as distributions."""
    drawn = []
    for one in members:
        quantity = one.pattern.get("quantity")
        if quantity:
            drawn.append(_distribution([one], f"Wear-levelling {quantity}s", marks))
            continue
        events = one.events or [
            (at, ns) for at, ns in enumerate(one.samples or ()) if ns > _slow(one.samples or ())
        ]
        drawn.append(_slow_writes([(one, events)], marks))
    return drawn


def _slow(samples: Sequence[float]) -> float:
    return 20 * sorted(samples)[len(samples) // 2]


def _hammers(members: Sequence[Observation], marks: _Marks) -> list[Figure]:
    return [_slow_writes([(one, one.events or ())], marks) for one in members if one.events]


def _slow_writes(
    found: Sequence[tuple[Observation, Sequence[Sequence[float]]]], marks: _Marks
) -> Figure:
    lines = []
    title = "Writes to one line"
    for one, events in found:
        distance = _params(one).get("distance")
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
        lines.append(Line(one.id, _thin(spots), joined=False))
    return Figure(
        *("", title, "write", "", "ns", lines, [one.id for one, _ in found]),
        log_x=False,
        levels=marks.lines("migration.stall"),
    )


# Anything else


def _anything(members: Sequence[Observation], marks: _Marks) -> list[Figure]:
    """Over the parameter that was varied, if there is one; else as distributions."""
    varied = _varied(members)
    if varied and any(_height(one) is not None for one in members):
        return [_over(members, varied)]
    return [
        _distribution(members[start : start + _MOST_LINES], f"Times, {_about(members[0])}", marks)
        for start in range(0, len(members), _MOST_LINES)
    ]


def _varied(members: Sequence[Observation]) -> str | None:
    """The numeric parameter with most different values, at least three."""
    values: dict[str, set[float]] = {}
    for one in members:
        for name, value in _params(one).items():
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                values.setdefault(name, set()).add(float(value))
    names = sorted(values, key=lambda name: len(values[name]))
    return names[-1] if names and len(values[names[-1]]) >= 3 else None


def _height(one: Observation) -> float | None:
    if one.ns_per_access is not None:
        return one.ns_per_access
    if one.samples:
        return sorted(one.samples)[len(one.samples) // 2]
    return _quantile(one.histogram, 0.5) if one.histogram else None


def _over(members: Sequence[Observation], varied: str) -> Figure:
    """One line for each combination of the other parameters."""
    lines: dict[str, list[Spot]] = {}
    for one in members:
        height = _height(one)
        if height is None:
            continue
        rest = {
            name: value
            for name, value in _params(one).items()
            if name not in (varied, "seed", "base") and isinstance(value, (int, str))
        }
        differs = ", ".join(f"{name} {_value(name, value)}" for name, value in rest.items())
        x = _params(one)[varied]
        low, high = one.interval or (None, None)
        rows = (("median", f"{number(height)} ns"), ("observation", one.id))
        spot = Spot(max(float(x), 0.5), height, f"{varied} {_value(varied, x)}", rows, low, high)
        lines.setdefault(differs or "all", []).append(spot)
    chosen = sorted(lines.items(), key=lambda item: -len(item[1]))[:_MOST_LINES]
    positive = all(spot.x > 0 for _, spots in chosen for spot in spots)
    return Figure(
        *("", _title(members[0]), _axis(varied), _unit(varied), "ns"),
        [Line(name, sorted(spots, key=lambda spot: spot.x)) for name, spots in chosen],
        [one.id for one in members],
        log_x=positive,
    )


_SIZES = ("region", "stride", "distance", "spacing", "window", "area", "block", "step")


def _unit(name: str) -> str:
    return "B" if name.removesuffix("_bytes") in _SIZES else ""


def _value(name: str, value: Any) -> str:
    if isinstance(value, (int, float)):
        return size(round(value)) if _unit(name) else number(value)
    return str(value)


def _axis(name: str) -> str:
    return name.removesuffix("_bytes").replace("_", " ")


def _title(one: Observation) -> str:
    pages = one.pattern.get("pages")
    where = f" on pages of {pages}" if pages else ""
    return f"{_about(one).capitalize()}{where}"


def _about(one: Observation) -> str:
    order = one.pattern.get("order")
    kind = order.get("kind") if isinstance(order, Mapping) else one.pattern.get("kind")
    return f"{one.prober}: {_ABOUT.get(str(kind), str(kind))}"


_ABOUT = {
    "mix": "random lines of random entries",
    "dense": "a chain through all lines",
    "windows": "a chain, window by window",
    "strided": "a chain of conflicting lines",
    "pages": "one line a page",
    "twins": "a line, then one at a distance",
    "visits": "several visits to conflicting lines",
}


def _distribution(members: Sequence[Observation], title: str, marks: _Marks) -> Figure:
    """How much took no longer than that."""
    lines = []
    unit = str(members[0].pattern.get("unit", "ns"))
    for one in members:
        counts = one.histogram or [(value, 1) for value in sorted(one.samples or ())]
        total = sum(count for _, count in counts)
        seen, spots = 0.0, []
        for value, count in counts:
            seen += count
            rows = (("no longer", f"{100 * seen / total:.1f} %"), ("observation", one.id))
            spots.append(Spot(value, 100 * seen / total, f"{number(value)} {unit}", rows))
        lines.append(Line(one.id, _thin(spots)))
    return Figure(
        *("", title, unit, "", "% no longer", lines, [one.id for one in members]),
        log_y=False,
        columns=marks.of(".latency") if unit == "ns" else (),
    )


def _rereads(members: Sequence[Observation], marks: _Marks) -> list[Figure]:
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


def _thin(spots: Sequence[Spot]) -> Sequence[Spot]:
    """Evenly chosen ones where there are too many to be seen."""
    step = -(-len(spots) // _MOST_SPOTS)
    return spots[::step]


_Draw = Callable[[Sequence[Observation], _Marks], list[Figure]]
_DRAWN: Mapping[str, _Draw] = {
    "chase": _chases,
    "overwrite": _overwrites,
    "reread": _rereads,
    "sequence:walk": _walks,
    "sequence:pairs": _pairs,
    "sequence:crowd": _crowds,
    "sequence:backlog": _backlogs,
    "sequence:stumble": _series,
    "sequence:rest": _rests,
    "sequence:hammer": _hammers,
}
