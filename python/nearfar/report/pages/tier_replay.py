"""Replacement policies side by side as part of a page: their misses beside Belady's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

from nearfar.report.bars import Bar, Part, bars
from nearfar.report.figures.figure import Figure, Line, Spot, draw
from nearfar.report.frame import Target, facts, notes, tiles
from nearfar.report.pages.probe import cards
from nearfar.report.picture import card
from nearfar.results import TierReplayResult
from nearfar.results.tier_replay import NearSize, PolicyMisses
from nearfar.results.wording import number, size

_BELADY, _STATIC = "Belady (knows the future)", "static (placed once)"
_MOST_SIZES = 6  # that have a picture of their own


def tier_replay_title(replay: TierReplayResult) -> str:
    """What stands above it."""
    return f"Policies on {replay.file}"


def tier_replay_body(
    replay: TierReplayResult, prefix: str = "", first_chart: int = 0
) -> tuple[str, list[list[Target]]]:
    """Everything below the title, and what the pointer finds on its pictures."""
    drawn = [_misses(replay), _ratios(replay)] if len(replay.sizes) > 1 else []
    for at, figure in enumerate(drawn):
        figure.name = f"{prefix}figure-{at}"
    pictures = [draw(figure) for figure in drawn]
    targets = [figure.targets for figure in drawn]
    shown: list[str] = []
    for one in sorted(replay.sizes, key=lambda one: one.near_pages)[:_MOST_SIZES]:
        share = 100 * one.near_pages / replay.pages
        picture = bars(
            f"Near {size(one.near_bytes)}, {share:.1f} % of all pages",
            [_bar(policy, one) for policy in sorted(one.policies, key=lambda p: p.misses)],
            show=lambda n: f"{round(n):,}",
            note=f"misses; the line is Belady's {one.belady_misses:,}",
            mark_name="Belady",
        )
        shown.append(card(picture, f"{prefix}size-{len(shown)}", first_chart + len(targets)))
        targets.append(list(picture.targets))
    body = "".join(
        (
            _lead(replay),
            cards(drawn, pictures, first_chart, "Misses by size of near memory", f"{prefix}misses"),
            f'<section id="{prefix}sizes" class="curves pictures"><h2>Each size by itself</h2>'
            f"{''.join(shown)}</section>\n",
            _table(replay, prefix),
        )
    )
    return body, targets


def _lead(replay: TierReplayResult) -> str:
    shown = [
        (f"{replay.pages:,}", f"pages of {size(replay.page_bytes)} that the trace touches"),
        (f"{replay.visits:,}", f"visits, of {replay.accesses:,} accesses"),
    ]
    best = _best(replay)
    if best is not None:
        one, policy = best
        times = number(policy.misses / one.belady_misses)
        about = (
            f"times Belady's misses: {policy.policy}, nearest of all, near {size(one.near_bytes)}"
        )
        shown.append((times, about))
    remarks = notes(
        (
            (replay.without_scans, "Policies were not told what access bits say."),
            (
                bool(replay.ahead),
                f"{replay.ahead:,} of the visits are of pages read ahead, taken for touched.",
            ),
        )
    )
    about = (
        f"{replay.file}, a trace of format {replay.format}, through each policy. A miss is a page "
        "that was touched for the first time or had to be copied in."
    )
    return f'<p class="lead">{escape(about)}</p>{remarks}{tiles(shown)}\n'


def _best(replay: TierReplayResult) -> tuple[NearSize, PolicyMisses] | None:
    found = [
        (one, policy)
        for one in replay.sizes
        if one.belady_misses and one.near_pages < replay.pages
        for policy in one.policies
    ]
    return min(found, key=lambda pair: pair[1].misses / pair[0].belady_misses, default=None)


def _names(replay: TierReplayResult) -> list[str]:
    return list(dict.fromkeys(policy.policy for one in replay.sizes for policy in one.policies))


def _misses(replay: TierReplayResult) -> Figure:
    def misses(one: NearSize, name: str) -> int | None:
        if name == _BELADY:
            return one.belady_misses
        if name == _STATIC:
            return one.static_misses
        return _of(one, name)

    lines = _lines(replay, [_BELADY, _STATIC, *_names(replay)], misses)
    return Figure("", "Misses", "near memory", "B", "misses", lines, ())


def _ratios(replay: TierReplayResult) -> Figure:
    def ratio(one: NearSize, name: str) -> float | None:
        misses = _of(one, name)
        return misses / one.belady_misses if misses is not None and one.belady_misses else None

    lines = [Line("", ())] * 2 + _lines(replay, _names(replay), ratio)  # the colours of the other
    title = "Misses as a multiple of Belady's"
    return Figure("", title, "near memory", "B", "x Belady", lines, (), log_y=False)


def _of(one: NearSize, name: str) -> int | None:
    found = [policy.misses for policy in one.policies if policy.policy == name]
    return found[0] if found else None


def _lines(
    replay: TierReplayResult,
    names: Sequence[str],
    value: Callable[[NearSize, str], float | None],
) -> list[Line]:
    sizes = sorted(replay.sizes, key=lambda one: one.near_pages)
    return [
        Line(
            name,
            [
                Spot(one.near_bytes, found, size(one.near_bytes), ((name, number(found)),))
                for one in sizes
                if (found := value(one, name)) is not None
            ],
        )
        for name in names
    ]


def _bar(policy: PolicyMisses, one: NearSize) -> Bar:
    parts = (
        Part("first touches", policy.first_touches, 6),
        Part("copied in", policy.copies_in, 0),
    )
    return Bar(policy.policy, parts, one.belady_misses)


def _table(replay: TierReplayResult, prefix: str) -> str:
    heads = [*("near", "policy", "misses", "x Belady", "copies in", "copies out"), "clean drops"]
    heads += ["second chances", "scans", "pages scanned"]
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}" for cell in _cells(one, policy)) + "</tr>"
        for one in replay.sizes
        for policy in one.policies
    )
    head = "".join(f"<th scope=col>{escape(name)}" for name in heads)
    about = facts((("trace", replay.file), ("format", replay.format), ("nearfar", replay.version)))
    return (
        f'<section id="{prefix}counts"><h2>All counts</h2><div class="card"><div class="scroll">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div></div>"
        f'<div class="card facts">{about}</div></section>\n'
    )


def _cells(one: NearSize, policy: PolicyMisses) -> tuple[str, ...]:
    times = f"{policy.misses / one.belady_misses:.3f}" if one.belady_misses else ""
    counts = (policy.copies_in, policy.copies_out, policy.clean_drops, policy.second_chances)
    scans = (policy.scans, policy.pages_scanned)
    shown = (f"{count:,}" for count in (*counts, *scans))
    return (size(one.near_bytes), policy.policy, f"{policy.misses:,}", times, *shown)
