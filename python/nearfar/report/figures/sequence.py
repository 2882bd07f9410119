"""Figures of single accesses played in an order: what probes of a model make."""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.report.figures.any import about
from nearfar.report.figures.curves import slow_writes
from nearfar.report.figures.figure import Figure, Line, Spot
from nearfar.report.figures.tools import MOST_LINES, Marks, params, quantile, thin
from nearfar.results import Observation
from nearfar.results.wording import number, size


def _walks(members: Sequence[Observation], marks: Marks) -> list[Figure]:
    """Walks again and again through a region: the slowest place, and the median."""
    repeated = [one for one in members if one.positions and params(one).get("steady", 2) > 1]
    ordered = sorted(repeated, key=lambda one: params(one)["region"])
    worst: list[Spot] = []
    middle: list[Spot] = []
    for one in ordered:
        region = params(one)["region"]
        rows = [("observation", one.id), ("stride", size(params(one)["stride"]))]
        label = f"region {size(region)}"
        for line, name, share in ((worst, "slowest place", 1.0), (middle, "median", 0.5)):
            value = quantile(one.positions or (), share)
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


def _pairs(members: Sequence[Observation], marks: Marks) -> list[Figure]:
    """The second of two touches over their distance."""
    from nearfar.inference.orders import pair_distances

    lines = []
    shows = []
    for one in members:
        if one.samples is None or params(one).get("store"):
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
            *("ns, second read", lines[:MOST_LINES], shows),
            "The second read is fast where both lie in one entry; the same line stands at 32 B.",
            columns=marks.of(".entry"),
            levels=marks.of(".latency"),
        )
    ]


_SAME_PLACE = 32.0  # where distance 0 stands on a logarithmic axis


def _crowds(members: Sequence[Observation], marks: Marks) -> list[Figure]:
    """A store beyond a crowd of stores, over its distance."""
    from nearfar.inference.orders import crowd_distances

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
        lines.append(Line(one.id, thin(spots), joined=False))
    return [
        Figure(
            *("", "A store at a distance from a busy module", "distance", "B", "ns to accept"),
            *(lines, [one.id for one in members]),
            "A store to another module does not wait.",
            log_x=False,
            columns=marks.of("interleave"),
        )
    ]


def _backlogs(members: Sequence[Observation], marks: Marks) -> list[Figure]:
    spots = [
        Spot(
            params(one)["back"] + 1,
            one.samples[0],
            f"the line stored {params(one)['back']} stores before the last",
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


def _series(members: Sequence[Observation], marks: Marks) -> list[Figure]:  # noqa: ARG001
    """Every sample in its order."""
    drawn = []
    for one in members:
        if not one.samples:
            continue
        spots = [
            Spot(at, ns, f"access {at}", (("time", f"{number(ns)} ns"), ("observation", one.id)))
            for at, ns in enumerate(one.samples)
        ]
        played = params(one)
        if "lead" in played:
            title = f"{played['lead']} stores to new blocks, then {played['same']} to one line"
        else:
            title = f"Times in their order, {about(one)}"
        drawn.append(
            Figure(
                *("", title, "access", "", "ns", [Line(one.id, thin(spots), joined=False)]),
                *([one.id], ""),
                log_x=False,
                log_y=False,
            )
        )
    return drawn


def _rests(members: Sequence[Observation], marks: Marks) -> list[Figure]:
    lines = [
        Line(
            {"none": "no fence"}.get(params(one)["fence"], params(one)["fence"]),
            [
                Spot(
                    at + 1,
                    ns,
                    f"{params(one)['fence']}, line {at + 1}",
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


def _hammers(members: Sequence[Observation], marks: Marks) -> list[Figure]:
    return [slow_writes([(one, one.events or ())], marks) for one in members if one.events]


SEQUENCES = {
    "walk": _walks,
    "pairs": _pairs,
    "crowd": _crowds,
    "backlog": _backlogs,
    "stumble": _series,
    "rest": _rests,
    "hammer": _hammers,
}
