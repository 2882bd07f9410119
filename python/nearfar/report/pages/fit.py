"""A fit as a page: what was fitted and held out beside the model, and what fixes each value."""

from __future__ import annotations

from html import escape

from nearfar.report.chart import Chart
from nearfar.report.fit import folds, interval_text
from nearfar.report.frame import Target, notes, tiles
from nearfar.report.pages.validation import charts_of, curves, pointed
from nearfar.results import ComparedSeries, FitResult, FittedSeries


def fit_title(result: FitResult) -> str:
    """What stands above it."""
    return f"A model fitted to {', '.join(result.sources)}"


def fit_body(
    result: FitResult, prefix: str = "", first_chart: int = 0
) -> tuple[str, list[list[Target]]]:
    """Everything below the title, and what the pointer finds on its charts."""
    parts = [_lead(result), _parameters(result, prefix)]
    charts: list[Chart] = []
    for held_out, heading in ((False, "Fitted"), (True, "Held out")):
        series = [_compared(one) for one in result.series if one.held_out is held_out]
        if series:
            name = "held-" if held_out else ""
            own = charts_of(series, f"{prefix}{name}")
            parts.append(curves(own, f"{prefix}{name}", first_chart + len(charts), heading))
            charts += own
    parts += [_folds(result, prefix), _kept(result, prefix)]
    return "".join(parts), pointed(charts)


def _lead(result: FitResult) -> str:
    shown = [(f"{len(result.parameters)}", "parameters that the measurements fix")]
    if result.training is not None:
        shown.append((f"{result.training:.3f}", "mean accuracy over the points fitted"))
    if result.hold_out is not None:
        shown.append((f"{result.hold_out:.3f}", "over the points held out"))
    remarks = notes(
        (
            (result.budget_spent, "The budget of simulations ended the search before it settled."),
            (
                result.is_poor,
                "It is no model of what was measured: not half of that is predicted. Another base "
                "may be of that kind of memory.",
            ),
            (
                result.over_fits,
                "It over-fits: what was held out is predicted worse by more than 0.03.",
            ),
        )
    )
    about = f"On base {result.base}, by {result.simulations} simulations."
    return f'<p class="lead">{escape(about)}</p>{remarks}{tiles(shown)}\n'


def _parameters(result: FitResult, prefix: str) -> str:
    rows = "".join(
        f"<tr><th scope=row>{escape(one.key)}<td>{escape(one.value)}"
        f"<td>{escape(interval_text(one))}"
        f'<td class="words">{escape(", ".join(one.observations))}</tr>'
        for one in result.parameters
    )
    return (
        f'<section id="{prefix}parameters" class="summary"><h2>What the measurements fix</h2>'
        '<div class="scroll"><table><thead><tr><th scope=col>Key<th scope=col>Value'
        "<th scope=col>Interval<th scope=col class=words>Fixed by</tr></thead>"
        f"<tbody>{rows}</tbody></table></div></section>\n"
    )


def _folds(result: FitResult, prefix: str) -> str:
    if not result.folds:
        return ""
    rows = "".join(
        f'<tr><th scope=row class="words">{escape(names)}<td>{training}<td>{held}</tr>'
        for names, training, held in folds(result)
    )
    return (
        f'<section id="{prefix}folds" class="summary"><h2>Each series held out in turn</h2>'
        '<div class="scroll"><table><thead><tr><th scope=col class=words>Held out'
        "<th scope=col>Training accuracy<th scope=col>Hold-out accuracy</tr></thead>"
        f"<tbody>{rows}</tbody></table></div></section>\n"
    )


def _kept(result: FitResult, prefix: str) -> str:
    rows = "".join(
        f"<tr><th scope=row>{escape(one.key)}<td>{escape(one.value)}"
        f'<td class="words">{escape(one.reason)}</tr>'
        for one in result.kept
    )
    return (
        f'<section id="{prefix}kept" class="summary"><h2>What stays the base\'s</h2>'
        '<div class="scroll"><table><thead><tr><th scope=col>Key<th scope=col>Value'
        f"<th scope=col class=words>Because</tr></thead><tbody>{rows}</tbody></table></div>"
        "</section>\n"
    )


def _compared(one: FittedSeries) -> ComparedSeries:
    return ComparedSeries(
        name=one.name,
        title=one.title or one.name,
        dataset=one.dataset or one.name,
        source="",
        n=one.n,
        mean=one.mean,
        worst=one.worst,
        worst_point=one.worst_point,
        ceiling=1.0,
        mean_abs_log=one.mean_abs_log,
        points=one.points,
        shape=(),
        x_name=one.x_name,
        x_unit=one.x_unit,
    )
