"""A validation as a page: series against hardware, the model, and where both come from."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import groupby

from nearfar.report.chart import Chart, draw, units
from nearfar.report.frame import BAR, Target, facts, frame, notes, sentence, tiles
from nearfar.results import ComparedSeries, Parameter, ValidationResult


def validation_page(validation: ValidationResult) -> str:
    """The page's HTML."""
    body, targets = validation_body(validation)
    head = f"{BAR}<h1>{escape(validation_title(validation))}</h1>"
    page = f"<header>{head}</header>\n<main>\n{body}</main>\n{_footer(validation)}"
    return frame(f"{validation.target.spec} against hardware", page, targets)


def validation_title(validation: ValidationResult) -> str:
    """What stands above it."""
    return f"{validation.target.name} against the real thing"


def validation_body(
    validation: ValidationResult, prefix: str = "", first_chart: int = 0
) -> tuple[str, list[list[Target]]]:
    """Everything below the title, and what the pointer finds on its charts.

    `prefix` stands before every id, and charts are numbered from `first_chart` on, so that
    a page can hold several documents.
    """
    charts = charts_of(validation.series, prefix)
    body = "".join(
        (
            _lead(validation),
            _summary(validation, charts, prefix),
            curves(charts, prefix, first_chart),
            _model(validation, prefix),
            _ACCURACY.replace("@", prefix),
            _sources(validation, prefix),
        )
    )
    return body, pointed(charts)


def pointed(charts: Sequence[Chart]) -> list[list[Target]]:
    """What the pointer finds on each chart."""
    return [[_target(target) for target in chart.targets] for chart in charts]


def _target(target: tuple[float, float, float, int, str, str, str, str]) -> Target:
    x, model, hardware, series, label, real, simulated, accuracy = target
    rows = (("hardware", real), ("model", simulated), ("accuracy", accuracy))
    return (x, model, hardware, series, label, rows)


def charts_of(series: Sequence[ComparedSeries], prefix: str) -> list[Chart]:
    """One chart a dataset and, where there is no axis, a unit."""
    grouped = groupby(
        series,
        key=lambda one: (one.dataset, "" if one.x_name else "/".join(sorted(units([one])))),
    )
    charts = []
    for number, ((dataset, _), found) in enumerate(grouped):
        own = list(found)
        charts.append(draw(f"{prefix}chart-{number}", _common_title(own) or dataset, own))
    return charts


def _common_title(series: Sequence[ComparedSeries]) -> str:
    """What the titles of all series begin with, up to a comma."""
    if len(series) == 1:
        return series[0].title
    parts = [one.title.split(", ") for one in series]
    shared = [same[0] for same in zip(*parts, strict=False) if len(set(same)) == 1]
    return ", ".join(shared)


def _lead(validation: ValidationResult) -> str:
    points = sum(one.n for one in validation.series)
    mean = sum(one.mean * one.n for one in validation.series) / max(points, 1)
    worst = min(validation.series, key=lambda one: one.worst, default=None)
    shown = [
        (f"{points}", "measured points, none left out"),
        (f"{mean:.3f}", "mean accuracy over all points"),
    ]
    if worst is not None:
        shown.append((f"{worst.worst:.3f}", f"worst point: {worst.worst_point} of {worst.name}"))
    remarks = notes(
        (
            (validation.quick, "A quick run: a subset of each curve."),
            (validation.interrupted, "Interrupted: only the points that were finished."),
        )
    )
    return (
        f'<p class="lead">{escape(sentence(validation.model.description))} Every point below was '
        "measured on hardware and published; the model played the same pattern.</p>"
        f"{remarks}{tiles(shown)}\n"
    )


def _summary(validation: ValidationResult, charts: Sequence[Chart], prefix: str) -> str:
    place = {one.name: chart.name for chart in charts for one in chart.series}
    rows = "".join(_summary_row(one, place[one.name]) for one in validation.series)
    return (
        f'<section id="{prefix}summary" class="summary"><h2>Summary</h2><div class="scroll">'
        "<table>"
        "<thead><tr><th scope=col>Series<th scope=col>Points<th scope=col>Mean accuracy"
        "<th scope=col>Worst<th scope=col class=words>Worst at"
        '<th scope=col title="What predicting the median of repeated measurements would score">'
        "Ceiling<th scope=col>|ln(model/real)|"
        f"</tr></thead><tbody>{rows}</tbody></table></div></section>\n"
    )


def _summary_row(one: ComparedSeries, chart: str) -> str:
    meter = (
        f'<span class="meter" aria-hidden="true"><i style="width:{100 * one.mean:.1f}%"></i></span>'
    )
    return (
        f'<tr><th scope=row><a href="#{chart}">{escape(one.name)}</a>'
        f"<td>{one.n}<td>{meter}{one.mean:.3f}<td>{one.worst:.3f}"
        f'<td class="words">{escape(one.worst_point)}<td>{one.ceiling:.3f}'
        f"<td>{one.mean_abs_log:.3f}</tr>"
    )


def curves(
    charts: Sequence[Chart], prefix: str, first: int, heading: str = "Measured and modelled"
) -> str:
    """A section of the page with a card for each chart, numbered from `first` on."""
    cards = "".join(_card(number, chart) for number, chart in enumerate(charts, start=first))
    head = f'<section id="{prefix}curves" class="curves">'
    return f"{head}<h2>{escape(heading)}</h2>{cards}</section>\n"


def _card(number: int, chart: Chart) -> str:
    first = chart.series[0]
    legend = "".join(
        f'<li class="s{index}"><i></i>{escape(_own_title(one, chart.title))}mean accuracy '
        f"<b>{one.mean:.3f}</b></li>"
        for index, one in enumerate(chart.series)
    )
    how = (
        '<span class="key"><i class="dot"></i>hardware</span><span class="key"><i></i>model</span>'
        if first.x_name
        else '<span class="key">the line is the hardware, the band 10 % either side</span>'
    )
    return (
        f'<article id="{chart.name}"><h3>{escape(chart.title)}</h3>'
        f'<ul class="legend">{legend}</ul><p class="keys">{how}</p>'
        f'<div class="chart" data-chart="{number}">{chart.svg}</div>'
        f"{_point_table(chart)}</article>\n"
    )


def _own_title(one: ComparedSeries, common: str) -> str:
    """What sets the series apart from the others of its chart."""
    rest = one.title.removeprefix(common).lstrip(", ")
    return f"{rest}: " if rest else ""


def _point_table(chart: Chart) -> str:
    """Every number of the picture, as a table."""
    rows = "".join(
        f"<tr><td>{escape(chart.series[index].name)}<td>{escape(label)}<td>{escape(real)}"
        f"<td>{escape(model)}<td>{escape(accuracy)}</tr>"
        for *_, index, label, real, model, accuracy in chart.targets
    )
    return (
        f"<details><summary>{len(chart.targets)} points as a table</summary>"
        '<div class="scroll"><table><thead><tr><th scope=col>Series<th scope=col>Point'
        "<th scope=col>Hardware<th scope=col>Model<th scope=col>Accuracy</tr></thead>"
        f"<tbody>{rows}</tbody></table></div></details>"
    )


def _model(validation: ValidationResult, prefix: str) -> str:
    card = validation.model
    groups = groupby(card.parameters, key=_component)
    tables = "".join(_parameter_table(name, list(found)) for name, found in groups)
    return (
        f'<section id="{prefix}model"><h2>The model</h2><p>{escape(sentence(card.description))} '
        f"{len(card.parameters)} parameters, each with the measurement or publication it "
        f"comes from.</p>{tables}</section>\n"
    )


def _component(parameter: Parameter) -> str:
    head, _, rest = parameter.key.partition(".")
    if not rest:
        return "machine"
    return f"{head}.dram" if rest.startswith("dram.") else head


def _parameter_table(component: str, parameters: Sequence[Parameter]) -> str:
    rows = "".join(
        f'<tr><th scope=row title="{escape(one.meaning)}">{escape(one.key)}'
        f'<td>{escape(one.value)}<td class="words">{escape(one.source)}</tr>'
        for one in parameters
    )
    return (
        f"<details><summary>{escape(component)} ({len(parameters)})</summary>"
        '<div class="scroll"><table><thead><tr><th scope=col>Key<th scope=col>Value'
        f"<th scope=col>Source</tr></thead><tbody>{rows}</tbody></table></div></details>"
    )


_ACCURACY = (
    '<section id="@accuracy"><h2>How accuracy is computed</h2>'
    "<p>The accuracy of a point is 1 &minus; |model &minus; hardware| / hardware, and 0 where "
    "that is negative. A series shows the mean over its points and its worst point, because a "
    "mean can hide both. Nothing is scaled, no constant is added, and no point is left out.</p>"
    "<p>The ceiling is what predicting each configuration's own median measurement would score: "
    "hardware does not repeat itself, and no model can be expected to do better. It is 1 where "
    "nothing was measured twice. |ln(model/real)| treats twice too slow and twice too fast "
    "alike.</p></section>\n"
)


def _sources(validation: ValidationResult, prefix: str) -> str:
    by_source: dict[str, list[str]] = {}
    for one in validation.series:
        by_source.setdefault(one.source, []).append(one.name)
    items = "".join(
        f"<li><b>{escape(source)}</b><br>{escape(', '.join(names))}</li>"
        for source, names in by_source.items()
    )
    return (
        f'<section id="{prefix}sources"><h2>Where the measurements come from</h2>'
        f"<ul class=sources>{items}</ul><p>The folder <code>reference/</code> that comes with "
        "nearfar holds the tables, with repository, commit, licence and machine of each."
        "</p></section>\n"
    )


def _footer(validation: ValidationResult) -> str:
    shown = facts(
        (
            ("target", validation.target.spec),
            ("mode", validation.target.mode),
            ("against", ", ".join(validation.against)),
            ("model", validation.environment.model_hash or ""),
            ("nearfar", validation.environment.version),
        )
    )
    return f"<footer>{shown}</footer>\n"
