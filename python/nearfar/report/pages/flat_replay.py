"""Placement policies side by side as part of a page: their times, and each one over time."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from nearfar.report.bars import Bar, Part, bars
from nearfar.report.figures.figure import Figure, Line, Spot
from nearfar.report.flat import HEADER, rows_of
from nearfar.report.frame import Target, facts, notes, tiles
from nearfar.report.pages.run import as_picture
from nearfar.report.picture import Picture, card
from nearfar.results import FlatReplayResult
from nearfar.results.flat_replay import FlatPolicy, FlatSize
from nearfar.results.wording import number, size

_SECOND = 1e9
_LINE = 64  # bytes
_MOST_POINTS = 400  # of a line; intervals are taken together beyond that


def flat_replay_title(replay: FlatReplayResult) -> str:
    """What stands above it."""
    return f"Placements of {replay.file}"


def flat_replay_body(
    replay: FlatReplayResult, prefix: str = "", first_chart: int = 0
) -> tuple[str, list[list[Target]]]:
    """Everything below the title, and what the pointer finds on its pictures."""
    drawn: list[Picture] = []
    for one in replay.sizes:
        drawn += [_times(one, replay), *_over_time(one, replay)]
    shown = "".join(
        card(picture, f"{prefix}picture-{at}", first_chart + at) for at, picture in enumerate(drawn)
    )
    body = (
        f'{_lead(replay)}<section id="{prefix}pictures" class="curves pictures">{shown}</section>\n'
        f"{_table(replay, prefix)}"
    )
    return body, [list(picture.targets) for picture in drawn]


def _lead(replay: FlatReplayResult) -> str:
    shown = [
        (f"{replay.pages:,}", f"pages of {size(replay.page_bytes)} that the trace touches"),
        (f"{replay.reads:,}", f"reads of memory, and {replay.writes:,} writes"),
        (f"{replay.decisions:,}", f"decisions of at most {replay.pairs:,} pairs"),
        (f"{replay.all_far_ns / replay.all_near_ns:.3f}", "times as long with all pages far"),
    ]
    about = (
        f"{replay.file}, a trace of format {replay.format}, on two tiers that are both addressed "
        f"directly, through each placement policy; detector {replay.detector}."
    )
    remarks = notes(
        (
            (
                replay.times_with_memory,
                "The times of the trace have those of memory in them, and are taken for those of "
                "near memory.",
            ),
            (
                replay.time_scale != 1,
                f"Each access of the trace stands for {number(replay.time_scale)} accesses.",
            ),
        )
    )
    return f'<p class="lead">{escape(about)}</p>{remarks}{tiles(shown)}\n'


def _name(one: FlatSize, replay: FlatReplayResult) -> str:
    return f"near {size(one.near_bytes)}, {100 * one.near_pages / replay.pages:.1f} % of the pages"


def _times(one: FlatSize, replay: FlatReplayResult) -> Picture:
    """Like the table of RAMinate's paper."""
    near = replay.all_near_ns
    policies = sorted(one.policies, key=lambda policy: policy.time_ns)
    rows = [
        ("all near", 0.0, 0.0, 0.0),
        ("hottest, none moved", one.hottest_ns - near, 0.0, 0.0),
        *(
            (
                policy.policy,
                policy.time_ns - near - policy.move_ns - policy.detect_ns,
                policy.move_ns,
                policy.detect_ns,
            )
            for policy in policies
        ),
        ("all far", replay.all_far_ns - near, 0.0, 0.0),
    ]
    return bars(
        f"Time, {_name(one, replay)}",
        [
            Bar(
                name,
                (
                    Part("all near", near / _SECOND, 6),
                    Part("far memory", far / _SECOND, 0),
                    Part("moving", moving / _SECOND, 1),
                    Part("detecting", detecting / _SECOND, 2),
                ),
                one.bound_ns / _SECOND,
            )
            for name, far, moving, detecting in rows
        ],
        show=number,
        note="seconds; the line is the offline bound",
        mark_name="offline bound",
    )


def _over_time(one: FlatSize, replay: FlatReplayResult) -> list[Picture]:
    """The traffic of each tier, and relocations, an interval (RAMinate's figures 7 to 9)."""
    name = _name(one, replay)
    traffic = [
        Line(f"{policy.policy}, {tier}", _traffic(policy, tier, replay))
        for policy in one.policies
        for tier in ("near", "far")
    ]
    moved = [
        Line(policy.policy, _spots(policy.intervals["promoted"], replay, "promoted"))
        for policy in one.policies
        if policy.promoted
    ]
    drawn = [(f"Traffic of the tiers, {name}", "MB/s", traffic)]
    if moved:
        drawn.append((f"Pages moved to near memory in an interval, {name}", "pages", moved))
    return [
        as_picture(Figure("", title, "time, s", "", unit, lines, (), log_x=False, log_y=False))
        for title, unit, lines in drawn
    ]


def _traffic(policy: FlatPolicy, tier: str, replay: FlatReplayResult) -> Sequence[Spot]:
    columns = policy.intervals
    lines = [
        reads + writes
        for reads, writes in zip(columns[f"{tier}_reads"], columns[f"{tier}_writes"], strict=True)
    ]
    # Of the trace's time a scaled interval is shorter, and so its accesses are more.
    rate = _LINE * replay.time_scale / replay.interval_ns * 1000
    return _spots([count * rate for count in lines], replay, "MB/s")


def _spots(values: Sequence[float], replay: FlatReplayResult, what: str) -> list[Spot]:
    """The last interval, which the end of the trace cuts short, is left out."""
    whole = values[:-1] if len(values) > 1 else values
    together = -(-len(whole) // _MOST_POINTS)
    spots = []
    for at in range(0, len(whole), together):
        some = whole[at : at + together]
        value = sum(some) / len(some)
        seconds = (at + len(some) / 2) * replay.interval_ns / _SECOND
        spots.append(Spot(seconds, value, f"at {number(seconds)} s", ((what, number(value)),)))
    return spots


def _table(replay: FlatReplayResult, prefix: str) -> str:
    heads = ("near", *HEADER)
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}" for cell in (size(one.near_bytes), *row)) + "</tr>"
        for one in replay.sizes
        for row in rows_of(one, replay)
    )
    head = "".join(f"<th scope=col>{escape(name)}" for name in heads)
    about = facts((("trace", replay.file), ("format", replay.format), ("nearfar", replay.version)))
    return (
        f'<section id="{prefix}counts"><h2>All counts</h2><div class="card"><div class="scroll">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div></div>"
        f'<div class="card facts">{about}</div></section>\n'
    )
