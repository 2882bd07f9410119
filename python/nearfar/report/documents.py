"""One page of any number of saved documents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from nearfar.errors import InputError
from nearfar.report.frame import BAR, Target, frame
from nearfar.report.pages.comparison import comparison_body, comparison_title
from nearfar.report.pages.crash import crash_body, crash_title
from nearfar.report.pages.fit import fit_body, fit_title
from nearfar.report.pages.flat_replay import flat_replay_body, flat_replay_title
from nearfar.report.pages.measure import measurement_body, measurement_title
from nearfar.report.pages.prediction import prediction_body, prediction_title
from nearfar.report.pages.probe import probe_body, probe_title
from nearfar.report.pages.replay import replay_body, replay_title
from nearfar.report.pages.run import program_body, program_title
from nearfar.report.pages.sweep import sweep_body, sweep_title
from nearfar.report.pages.tier_replay import tier_replay_body, tier_replay_title
from nearfar.report.pages.tier_run import tier_run_body, tier_run_title
from nearfar.report.pages.validation import validation_body, validation_page, validation_title
from nearfar.results import (
    ComparisonResult,
    CrashResult,
    Document,
    FitResult,
    FlatReplayResult,
    MeasureResult,
    PredictionResult,
    ProbeResult,
    ReplayResult,
    RunResult,
    SweepResult,
    TierReplayResult,
    TierRunResult,
    ValidationResult,
)


@dataclass(frozen=True)
class _Page:
    """How a kind of result is shown: its title, and what stands below it with its charts' targets.

    `body` is given the result, what stands before every id, and the number of its first chart.
    """

    title: Callable[[Any], str]
    body: Callable[[Any, str, int], tuple[str, list[list[Target]]]]


_PAGES: dict[type, _Page] = {
    ComparisonResult: _Page(comparison_title, comparison_body),
    CrashResult: _Page(crash_title, crash_body),
    FitResult: _Page(fit_title, fit_body),
    FlatReplayResult: _Page(flat_replay_title, flat_replay_body),
    MeasureResult: _Page(measurement_title, measurement_body),
    PredictionResult: _Page(prediction_title, prediction_body),
    ProbeResult: _Page(probe_title, probe_body),
    ReplayResult: _Page(replay_title, replay_body),
    RunResult: _Page(program_title, program_body),
    SweepResult: _Page(sweep_title, sweep_body),
    TierReplayResult: _Page(tier_replay_title, tier_replay_body),
    TierRunResult: _Page(tier_run_title, tier_run_body),
    ValidationResult: _Page(validation_title, validation_body),
}


def page(documents: Sequence[Document]) -> str:
    """The page's HTML: one document below the other, with links to each at the top."""
    if len(documents) == 1 and isinstance(documents[0], ValidationResult):
        return validation_page(documents[0])
    sections: list[str] = []
    targets: list[list[Target]] = []
    titles: list[str] = []
    for at, document in enumerate(documents):
        if type(document) not in _PAGES:
            raise InputError(f"found {document.SCHEMA}, of which there is no page")
        shown = _PAGES[type(document)]
        prefix = f"d{at}-" if len(documents) > 1 else ""
        title = shown.title(document)
        body, found = shown.body(document, prefix, len(targets))
        targets += found
        titles.append(title)
        heading = f'<h1 id="{prefix}top">{escape(title)}</h1>'
        sections.append(f'<div class="document">{heading}{body}</div>\n')
    header = f"<header>{BAR}{_contents(titles)}</header>\n"
    return frame(" · ".join(titles), f"{header}<main>\n{''.join(sections)}</main>\n", targets)


def _contents(titles: Sequence[str]) -> str:
    if len(titles) < 2:
        return ""
    links = "".join(
        f'<li><a href="#d{at}-top">{escape(title)}</a></li>' for at, title in enumerate(titles)
    )
    return f'<nav aria-label="On this page"><ul>{links}</ul></nav>'
