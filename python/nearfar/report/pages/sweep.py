"""A swept study as part of a page: pictures, and every point with its full result."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html import escape
from typing import Any

from nearfar.report.frame import Target, facts, notes, sentence, tiles
from nearfar.report.picture import card
from nearfar.report.sweep import SHORT_ID, described
from nearfar.report.swept import pictures
from nearfar.results.sweep import DONE, FAILED, MISSING, SweepPoint, SweepResult
from nearfar.results.wording import counted, number

# A page stays small enough to be mailed: beyond this, results are left in the store.
_MOST_BYTES = 2_200_000
_LONG = 64  # entries of an array too long to be read in a page


def sweep_title(result: SweepResult) -> str:
    """What stands above it."""
    return f"Sweep {result.study}"


def sweep_body(
    result: SweepResult, prefix: str = "", first_chart: int = 0
) -> tuple[str, list[list[Target]]]:
    """Everything below the title, and what the pointer finds on its pictures."""
    drawn = pictures(result)
    cards = "".join(
        card(picture, f"{prefix}picture-{at}", first_chart + at) for at, picture in enumerate(drawn)
    )
    body = "".join(
        (
            _lead(result),
            f'<section id="{prefix}pictures" class="curves pictures">{cards}</section>\n',
            _points(result, prefix),
            _study(result, prefix),
        )
    )
    return body, [list(picture.targets) for picture in drawn]


def _lead(result: SweepResult) -> str:
    failed, missing = result.of_state(FAILED), result.of_state(MISSING)
    shown = [
        (f"{len(result.of_state(DONE)):,}", f"of {counted(len(result.points), 'point')} computed"),
        (str(len(result.keys)), "keys vary: " + ", ".join(result.keys)),
    ]
    if failed:
        shown.append((str(len(failed)), "failed"))
    warnings = [
        (bool(missing), f"{counted(len(missing), 'point')} not computed yet: the sweep goes on."),
    ]
    return (
        f'<p class="lead">{escape(sentence(result.description or ", ".join(result.works)))}</p>'
        f'{notes(warnings)}<div class="lead-figures">{tiles(shown)}</div>\n'
    )


def _points(result: SweepResult, prefix: str) -> str:
    """A line a point; it opens to the full result."""
    texts = dict(_results(result))
    rows = "".join(_point(result, one, texts.get(one.id, ""), prefix) for one in result.points)
    return (
        f'<section id="{prefix}points"><h2>Points</h2><p>Each opens to its full result.</p>'
        f'<div class="points">{rows}</div></section>\n'
    )


def _point(result: SweepResult, point: SweepPoint, text: str, prefix: str) -> str:
    shown = [
        f"{name} {number(point.figures[name])}" for name in result.figures if name in point.figures
    ]
    state = "" if point.state == DONE else f" · {point.state}: {point.error}".removesuffix(": ")
    line = (
        f"{described(point)} · {', '.join(shown)}{state}" if shown else f"{described(point)}{state}"
    )
    inside = text or f"nearfar sweep show {result.store} --point {point.id[:16]}"
    return (
        f'<details id="{prefix}point-{point.id[:16]}"><summary><code>{point.id[:SHORT_ID]}</code> '
        f"{escape(line)}</summary><pre>{escape(inside)}</pre></details>\n"
    )


def _results(result: SweepResult) -> Iterator[tuple[str, str]]:
    """Point and text of its result; long arrays are cut, and what a page has no room for is left
    in the store."""
    room = _MOST_BYTES
    for one in result.points:
        if one.result is None:
            continue
        text = json.dumps(_without_arrays(one.result), indent=1)
        room -= len(escape(text))
        if room < 0:
            return
        yield one.id, text


def _without_arrays(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: _without_arrays(value) for key, value in node.items()}
    if isinstance(node, list):
        if len(node) > _LONG and not isinstance(node[0], (dict, list)):
            return f"{len(node)} entries, which `nearfar sweep show --point` prints"
        return [_without_arrays(value) for value in node]
    return node


def _study(result: SweepResult, prefix: str) -> str:
    pairs = [
        ("targets", ", ".join(result.targets)),
        ("work", ", ".join(result.works)),
        *((key, text) for key, text in result.ranges.items()),
        ("design", result.design or ""),
        ("minimised", result.goal or ""),
        ("nearfar", result.version),
        ("store", result.store),
    ]
    return (
        f'<section id="{prefix}study"><h2>Study</h2>'
        f'<div class="card facts">{facts(pairs)}</div></section>\n'
    )
