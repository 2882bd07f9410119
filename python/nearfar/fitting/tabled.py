"""Published tables as what a fit is given: about ten points of each curve, and the structure that
they show.

A dataset brings the overrides of its own measurements (the number of DIMMs, a power budget); so
its series may be fitted beside those of another. What is inside a DIMM shows where one alone was
measured: curves through several interleaved ones have their edges elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nearfar.errors import InputError, check_one_of, file_error
from nearfar.inference.curves.tables import observations
from nearfar.model import Model
from nearfar.results import Finding
from nearfar.simulate.validation import tables
from nearfar.simulate.validation.datasets import DATASETS, kind_of, overwrite
from nearfar.simulate.validation.series import Job, Series
from nearfar.simulate.validation.tables import Row, Tables

POINTS = 12  # of each curve
FIGURES = 8  # of each list of figures

_IN_NS = "ns_at_2.2GHz"
_START = 4096  # bytes of a file that tell what it is
_SHOWN = 40  # of its first line

_ALONE = ("channels", "1")
_BEHIND_ONE = ("modules", "interleave")  # what a measurement through one DIMM says nothing about


@dataclass(frozen=True)
class Tabled:
    """What the chosen datasets of a folder or table show: `curves` have all of their points."""

    series: tuple[Series, ...]
    curves: Mapping[str, Sequence[Series]]

    def findings(self, held: Collection[str] = ()) -> list[Finding]:
        """The structure that all curves show but the series `held`."""
        found: list[Finding] = []
        for name, curves in self.curves.items():
            found += _structure(name, [one for one in curves if one.name not in held])
        return found


def check_names(only: Sequence[str], base: Model) -> None:
    """Raises InputError for a dataset that is unknown, or of another kind of machine."""
    for name in only:
        check_one_of("only", name, DATASETS)
        if DATASETS[name].machine != kind_of(base):
            raise InputError(
                f"only: {name} is of a {DATASETS[name].machine} machine, but the base "
                f"{base.name} is {kind_of(base)}"
            )


def from_tables(path: Path, only: Sequence[str], base: Model) -> Tabled:
    """The datasets `only` of a table or a folder of tables; of one that has a single dataset, that.

    Raises InputError where there is none, or a choice to make.
    """
    if path.is_dir():
        read = tables.external(path)
    else:
        _check_is_table(path)
        read = tables.single(path)
    names = only or _the_one(path, read, base)
    curves: dict[str, Sequence[Series]] = {}
    series: list[Series] = []
    for name in names:
        built = DATASETS[name].build(read)
        if not built:
            raise InputError(f"{path}: has no table for the dataset {name}")
        curves[name] = built
        series += _thinned(built)
    return Tabled(tuple(series), curves)


def _check_is_table(path: Path) -> None:
    """Raises InputError for a file that holds a page, a picture or nothing."""
    try:
        with path.open("rb") as stream:
            start = stream.read(_START).lstrip()
    except OSError as error:
        raise file_error(path, error) from None
    first = start.partition(b"\n")[0]
    found = None
    if not start:
        found = "an empty file"
    elif start.startswith(b"<"):
        found = "HTML or XML"
    elif b"\0" in start:
        found = "binary data"
    elif b"," not in first:
        found = f"'{first[:_SHOWN].decode(errors='replace').strip()}'"
    if found is not None:
        raise InputError(
            f"{path}:1: found {found}, expected what `nearfar probe --json` or `measure --json` "
            "saved, or a CSV table with a header"
        )


def _the_one(path: Path, read: Tables, base: Model) -> list[str]:
    nothing = Tables((), read.origin)  # from which figures quoted in nearfar itself are built
    there = [
        name
        for name, dataset in DATASETS.items()
        if dataset.build(read) and not dataset.build(nothing)
    ]
    if not there:
        raise InputError(f"{path}: no dataset of `nearfar validate --list` has such a table")
    if len(there) > 1:
        raise InputError(
            f"{path}: found {len(there)} datasets, perhaps of several devices, expected "
            f"--only with those of one: {', '.join(there)}"
        )
    if DATASETS[there[0]].machine != kind_of(base):
        raise InputError(
            f"{path}: found {there[0]}, of a {DATASETS[there[0]].machine} machine, but the base "
            f"{base.name} is {kind_of(base)}"
        )
    return there


def _structure(name: str, series: Sequence[Series]) -> list[Finding]:
    from nearfar.probing.findings import findings_of

    points = [point for one in series for point in one.points]
    if not all(_ALONE in point.job.overrides for point in points):
        return []
    rows = list({id(row): _in_ns(row) for point in points for row in point.rows}.values())
    try:
        seen = observations(name, list(rows[0]), rows) if rows else []
    except InputError:
        return []  # a layout that shows times, but no structure
    return [one for one in findings_of(seen) if one.name not in _BEHIND_ONE]


def _in_ns(row: Row) -> Row:
    """A row whose samples are in cycles and, beside them, in ns: as a table of ns has it."""
    return {"iteration": row["iteration"], "ns": row[_IN_NS]} if _IN_NS in row else row


def _thinned(series: Sequence[Series]) -> list[Series]:
    """About ten runs of each curve or list of figures. A series read from the runs of others has
    the points of those that they kept."""
    chosen: dict[Job, None] = {}
    kept = []
    for one in series:
        own = list(dict.fromkeys(point.job for point in one.points))
        shared = [job for job in own if job in chosen]
        runs = set(shared or _spread(one, own))
        chosen.update(dict.fromkeys(job for job in own if job in runs))
        points = [overwrite.shorten(point) for point in one.points if point.job in runs]
        kept.append(replace(one, points=tuple(points)))
    return kept


def _spread(series: Series, jobs: Sequence[Job]) -> Sequence[Job]:
    """So many of the runs: evenly over the logarithm of a curve's axis, else over the list."""
    if len(jobs) <= FIGURES:
        return jobs
    last = len(jobs) - 1
    if not series.x_name:
        return [jobs[round(i * last / (FIGURES - 1))] for i in range(FIGURES)]
    at = {point.job: math.log(max(1.0, point.x or 1.0)) for point in series.points}
    low, high = min(at.values()), max(at.values())
    wanted = [low + (high - low) * i / (POINTS - 1) for i in range(POINTS)]
    return list(dict.fromkeys(min(jobs, key=lambda job: abs(at[job] - x)) for x in wanted))
