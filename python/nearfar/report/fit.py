"""A fit as text: what was fixed and by what, what was not, and how well the model predicts."""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.report.text import table
from nearfar.results import FitResult, FittedParameter

_SHOWN = 3  # observations of a parameter


def fit_text(result: FitResult) -> str:
    """Parameters with their intervals; those kept, with the reason; accuracy by series."""
    sources = ", ".join(result.sources)
    text = f"fitted to {sources} on base {result.base}, {result.simulations} simulations\n"
    if result.budget_spent:
        text += "the budget of simulations was spent before the search settled\n"
    rows = [
        (one.key, one.value, interval_text(one), _brief(one.observations))
        for one in result.parameters
    ]
    text += table(("parameter", "value", "interval", "fixed by"), rows, "<<<<")
    if result.kept:
        kept = [(f"  {one.key}", one.value, one.reason) for one in result.kept]
        text += "\n" + table(("kept at the base's", "value", "because"), kept, "<<<")
    if result.series:
        text += "\n" + _accuracies(result)
    return text


def _accuracies(result: FitResult) -> str:
    rows = [
        (
            one.name + (" (held out)" if one.held_out else ""),
            str(one.n),
            f"{one.before:.3f}",
            f"{one.mean:.3f}",
            f"{one.worst:.3f}",
            one.worst_point,
        )
        for one in result.series
    ]
    heads = ("accuracy by series", "points", "base", "fitted", "worst", "at")
    text = table(heads, rows, "<>>>><")
    if result.training is not None:
        text += f"training accuracy {result.training:.3f}"
        held = result.hold_out
        text += "; nothing was held out\n" if held is None else f", hold-out {held:.3f}\n"
    if result.folds:
        text += "\n" + table(
            ("each held out in turn", "training", "hold-out"), folds(result), "<>>"
        )
    if result.is_poor:
        text += (
            f"it is no model of what was measured: a machine like {result.base} predicts less than "
            "half of it; expected measurements of that kind of memory, or another --base (dram, "
            "memory-mode, cxl)\n"
        )
    if result.over_fits:
        text += (
            "it over-fits: what was held out is predicted worse by more than 0.03; "
            "--keep some parameters, or a mechanism is missing\n"
        )
    return text


def folds(result: FitResult) -> list[tuple[str, str, str]]:
    """The series that each fold held out, and its accuracies."""
    return [
        (", ".join(one.held_out), f"{one.training:.3f}", f"{one.hold_out:.3f}")
        for one in result.folds
    ]


def interval_text(one: FittedParameter) -> str:
    """Where the value lies with 90 %; empty where that is not known."""
    if one.interval is None:
        return ""
    low, high = one.interval
    return "exact" if low == high else f"{low} to {high}"


def _brief(observations: Sequence[str]) -> str:
    shown = ", ".join(observations[:_SHOWN])
    return shown if len(observations) <= _SHOWN else f"{shown}, ..."
