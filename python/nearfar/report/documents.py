"""One page of any number of saved documents."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from nearfar.report.frame import BAR, Target, frame
from nearfar.report.measurement import measurement_body, measurement_title
from nearfar.report.page import validation_body, validation_page, validation_title
from nearfar.report.probe import probe_body, probe_title
from nearfar.report.program import program_body, program_title
from nearfar.results import MeasureResult, ProbeResult, RunResult, ValidationResult

Shown = ValidationResult | ProbeResult | MeasureResult | RunResult


def page(documents: Sequence[Shown]) -> str:
    """The page's HTML: one document below the other, with links to each at the top."""
    if len(documents) == 1 and isinstance(documents[0], ValidationResult):
        return validation_page(documents[0])
    sections: list[str] = []
    targets: list[list[Target]] = []
    for at, document in enumerate(documents):
        prefix = f"d{at}-" if len(documents) > 1 else ""
        body, found = _body(document, prefix, len(targets))
        targets += found
        heading = f'<h1 id="{prefix}top">{escape(_title(document))}</h1>'
        sections.append(f'<div class="document">{heading}{body}</div>\n')
    titles = [_title(document) for document in documents]
    header = f"<header>{BAR}{_contents(titles)}</header>\n"
    return frame(" · ".join(titles), f"{header}<main>\n{''.join(sections)}</main>\n", targets)


def _contents(titles: Sequence[str]) -> str:
    if len(titles) < 2:
        return ""
    links = "".join(
        f'<li><a href="#d{at}-top">{escape(title)}</a></li>' for at, title in enumerate(titles)
    )
    return f'<nav aria-label="On this page"><ul>{links}</ul></nav>'


def _title(document: Shown) -> str:
    if isinstance(document, ValidationResult):
        return validation_title(document)
    if isinstance(document, ProbeResult):
        return probe_title(document)
    if isinstance(document, RunResult):
        return program_title(document)
    return measurement_title(document)


def _body(document: Shown, prefix: str, first: int) -> tuple[str, list[list[Target]]]:
    if isinstance(document, ValidationResult):
        return validation_body(document, prefix, first)
    if isinstance(document, ProbeResult):
        return probe_body(document, prefix, first)
    if isinstance(document, RunResult):
        return program_body(document, prefix, first)
    return measurement_body(document, prefix, first)
