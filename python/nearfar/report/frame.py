"""What every page is made of: one file that needs nothing but itself.

Styles, script and pictures are inside; a content policy forbids the page to fetch anything.
Without its script it still shows everything but the values under the pointer.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files

from nearfar.report.svg import element

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
# An icon of its own keeps the browser from asking for one.
_ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E"
    "%3Cpath d='M2 12 6 12 10 5 14 4' fill='none' stroke='%232f6fde' stroke-width='2.4'/%3E"
    "%3C/svg%3E"
)

# What the pointer finds on a chart: where, a second place if there is one, the colour, a
# heading, and rows of a name and a value.
Target = tuple[float, float, float, int, str, Sequence[tuple[str, str]]]


def frame(title: str, body: str, targets: Sequence[Sequence[Target]]) -> str:
    """The HTML file; `targets` holds those of each chart of `body`, by its number."""
    data = json.dumps(targets, separators=(",", ":")).replace("</", "<\\/")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        f'<link rel="icon" href="{_ICON}">\n'
        f"<title>{escape(title)}</title>\n"
        f"<style>\n{_asset('page.css')}</style>\n</head>\n<body>\n{body}"
        '<div id="tip" role="status" aria-live="polite" hidden></div>\n'
        f'<script type="application/json" id="targets">{data}</script>\n'
        f"<script>\n{_asset('page.js')}</script>\n</body>\n</html>\n"
    )


def _asset(name: str) -> str:
    return files("nearfar.report").joinpath(name).read_text(encoding="utf-8")


BAR = (
    '<div class="bar"><span class="brand">nearfar</span>'
    '<button id="theme" type="button" hidden>Dark</button></div>'
)


def tiles(pairs: Iterable[tuple[str, str]]) -> str:
    """Large figures, each with what it is."""
    shown = "".join(
        f'<div class="tile"><b>{escape(value)}</b><span>{escape(what)}</span></div>'
        for value, what in pairs
    )
    return f'<div class="tiles">{shown}</div>'


def notes(pairs: Iterable[tuple[bool, str]]) -> str:
    """The remarks that apply."""
    return "".join(f'<p class="note">{escape(text)}</p>' for shown, text in pairs if shown)


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """A list of names and values, without those that are empty."""
    rows = "".join(element("dt", escape(k)) + element("dd", escape(v)) for k, v in pairs if v)
    return f"<dl>{rows}</dl>"


def sentence(text: str) -> str:
    """With a full stop."""
    return text if not text or text.endswith(".") else f"{text}."
