"""A probe's result as part of a page: structure, findings, evidence, environment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from html import escape

from nearfar.report.diagram import diagram
from nearfar.report.figures.figure import COLOURS, Figure, draw
from nearfar.report.figures.observations import figures, places
from nearfar.report.findings import brief, interval, value
from nearfar.report.frame import Target, facts, notes, tiles
from nearfar.results import (
    CrashResult,
    Environment,
    Finding,
    MeasureResult,
    Precondition,
    PredictionResult,
    ProbeResult,
    ReplayResult,
    RunResult,
)
from nearfar.results.findings import IDENTIFIED, NAMES
from nearfar.results.wording import number

_LINKS = 8  # figures that a finding leads to


def probe_title(result: ProbeResult) -> str:
    """What stands above it."""
    if result.target is None:
        return "What is inside"
    where = "this machine's " if result.target.kind == "host" else ""
    return f"Inside {where}{result.target.name}"


def probe_body(
    result: ProbeResult, prefix: str = "", first_chart: int = 0
) -> tuple[str, list[list[Target]]]:
    """Everything below the title, and what the pointer finds on its figures."""
    drawn = figures(result.observations, result.findings, prefix)
    pictures = [draw(figure) for figure in drawn]
    body = "".join(
        (
            _lead(result),
            _structure(result, prefix),
            _findings(result, places(drawn), prefix),
            cards(drawn, pictures, first_chart, "Evidence", f"{prefix}evidence"),
            environment_section(result, prefix),
        )
    )
    return body, [figure.targets for figure in drawn]


def _lead(result: ProbeResult) -> str:
    known = [one for one in result.findings if one.status == IDENTIFIED]
    missing = len(result.findings) - len(known)
    accesses = sum(one.accesses for one in result.observations)
    shown = [
        (f"{len(known)}", "parameters identified"),
        (f"{missing}", "not identifiable, each with its reason"),
        (f"{len(result.observations)}", f"observations, {number(accesses)} accesses"),
    ]
    if result.target is None:
        sources = result.pattern.get("sources")
        listed = f" ({', '.join(map(str, sources))})" if sources else ""
        lead = f"Inferred from saved measurements alone{listed}."
    else:
        lead = (
            f"{result.target.spec}, {result.target.mode}. Every value follows from the "
            "observations below and from nothing else; the target's name and model play no part."
        )
    remarks = notes(
        (
            (bool(result.pattern.get("quick")), "A quick probe: fewer repetitions."),
            (result.interrupted, "Interrupted: only the experiments that were finished."),
        )
    )
    return f'<p class="lead">{escape(lead)}</p>{remarks}{tiles(shown)}\n'


def _structure(result: ProbeResult, prefix: str) -> str:
    picture = diagram(result.findings, f"{prefix}finding-")
    if not picture:
        return ""
    return (
        f'<section id="{prefix}structure"><h2>Structure</h2>'
        f'<div class="card"><div class="scroll">{picture}</div></div></section>\n'
    )


def _findings(result: ProbeResult, where: dict[str, str], prefix: str) -> str:
    rows = "".join(_finding_row(one, where, prefix) for one in result.findings)
    return (
        f'<section id="{prefix}findings" class="findings"><h2>Findings</h2>'
        '<div class="card"><div class="scroll"><table><thead><tr><th scope=col>Parameter'
        "<th scope=col>Value<th scope=col>Interval<th scope=col class=words>Why"
        f"<th scope=col class=words>Evidence</tr></thead><tbody>{rows}</tbody></table></div></div>"
        "</section>\n"
    )


def _finding_row(one: Finding, where: dict[str, str], prefix: str) -> str:
    known = one.status == IDENTIFIED
    shown = f"<b>{escape(value(one))}</b>" if known else '<span class="unknown">unknown</span>'
    meaning = _meaning(one.name)
    kind = "" if known else " class=missing"
    return (
        f'<tr id="{prefix}finding-{escape(one.name)}"{kind}>'
        f'<th scope=row title="{escape(meaning)}">{escape(one.name)}'
        f"<td>{shown}<td>{escape(interval(one))}"
        f'<td class="words">{escape(one.reason)}<td class="words">{_evidence(one, where)}</tr>'
    )


def _meaning(name: str) -> str:
    """What the name stands for; the level's number is left out."""
    parts = ["N" if part.isdecimal() else part for part in name.split(".")]
    return NAMES.get(".".join(parts), ("", ""))[1]


def _evidence(one: Finding, where: dict[str, str]) -> str:
    """Links to the figures that show the observations, and the observations' names."""
    found: dict[str, list[str]] = {}
    for name in one.evidence:
        if name in where:
            found.setdefault(where[name], []).append(name)
    links = [
        f'<a href="#{figure}">{escape(brief(names))}</a>'
        for figure, names in list(found.items())[:_LINKS]
    ]
    rest = [name for name in one.evidence if name not in where]
    rest += [name for names in list(found.values())[_LINKS:] for name in names]
    return ", ".join([*links, *([escape(brief(rest))] if rest else [])])


def cards(
    drawn: Sequence[Figure], pictures: Sequence[str], first: int, title: str, name: str
) -> str:
    """Figures as cards, numbered from `first` on."""
    if not drawn:
        return ""
    shown = "".join(
        _card(figure, picture, number_)
        for number_, (figure, picture) in enumerate(zip(drawn, pictures, strict=True), start=first)
    )
    head = f"<h2>{escape(title)}</h2>"
    return f'<section id="{name}" class="curves">{head}{shown}</section>\n'


def _card(figure: Figure, picture: str, chart: int) -> str:
    legend = ""
    if len(figure.lines) > 1:
        items = "".join(
            f'<li class="s{index % COLOURS}"><i></i>{escape(line.label)}</li>'
            for index, line in enumerate(figure.lines)
            if line.spots
        )
        legend = f'<ul class="legend">{items}</ul>'
    note = f'<p class="keys">{escape(figure.note)}</p>' if figure.note else ""
    return (
        f'<article id="{figure.name}"><h3>{escape(figure.title)}</h3>{note}{legend}'
        f'<div class="chart" data-chart="{chart}">{picture}</div>{_point_table(figure)}</article>\n'
    )


_ROWS = 400  # of a table of points; a longer one is in the file


def _point_table(figure: Figure) -> str:
    """The numbers of the picture, as a table."""
    spots = [(line.label, spot) for line in figure.lines for spot in line.spots]
    rows = "".join(
        f"<tr><td>{escape(label)}<td>{escape(spot.label)}"
        + "".join(f"<td>{escape(shown)}" for _, shown in spot.rows)
        + "</tr>"
        for label, spot in spots[:_ROWS]
    )
    columns = "".join(f"<th scope=col>{escape(name)}" for name, _ in spots[0][1].rows)
    more = f", the first {_ROWS} of them" if len(spots) > _ROWS else ""
    return (
        f"<details><summary>{len(spots)} points as a table{more}</summary>"
        '<div class="scroll"><table><thead><tr><th scope=col>Line<th scope=col>Point'
        f"{columns}</tr></thead><tbody>{rows}</tbody></table></div></details>"
    )


def environment_section(
    result: MeasureResult | ProbeResult | RunResult | ReplayResult | CrashResult | PredictionResult,
    prefix: str,
) -> str:
    """What could have influenced the numbers: every fact that the file has."""
    pairs = []
    if result.target is not None:
        pairs += [("target", result.target.spec), ("mode", result.target.mode)]
    if result.environment is not None:
        pairs += environment_facts(result.environment)
    if not pairs:
        return ""
    judged = result.environment.preconditions if result.environment is not None else None
    return (
        f'<section id="{prefix}environment"><h2>Environment</h2>'
        f'<div class="card facts">{facts(pairs)}</div>{_preconditions(judged)}</section>\n'
    )


def environment_facts(environment: Environment) -> list[tuple[str, str]]:
    """Names and values of everything that is one value."""
    pairs = []
    for one in fields(environment):
        found = getattr(environment, one.name)
        if isinstance(found, (str, int, float)):
            shown = number(found) if isinstance(found, float) else str(found)
            pairs.append((one.name.replace("_", " "), shown))
    return pairs


def _preconditions(judged: Sequence[Precondition] | None) -> str:
    """What the machine had to provide, and whether it did."""
    if not judged:
        return ""
    rows = "".join(
        f'<tr class="state-{escape(one.state)}"><th scope=row>{escape(one.name)}'
        f'<td><b>{escape(one.state)}</b><td class="words">{escape(one.found)}'
        f'<td class="words">{escape(one.effect)}<td class="words">{escape(one.mend)}</tr>'
        for one in judged
    )
    return (
        '<div class="card findings preconditions"><div class="scroll"><table><thead><tr>'
        "<th scope=col>Precondition<th scope=col>State<th scope=col class=words>Found"
        "<th scope=col class=words>Without it<th scope=col class=words>What mends it"
        f"</tr></thead><tbody>{rows}</tbody></table></div></div>"
    )
