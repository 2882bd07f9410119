"""A program on two tiers as part of a page: what was near and far over time, and what moved."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from html import escape

from nearfar.report.bars import Bar, Part, bars
from nearfar.report.figures.figure import Figure, Line, Mark, Spot
from nearfar.report.frame import Target, facts, notes, tiles
from nearfar.report.pages.run import as_picture
from nearfar.report.picture import Picture, card
from nearfar.results import TierRunResult, TierSamples
from nearfar.results.wording import number, size

_MIB = 1 << 20
_SECOND = 1e9


def tier_run_title(ran: TierRunResult) -> str:
    """What stands above it."""
    name = ran.program[0].rpartition("/")[2] if ran.program else "A program"
    return f"{name} on two tiers"


def tier_run_body(
    ran: TierRunResult, prefix: str = "", first_chart: int = 0
) -> tuple[str, list[list[Target]]]:
    """Everything below the title, and what the pointer finds on its pictures."""
    drawn = [*_over_time(ran), *_totals(ran)]
    shown = "".join(
        card(picture, f"{prefix}picture-{at}", first_chart + at) for at, picture in enumerate(drawn)
    )
    body = (
        f'{_lead(ran)}<section id="{prefix}pictures" class="curves pictures">{shown}</section>\n'
        f"{_counts(ran, prefix)}"
    )
    return body, [list(picture.targets) for picture in drawn]


def _lead(ran: TierRunResult) -> str:
    command = (
        f'<p class="lead"><code>{escape(shlex.join(ran.program))}</code></p>' if ran.program else ""
    )
    counts = ran.counts
    outside = counts.get("outside", 0)
    shown = [
        (size(ran.near_peak_bytes), f"near at most, of {size(ran.near_limit_bytes)}"),
        (size(ran.far_peak_bytes), "far at most"),
        (f"{counts.get('faults', 0):,}", "faults"),
    ]
    if "stall_ns" in counts:
        shown.append((f"{number(counts['stall_ns'] / _SECOND)} s", "threads waited for pages"))
    about = f"Policy {ran.policy}, backend {ran.backend or 'uffd'}"
    about += f", exit status {ran.status}" if ran.status is not None else ""
    about += f", {100 * ran.managed_share:.1f} % of the peak of anonymous memory managed."
    remarks = notes(
        (
            (
                bool(outside),
                f"{outside} of the programs that it executed ran without the limit.",
            ),
            (
                bool(counts.get("over_budget")),
                f"{counts.get('over_budget', 0):,} pages were granted beyond the limit.",
            ),
            (
                bool(ran.out_of_memory_kills),
                f"The kernel killed {ran.out_of_memory_kills} of the processes for lack of memory.",
            ),
            (ran.hard_limit is False, "No control group enforced the limit between two looks."),
        )
    )
    return f'{command}<p class="lead">{escape(about)}</p>{remarks}{tiles(shown)}\n'


def _over_time(ran: TierRunResult) -> list[Picture]:
    over = ran.over_time
    if over is None or len(over.time_s) < 3:
        return []
    while_it_ran = range(len(over.time_s) - 1)  # the last look is from after its end
    near = [_level(over, at, over.near_bytes, "near") for at in while_it_ran]
    far = [_level(over, at, over.far_bytes, "far") for at in while_it_ran]
    memory = Figure(
        *("", "Near and far over time", "time, s", "", "MiB"),
        [Line("near", near), Line("far", far)],
        (),
        log_x=False,
        log_y=False,
        levels=[Mark(ran.near_limit_bytes / _MIB, "limit of near")],
    )
    moved = Figure(
        *("", "Pages moved over time", "time, s", "", "pages a second"),
        [
            line
            for name, values in (
                ("faults", over.faults),
                ("copied in", over.copies_in),
                ("copied out", over.copies_out),
            )
            if (line := _rate(over, values, name)).spots and values[-1]
        ],
        (),
        log_x=False,
        log_y=False,
    )
    stalls = _rate(over, over.stall_ns, "threads that wait", _SECOND)
    waiting = Figure(
        *("", "Threads that wait for pages", "time, s", "", "threads", [stalls], ()),
        log_x=False,
        log_y=False,
    )
    figures = [memory, *([moved] if moved.lines else []), *([waiting] if over.stall_ns[-1] else [])]
    return [as_picture(figure) for figure in figures]


def _level(over: TierSamples, at: int, values: Sequence[int], name: str) -> Spot:
    seconds = over.time_s[at]
    return Spot(seconds, values[at] / _MIB, f"at {number(seconds)} s", ((name, size(values[at])),))


def _rate(over: TierSamples, values: Sequence[int], name: str, unit: float = 1.0) -> Line:
    """What was counted between two looks, a second."""
    spots = []
    for at in range(1, len(values)):
        span = over.time_s[at] - over.time_s[at - 1]
        if span <= 0:
            continue
        rate = (values[at] - values[at - 1]) / unit / span
        rows = ((name, number(rate)),)
        middle = over.time_s[at] - span / 2
        spots.append(Spot(middle, rate, f"at {number(middle)} s", rows))
    return Line(name, spots)


def _totals(ran: TierRunResult) -> list[Picture]:
    """What faults found, how pages left, and how large everything was at most."""
    counts = ran.counts
    brought = (
        Part("new pages", counts.get("first_touches", 0), 6),
        Part("copied in", counts.get("copies_in", 0), 0),
        Part("taken back before they left", counts.get("second_chances", 0), 2),
    )
    left = (
        Part("copied out", counts.get("copies_out", 0), 1),
        Part("dropped clean", counts.get("clean_drops", 0), 5),
        Part("dropped as zeros", counts.get("zero_drops", 0), 6),
        Part("left as one repeated word", counts.get("filled_drops", 0), 7),
    )
    rows = [Bar("came in", brought), Bar("left", left)]
    ahead = counts.get("read_ahead", 0)
    if ahead:
        used = min(counts.get("read_ahead_hits", 0), ahead)
        parts = (Part("known to be used", used, 2), Part("not known to be", ahead - used, 6))
        rows.append(Bar("read ahead", parts))
    pages = [row for row in rows if row.total]
    sizes = [Bar("near", (Part("", ran.near_peak_bytes, 0),), ran.near_limit_bytes)]
    sizes.append(Bar("far", (Part("", ran.far_peak_bytes, 1),)))
    if ran.far_stored_peak_bytes is not None and ran.compression not in (None, "none"):
        name = f"far, compressed by {ran.compression}"
        sizes.append(Bar(name, (Part("", ran.far_stored_peak_bytes, 3),)))
    if ran.managed_peak_bytes is not None and ran.unmanaged_peak_bytes is not None:
        parts = (
            Part("managed", ran.managed_peak_bytes, 2),
            Part("not managed", ran.unmanaged_peak_bytes, 6),
        )
        sizes.append(Bar("anonymous memory", parts))
    drawn = [
        bars(
            "Memory at most",
            sizes,
            show=lambda bytes_: size(round(bytes_)),
            note="the line is the limit of near memory",
            mark_name="limit",
        )
    ]
    if pages:
        drawn.append(bars("Pages", pages, show=lambda n: f"{round(n):,}"))
    return drawn


def _counts(ran: TierRunResult, prefix: str) -> str:
    shown = facts(
        (name.replace("_", " "), f"{value:,}") for name, value in ran.counts.items() if value
    )
    return (
        f'<section id="{prefix}counts"><h2>All counts</h2><details><summary>Pages, events '
        f'and times in ns</summary><div class="facts">{shown}</div></details></section>\n'
    )
