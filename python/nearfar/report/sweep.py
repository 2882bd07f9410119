"""A swept study as text and CSV: a point a line."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from nearfar.report.text import table
from nearfar.results.sweep import DONE, FAILED, MISSING, SweepPoint, SweepResult
from nearfar.results.wording import counted, number

SHORT_ID = 8  # digits of an address in a table
Cells = list[str]


def sweep_text(result: SweepResult) -> str:
    """The points with what varies and their figures; then those that failed, and what matters."""
    done, failed = result.of_state(DONE), result.of_state(FAILED)
    missing = result.of_state(MISSING)
    head = f"{result.study}: {counted(len(result.points), 'point')}"
    head += f", {len(failed)} failed" if failed else ""
    head += f", {len(missing)} not computed yet" if missing else ""
    text = f"{head}\n"
    if result.description:
        text += f"{result.description}\n"
    if done:
        columns = [*_places(result), *result.figures]
        align = "<" * (1 + len(_places(result))) + ">" * len(result.figures)
        text += table(["point", *columns], [_row(result, one) for one in done], align)
    for one in failed:
        text += f"failed {one.id[:SHORT_ID]} {described(one)}: {one.error}\n"
    return text + sensitivity_text(result)


def sensitivity_text(result: SweepResult) -> str:
    """Which key matters, the strongest first."""
    if not result.sensitivity:
        return ""
    names = list(result.sensitivity[0].values)
    first = names[1] if result.sensitivity[0].method == "sobol" else names[0]
    ordered = sorted(
        result.sensitivity, key=lambda one: (one.of, one.figure, -(one.values[first] or 0.0))
    )
    rows = [
        [one.of, one.figure, one.key, *(_number(one.values[name]) for name in names)]
        for one in ordered
    ]
    kept = slice(0 if any(one.of for one in ordered) else 1, None)
    head = ["of", "figure", "key", *names][kept]
    align = ("<<<" + ">" * len(names))[kept]
    return f"\nsensitivity, {result.design}\n" + table(head, [row[kept] for row in rows], align)


def sweep_csv(result: SweepResult) -> str:
    """Every point, also those that failed or are missing, with all that varies and its figures."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    head, rows = sweep_columns(result)
    writer.writerow(head)
    writer.writerows(rows)
    return stream.getvalue()


def sweep_columns(result: SweepResult) -> tuple[list[str], list[list[str | float | None]]]:
    """Head and rows of a table for other programs: numbers, and None where there is none."""
    head = ["point", "target", "work", *result.keys, *result.figures, "state", "error"]
    rows: list[list[str | float | None]] = [
        [
            *(one.id, one.target, one.work),
            *(one.settings.get(key) for key in result.keys),
            *(one.figures.get(name) for name in result.figures),
            *(one.state, one.error),
        ]
        for one in result.points
    ]
    return head, rows


def described(point: SweepPoint) -> str:
    """What is set at a point, in words."""
    settings = ", ".join(f"{key}={value}" for key, value in point.settings.items())
    return settings or point.target


def _places(result: SweepResult) -> Sequence[str]:
    """The columns that tell the points apart."""
    targets = ["target"] if len(result.targets) > 1 else []
    works = ["work"] if len(result.works) > 1 else []
    return [*targets, *works, *result.keys]


def _row(result: SweepResult, point: SweepPoint) -> Cells:
    targets = [point.target] if len(result.targets) > 1 else []
    works = [point.work] if len(result.works) > 1 else []
    settings = [point.settings.get(key, "") for key in result.keys]
    figures = [_number(point.figures.get(name)) for name in result.figures]
    return [point.id[:SHORT_ID], *targets, *works, *settings, *figures]


def _number(value: float | None) -> str:
    return "" if value is None else number(value)


def pareto_front(result: SweepResult, goals: Sequence[tuple[str, bool]]) -> list[SweepPoint]:
    """The done points that no other is better than in one of `goals` and as good in the rest. A
    goal is a figure, and whether more of it is better."""

    def costs(point: SweepPoint) -> tuple[float, ...]:
        return tuple(point.figures[name] * (-1 if more else 1) for name, more in goals)

    complete = [
        (costs(one), one)
        for one in result.of_state(DONE)
        if all(name in one.figures for name, _ in goals)
    ]
    return [
        one
        for mine, one in complete
        if not any(
            other != mine and all(a <= b for a, b in zip(other, mine, strict=True))
            for other, _ in complete
        )
    ]
