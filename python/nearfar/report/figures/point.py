"""Figures of the points that bandwidth, AIST and ICT probers measure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nearfar.report.figures.figure import Figure, Line, Spot
from nearfar.report.figures.tools import MOST_LINES, Marks
from nearfar.results import Observation
from nearfar.results.wording import number, size

_LINE = 64
_NAMES = {"bandwidth": "Bandwidth", "aist": "AIST", "ict": "ICT"}

_Of = Callable[[Observation], float]


def measured(members: Sequence[Observation], marks: Marks) -> list[Figure]:  # noqa: ARG001
    """Pictures of every prober's points, for what it varied."""
    probers: dict[str, list[Observation]] = {}
    for one in members:
        if one.ns_per_access:
            probers.setdefault(one.prober, []).append(one)
    return [figure for name, found in probers.items() for figure in _prober(name, found)]


def _prober(name: str, found: Sequence[Observation]) -> list[Figure]:
    title = _NAMES.get(name, name)
    streams = [one for one in found if one.pattern.get("measured") == "stream"]
    plain = [one for one in streams if "outstanding" not in one.pattern]
    ordered = [one for one in plain if _stride(one) == one.pattern["access_bytes"]]
    pure = [one for one in ordered if one.pattern.get("reads_percent") in (0, 100, None)]
    scattered = [one for one in plain if _stride(one) == "random"]
    loaded = [one for one in found if "delay_ns" in one.pattern]
    chased = [one for one in found if one.pattern.get("measured") == "chase"]
    drawn = [
        _picture(f"{title}: threads", "threads", "", "GB/s", pure, _threads, _rate, _op_size),
        _picture(
            *(f"{title}: share of reads", "% reads", "", "GB/s", _mixed(ordered)),
            *(lambda one: float(one.pattern["reads_percent"]), _rate),
            lambda one: f"{_threads(one):.0f} threads",
        ),
        _picture(f"{title}: sequential", "access", "B", "ns a line", pure, _access, _ns, _op_fence),
        _picture(
            f"{title}: random", "access", "B", "ns a line", scattered, _access, _ns, _op_fence
        ),
        _picture(
            *(f"{title}: latency under load", "GB/s beside", "", "ns a line", loaded),
            *(lambda one: float(one.pattern["other_gb_per_s"]), _ns),
            lambda one: f"beside {one.pattern['other']}",
        ),
        _picture(
            *(f"{title}: dependent", "region", "B", "ns a line", chased),
            *(lambda one: float(one.pattern["region_bytes"]), _ns, _op_block),
        ),
    ]
    for figure in drawn:
        figure.log_x = figure.x_unit == "B"
        figure.log_y = False
    return [figure for figure in drawn if figure.lines]


def _mixed(ordered: Sequence[Observation]) -> list[Observation]:
    """The mixtures, and the pure streams of as many threads and the same size."""
    mixtures = [one for one in ordered if one.pattern.get("reads_percent") not in (0, 100, None)]
    like = {(_threads(one), _access(one)) for one in mixtures}
    return [one for one in ordered if (_threads(one), _access(one)) in like]


def _picture(
    title: str,
    axis: str,
    unit: str,
    height: str,
    found: Sequence[Observation],
    place: _Of,
    value: _Of,
    name: Callable[[Observation], str],
) -> Figure:
    """Lines of at least two places; none where nothing was varied."""
    lines: dict[str, list[Observation]] = {}
    for one in found:
        lines.setdefault(name(one), []).append(one)
    kept = {
        label: sorted(members, key=place)
        for label, members in lines.items()
        if len({place(one) for one in members}) > 1
    }
    chosen = list(kept.items())[:MOST_LINES]
    shape = [
        Line(label, [_spot(one, place(one), value(one), axis, unit, height) for one in members])
        for label, members in chosen
    ]
    shows = [one.id for _, members in chosen for one in members]
    return Figure("", title, axis, unit, height, shape, shows)


def _spot(one: Observation, x: float, y: float, axis: str, unit: str, height: str) -> Spot:
    shown = size(round(x)) if unit == "B" else number(x)
    rows = ((height, number(y)), ("bandwidth", f"{number(_rate(one))} GB/s"))
    low, high = one.interval or (None, None)
    if height == "GB/s" and low and high:
        low, high = (_LINE * _threads(one) / bound for bound in (high, low))
    elif height != "ns a line":
        low = high = None
    return Spot(x, y, f"{axis} {shown}", (*rows, ("observation", one.id)), low, high)


def _stride(one: Observation) -> object:
    return one.pattern.get("stride_bytes")


def _threads(one: Observation) -> float:
    return float(one.pattern.get("threads", 1))


def _access(one: Observation) -> float:
    return float(one.pattern["access_bytes"])


def _ns(one: Observation) -> float:
    return one.ns_per_access or 0.0


def _rate(one: Observation) -> float:
    """10^9 bytes a second over all threads."""
    return _LINE * _threads(one) / (one.ns_per_access or 1.0)


def _op_size(one: Observation) -> str:
    return f"{one.pattern['op']}, {size(one.pattern['access_bytes'])}"


def _op_block(one: Observation) -> str:
    return f"{one.pattern['op']}, blocks of {size(one.pattern.get('block_bytes', _LINE))}"


def _op_fence(one: Observation) -> str:
    """Fences follow the block here, so that blocks of all sizes are on one line."""
    fenced = ", fenced" if "fence_every_bytes" in one.pattern else ""
    threads = f", {_threads(one):.0f} threads" if _threads(one) > 1 else ""
    return f"{one.pattern['op']}{fenced}{threads}"
