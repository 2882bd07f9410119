"""A replayed trace as part of a page: how long reads took, how fast memory was, what it did."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from nearfar.report.bars import Bar, Part, bars
from nearfar.report.figures.figure import Figure, Line, Spot
from nearfar.report.frame import Target, notes, tiles
from nearfar.report.histogram import latency_histogram
from nearfar.report.pages.probe import environment_section
from nearfar.report.pages.run import as_picture
from nearfar.report.picture import Picture, card
from nearfar.report.time_axis import unit_of
from nearfar.results import ReplayResult
from nearfar.results.wording import energy_shares, joules, number, size

_LINE = 64  # bytes
_SAID = ("file", "format", "pace")


def replay_title(replayed: ReplayResult) -> str:
    """What stands above it."""
    return f"{replayed.trace.get('file', 'A trace')} on {replayed.target.name}"


def replay_body(
    replayed: ReplayResult, prefix: str = "", first_chart: int = 0
) -> tuple[str, list[list[Target]]]:
    """Everything below the title, and what the pointer finds on its pictures."""
    drawn = [one for one in _pictures(replayed) if one is not None]
    shown = "".join(
        card(picture, f"{prefix}picture-{at}", first_chart + at) for at, picture in enumerate(drawn)
    )
    body = "".join(
        (
            _lead(replayed),
            f'<section id="{prefix}pictures" class="curves pictures">{shown}</section>\n',
            _counters(replayed.counters, prefix),
            environment_section(replayed, prefix),
        )
    )
    return body, [list(picture.targets) for picture in drawn]


def _lead(replayed: ReplayResult) -> str:
    trace = replayed.trace
    how = {"trace": "each access at its cycle", "asap": "as fast as memory takes them"}
    about = (
        f"{replayed.target.spec}: {trace.get('file')}, format {trace.get('format')}, "
        f"{how.get(str(trace.get('pace')), trace.get('pace'))}"
    )
    about += "".join(
        f", {name.removesuffix('_ps').replace('_', ' ')} {value}"
        for name, value in trace.items()
        if name not in _SAID and value is not True
    )
    ns = replayed.elapsed_ps / 1000
    unit, length = unit_of(ns)
    shown = [
        (
            f"{replayed.requests:,}",
            f"requests: {replayed.reads:,} reads, {replayed.writes:,} writes",
        ),
        (f"{number(ns / length)} {unit}", "of simulated time"),
    ]
    if replayed.gb_per_s is not None:
        shown.append((f"{number(replayed.gb_per_s)} GB/s", "over all of it"))
    for latency, share in ((replayed.read_p50_ns, "half"), (replayed.read_p99_ns, "99 %")):
        if latency is not None:
            shown.append((f"{number(latency)} ns", f"{share} of the reads took no longer"))
    if replayed.energy_pj:
        shown.append((joules(replayed.energy_pj), f"of energy: {energy_shares(replayed.energy)}"))
    behind = "" if replayed.late_max_ns is None else f", up to {number(replayed.late_max_ns)} ns"
    late = (
        f"{replayed.late:,} accesses entered after their cycle{behind}: the trace asks for more "
        "than the memory gives."
        if replayed.late
        else ""
    )
    return (
        f'<p class="lead">{escape(about)}.</p>{notes([(bool(replayed.late), late)])}'
        f'<div class="lead-figures">{tiles(shown)}</div>\n'
    )


def _pictures(replayed: ReplayResult) -> list[Picture | None]:
    over_time = _bandwidth(replayed)
    return [
        _latency(replayed),
        as_picture(over_time) if over_time is not None else None,
        _commands(replayed.commands_by_device),
        _energy(replayed.energy),
    ]


def _latency(replayed: ReplayResult) -> Picture | None:
    """The histogram where the file has it, else what the percentiles tell; None without reads."""
    if replayed.read_latency is not None:
        return latency_histogram(replayed.read_latency, "Read latency", "reads")
    known = (
        ("p50", replayed.read_p50_ns),
        ("p99", replayed.read_p99_ns),
        ("p99.9", replayed.read_p999_ns),
        ("max", replayed.read_max_ns),
    )
    rows = [Bar(name, (Part("", ns, 0),)) for name, ns in known if ns is not None]
    if not replayed.reads or not rows:
        return None
    return bars("Read latency", rows, show=lambda ns: f"{number(ns)} ns")


def _bandwidth(replayed: ReplayResult) -> Figure | None:
    """Reads and writes over time; None where the file does not have it."""
    over = replayed.over_time
    if over is None or len(over.reads) < 2:
        return None
    unit, length = unit_of(replayed.elapsed_ps / 1000)
    lines = []
    for name, counts in (("read", over.reads), ("written", over.writes)):
        if not any(counts):
            continue
        spots = []
        for at, lines_moved in enumerate(counts):
            begin = at * over.bucket_ns
            width = min(over.bucket_ns, max(replayed.elapsed_ps / 1000 - begin, 1e-3))
            middle = (begin + width / 2) / length
            rate = lines_moved * _LINE / width
            rows = ((name, f"{number(rate)} GB/s"), ("lines", f"{lines_moved:,}"))
            spots.append(Spot(middle, rate, f"at {middle:.4g} {unit}", rows))
        lines.append(Line(name, spots))
    return Figure(
        *("", "Bandwidth over time", f"simulated time, {unit}", "", "GB/s", lines, ()),
        log_x=False,
        log_y=False,
    )


_DEVICES = {"dram": "host DRAM", "near": "near DRAM", "nvdimm": "DRAM on the DIMMs"}
_COLOURS = {"ACT": 3, "RD": 0, "WR": 1, "PRE": 6, "REF": 2, "PDE": 5, "SRE": 4}


def _commands(devices: Mapping[str, Mapping[str, int]]) -> Picture | None:
    rows = [
        Bar(
            _DEVICES.get(device, device),
            tuple(Part(kind, count, _COLOURS.get(kind, 8)) for kind, count in counts.items()),
        )
        for device, counts in devices.items()
    ]
    if not rows:
        return None
    return bars("DRAM commands", rows, show=lambda n: f"{round(n):,}")


def _energy(energy: Mapping[str, int]) -> Picture | None:
    parts = sorted(energy.items(), key=lambda item: -item[1])
    rows = [Bar(name, (Part("", picojoules, 2),)) for name, picojoules in parts if picojoules]
    return bars("Energy", rows, show=lambda pj: joules(round(pj))) if rows else None


def _counters(counters: Mapping[str, int], prefix: str) -> str:
    rows = "".join(
        f"<tr><th scope=row>{escape(name)}<td>"
        f"{size(value) if name.endswith('_bytes') else f'{value:,}'}</tr>"
        for name, value in counters.items()
        if value
    )
    if not rows:
        return ""
    return (
        f'<section id="{prefix}counters"><h2>Counters</h2><details><summary>What every part of '
        'the memory counted</summary><div class="scroll"><table><tbody>'
        f"{rows}</tbody></table></div></details></section>\n"
    )
