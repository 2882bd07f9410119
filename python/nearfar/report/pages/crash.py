"""What crashes can leave, as part of a page: the states, and the stores of those that break."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from pathlib import PurePath

from nearfar.report.bars import Bar, Part, bars
from nearfar.report.crash import states_text
from nearfar.report.frame import Target, notes, tiles
from nearfar.report.pages.probe import environment_section
from nearfar.report.picture import Picture, card
from nearfar.results import CrashResult, Explored, Violation

_HOLDS, _BREAKS = 2, 1  # colours
_MOST = 20  # violations
_LINE = re.compile(r"^(?P<file>[^:]*):(?P<line>\d+): (?P<text>.*)$", re.DOTALL)


def crash_title(crashed: CrashResult) -> str:
    """What stands above it."""
    return f"Crashes of {PurePath(crashed.program['file']).name} on {crashed.target.name}"


def crash_body(
    crashed: CrashResult, prefix: str = "", first_chart: int = 0
) -> tuple[str, list[list[Target]]]:
    """Everything below the title, and what the pointer finds on its pictures."""
    pictures = [_states(crashed)]
    reasons = crashed.architecture.violations
    if len(reasons) > 1:
        pictures.append(_reasons(reasons))
    shown = "".join(
        card(picture, f"{prefix}states-{at}", first_chart + at)
        for at, picture in enumerate(pictures)
    )
    body = "".join(
        (
            _lead(crashed),
            f'<section id="{prefix}states" class="curves pictures"><h2>States</h2>{shown}'
            "</section>\n",
            _violations(reasons, prefix),
            environment_section(crashed, prefix),
        )
    )
    return body, [list(picture.targets) for picture in pictures]


def _lead(crashed: CrashResult) -> str:
    program = crashed.program
    about = (
        f"{crashed.target.spec}, {crashed.domain.upper()}: {program['operations']} operations of "
        f"{program['threads']} thread{'s' if program['threads'] != 1 else ''}"
    )
    labels = [
        f"{side} {program[f'{side}_label']}"
        for side in ("from", "to")
        if f"{side}_label" in program
    ]
    about += f", crashes {' '.join(labels)}." if labels else "."
    found = crashed.architecture
    shown = [
        (f"{found.violating:,}", f"of {found.states:,} states that x86 allows break the invariant"),
        (
            f"{crashed.machine.violating:,}",
            f"of {crashed.machine.states:,} states met in {crashed.runs} runs of the machine do",
        ),
        ("all" if found.exhaustive else "drawn", states_text(found)),
    ]
    remarks = notes(
        (
            (crashed.holds, "No state that was looked at breaks the invariant."),
            (found.stuck is not None, f"Nothing gets past {found.stuck}."),
        )
    )
    return f'<p class="lead">{escape(about)}</p>{remarks}{tiles(shown)}\n'


def _states(crashed: CrashResult) -> Picture:
    rows = [
        _row("allowed by x86", crashed.architecture),
        _row(f"met in {crashed.runs} simulated runs", crashed.machine),
    ]
    return bars("States of memory that a crash can leave", rows, show=lambda n: f"{round(n):,}")


def _row(name: str, explored: Explored) -> Bar:
    parts = (
        Part("the invariant holds", explored.states - explored.violating, _HOLDS),
        Part("the invariant breaks", explored.violating, _BREAKS),
    )
    return Bar(name, parts)


def _reasons(violations: Sequence[Violation]) -> Picture:
    most = sorted(violations, key=lambda one: -one.states)[:_MOST]
    rows = [Bar(one.reason, (Part("states", one.states, _BREAKS),)) for one in most]
    return bars("Why the invariant breaks", rows, show=lambda n: f"{round(n):,}")


def _violations(violations: Sequence[Violation], prefix: str) -> str:
    """For each reason the state that lost least: its stores in the order of the program."""
    if not violations:
        return ""
    shown = "".join(
        f'<article id="{prefix}violation-{at}"><h3>{escape(one.reason)}</h3>'
        f'<p class="keys">{one.states:,} state{"s" if one.states != 1 else ""}; '
        "the one of them that lost least:</p>"
        f"{_passed(one)}{_stores(one)}</article>\n"
        for at, one in enumerate(violations[:_MOST])
    )
    left_out = len(violations) - _MOST
    more = f"<p>{left_out} more reasons are in the file.</p>" if left_out > 0 else ""
    return (
        f'<section id="{prefix}violations" class="curves"><h2>What was lost and what was kept</h2>'
        f"{shown}{more}</section>\n"
    )


def _passed(one: Violation) -> str:
    if not one.passed:
        return '<p class="keys">No label had been passed.</p>'
    chips = "".join(f"<li>{escape(label)}</li>" for label in one.passed)
    return f'<p class="keys">Labels passed:</p><ul class="chips">{chips}</ul>'


def _stores(one: Violation) -> str:
    """Lost stores and later ones that persisted, by their line."""
    found = [(store, "lost") for store in one.lost] + [(store, "kept") for store in one.persisted]
    words = {"lost": "lost", "kept": "persisted"}
    rows = "".join(
        f'<li class="{kind}"><b>{words[kind]}</b><code>{escape(_short(store))}</code></li>'
        for store, kind in sorted(found, key=_place)
    )
    return f'<ul class="stores">{rows}</ul>'


def _short(store: str) -> str:
    """Without the folders of its file."""
    match = _LINE.match(store)
    return f"{PurePath(match['file']).name}:{match['line']}: {match['text']}" if match else store


def _place(store: tuple[str, str]) -> tuple[str, int]:
    match = _LINE.match(store[0])
    return (match["file"], int(match["line"])) if match else (store[0], 0)
