"""Replacement policies side by side, as text."""

from __future__ import annotations

from nearfar.report.text import table
from nearfar.results.tier_replay import NearSize, TierReplayResult
from nearfar.results.wording import number, size

_HEADER = (
    "policy",
    "misses",
    "x Belady",
    "copies in",
    "copies out",
    "clean drops",
    "2nd chances",
    "scans",
    "scan ms",
)


def tier_replay_text(replay: TierReplayResult) -> str:
    """A table for each size of near memory."""
    head = (
        f"{replay.file}: {replay.accesses} accesses, {replay.visits} visits to {replay.pages} pages"
        f" of {size(replay.page_bytes)}{', without scans' if replay.without_scans else ''}\n"
    )
    if replay.ahead:
        head += f"{replay.ahead} of the visits are of pages read ahead, taken for touched\n"
    return head + "".join(_one_size(one, replay.pages) for one in replay.sizes)


def _one_size(one: NearSize, pages: int) -> str:
    share = one.near_pages / pages
    rows: list[tuple[str, ...]] = [
        (
            paged.policy,
            str(paged.misses),
            f"{paged.misses / one.belady_misses:.3f}",
            str(paged.copies_in),
            str(paged.copies_out),
            str(paged.clean_drops),
            str(paged.second_chances),
            str(paged.scans),
            number(paged.scan_ns / 1e6),
        )
        for paged in one.policies
    ]
    for name, misses in (("(static)", one.static_misses), ("(Belady)", one.belady_misses)):
        blank = [""] * (len(_HEADER) - 4)
        copies = str(misses - one.policies[0].first_touches)  # which all have
        rows.append((name, str(misses), f"{misses / one.belady_misses:.3f}", copies, *blank))
    return (
        f"\nnear {size(one.near_bytes)}: {one.near_pages} pages, {share:.1%} of all,"
        f" of them {one.limbo_pages} in limbo\n"
        + table(_HEADER, rows, "<" + ">" * (len(_HEADER) - 1))
    )
