"""Predicted beside measured time, as text."""

from __future__ import annotations

from nearfar.report.text import table
from nearfar.results.prediction import PredictedProgram, PredictionAccuracy, PredictionResult
from nearfar.results.wording import number

_HEADER = ("program", "measured", "spread", "predicted", "ratio", "tuned on", "mostly")


def prediction_text(prediction: PredictionResult) -> str:
    """A row for each program, the error over them, and what the machine's own spread is."""
    rows = [_row(one) for one in prediction.programs]
    lines = [f"{prediction.target.spec}: {how_much(prediction)}\n", table(_HEADER, rows, "<>>>><<")]
    lines += [
        f"{name}: {accuracy_text(found)}\n"
        for name, found in (
            ("programs never used for tuning", prediction.untuned),
            ("all programs", prediction.all),
        )
        if found is not None
    ]
    if prediction.machine_spread is not None:
        lines.append(f"this machine against itself: {_factor(prediction.machine_spread)}\n")
    return "".join(lines)


def how_much(prediction: PredictionResult) -> str:
    """Whether the runs are full or sampled, and under which conditions."""
    part = "full runs" if prediction.sample == 1 else f"sampled, 1/{prediction.sample} of the steps"
    return (
        f"{part}, {prediction.runs} native runs each, "
        f"{'2 MiB' if prediction.pages == 'huge' else '4 KiB'} pages"
    )


def accuracy_text(found: PredictionAccuracy) -> str:
    """The mean error and the worst, in one line."""
    return (
        f"exp(mean |ln(predicted / measured)|) = {_factor(found.error)} over {found.programs}, "
        f"worst {_factor(found.worst)} ({found.worst_program})"
    )


def milliseconds(nanoseconds: float | None) -> str:
    """Three digits at most behind the point, or a dash."""
    return "-" if nanoseconds is None else f"{number(nanoseconds / 1e6)} ms"


def mostly(one: PredictedProgram) -> str:
    """What most of the time on the model went to."""
    if not one.stack:
        return ""
    largest = sorted(one.stack.items(), key=lambda item: -item[1])[:2]
    return ", ".join(f"{cause} {100 * share:.0f} %" for cause, share in largest if share >= 0.05)


def _row(one: PredictedProgram) -> tuple[str, ...]:
    return (
        one.name,
        milliseconds(one.measured_ns),
        "-" if one.spread is None else f"{100 * one.spread:.1f} %",
        milliseconds(one.predicted_ns),
        "-" if one.ratio is None else _factor(one.ratio),
        "yes" if one.tuned else "never",
        mostly(one) if one.problem is None else "",
    )


def _factor(value: float) -> str:
    return f"{value:.3f}"
