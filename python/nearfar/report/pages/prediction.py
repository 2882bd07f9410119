"""Predicted beside measured time, as part of a page."""

from __future__ import annotations

from html import escape

from nearfar.report.bars import Bar, Part, bars
from nearfar.report.frame import Target, notes, tiles
from nearfar.report.pages.probe import environment_section
from nearfar.report.picture import Picture, card
from nearfar.report.prediction import how_much
from nearfar.report.ratios import Ratio, ratio_rows
from nearfar.results import PredictedProgram, PredictionResult

_LEAST_SPREAD = 0.01


def prediction_title(prediction: PredictionResult) -> str:
    """What stands above it."""
    return f"Programs here and on {prediction.target.name}"


def prediction_body(
    prediction: PredictionResult, prefix: str = "", first_chart: int = 0
) -> tuple[str, list[list[Target]]]:
    """Everything below the title, and what the pointer finds on its pictures."""
    compared = [one for one in prediction.programs if one.ratio is not None]
    pictures = [_ratios(compared), _stacks(compared)] if compared else []
    shown = "".join(
        card(picture, f"{prefix}programs-{at}", first_chart + at)
        for at, picture in enumerate(pictures)
    )
    body = "".join(
        (
            _lead(prediction),
            f'<section id="{prefix}programs" class="curves pictures"><h2>Programs</h2>{shown}'
            "</section>\n",
            environment_section(prediction, prefix),
        )
    )
    return body, [list(picture.targets) for picture in pictures]


def _lead(prediction: PredictionResult) -> str:
    shown = [
        (
            f"{found.error:.3f}",
            f"exp(mean |ln(predicted / measured)|) of {found.programs} {which}; "
            f"worst {found.worst:.3f}, {found.worst_program}",
        )
        for which, found in (
            ("programs never used for tuning", prediction.untuned),
            ("programs", prediction.all),
        )
        if found is not None
    ]
    if prediction.machine_spread is not None:
        shown.append((f"{prediction.machine_spread:.3f}", "this machine against itself"))
    remarks = notes(
        [
            (prediction.interrupted, "Interrupted: what was finished is here."),
            *((True, f"{one.name}: {one.problem}") for one in prediction.programs if one.problem),
        ]
    )
    about = f"{prediction.target.spec}: {how_much(prediction)}."
    return f'<p class="lead">{escape(about)}</p>{remarks}{tiles(shown)}\n'


def _ratios(compared: list[PredictedProgram]) -> Picture:
    rows = [
        Ratio(
            name=one.name,
            unit="ms",
            a=(one.measured_ns or 0) / 1e6,
            b=(one.predicted_ns or 0) / 1e6,
            noise=one.spread or 0,
            differs=abs((one.ratio or 1) - 1) > max(one.spread or 0, _LEAST_SPREAD),
        )
        for one in sorted(compared, key=lambda one: one.ratio or 1)
    ]
    note = "a is measured, b predicted; noise is the distance between the native quartiles"
    return ratio_rows("Predicted over measured time", rows, note)


def _stacks(compared: list[PredictedProgram]) -> Picture:
    causes = list(dict.fromkeys(cause for one in compared for cause in one.stack or {}))
    rows = [
        Bar(
            one.name,
            tuple(
                Part(cause, share, 1 + causes.index(cause) % 8)
                for cause, share in (one.stack or {}).items()
            ),
        )
        for one in compared
    ]
    return bars("What the model's time went to", rows, show=lambda part: f"{100 * part:.0f} %")
