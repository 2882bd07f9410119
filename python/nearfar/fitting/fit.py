"""`fit`: measurements of one device in, a model of it out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

from nearfar.errors import InputError
from nearfar.fitting.given import Given, Source, base_of, read
from nearfar.fitting.holding import folds, split
from nearfar.fitting.record import SUFFIX, Record
from nearfar.fitting.search import FEWEST, Search, Searched
from nearfar.fitting.simulations import Progress, Simulations
from nearfar.fitting.solve import FLOOR
from nearfar.fitting.write import model_text
from nearfar.model import load
from nearfar.model.schema import KEYS, canonical
from nearfar.results import FitFold, FitResult
from nearfar.simulate.validation.series import Series

BUDGET = 20_000  # simulations of one pattern on one machine


@dataclass(frozen=True)
class Options:
    """How to fit. Without a `base` that is `nvdimm`, or `dram` for what `probe` found on a machine
    without a DIMM's buffers. `only` are datasets of the tables given, `keep` keys that stay the
    base's, `hold_out` names of series or a share such as "25%". With `folds` every series is held
    out in one of so many further searches, each of which has the whole budget. `record` is where
    what was simulated is kept, so that a fit that was interrupted goes on there; remove it when the
    model is written."""

    base: str | None = None
    only: Sequence[str] = ()
    keep: Sequence[str] = ()
    hold_out: Sequence[str] = ()
    folds: int = 0
    budget: int = BUDGET
    processes: int | None = None
    record: Path | None = None


_DEFAULT = Options()


@dataclass(frozen=True)
class Fit:
    """What came out: the document, and the text of the model file."""

    result: FitResult
    text: str


def fit(
    *sources: Source,
    options: Options = _DEFAULT,
    output: str | None = None,
    progress: Progress | None = None,
) -> Fit:
    """A model of the device that the sources are measurements of.

    A source is a file that `probe` or `measure` saved, such a result in memory, a CSV table or a
    folder of them. `output` is where the text will be written, as its base is named from there.

    Raises InputError for sources that fit nothing, and KeyboardInterrupt on Ctrl-C; what was
    simulated until then is in the record.
    """
    if options.folds and options.hold_out:
        raise InputError("folds: each series is held out in turn; expected no hold-out beside it")
    name = options.base if options.base is not None else base_of(sources)
    base = load(name)
    given = read(sources, base, options.only)
    search = Search(given, base, _kept_keys(options.keep))
    trained, held = split(given.series, options.hold_out)
    others = folds(given.series, options.folds) if options.folds else []
    runner = _Runner(search, options, progress)
    whole = runner.run(trained, held)
    if not whole.fixes_something:
        raise InputError(_nothing(given, name))
    result = FitResult(
        base=name,
        sources=given.sources,
        model_hash=whole.model.hash(),
        parameters=tuple(whole.parameters),
        kept=tuple(whole.kept),
        series=tuple(whole.series),
        training=whole.accuracy(held_out=False),
        hold_out=whole.accuracy(held_out=True),
        budget_spent=whole.budget_spent,
    )
    result = _crossed(result, [runner.run(*fold) for fold in others])
    text = model_text(name, given.sources, whole.parameters, whole.following, output)
    return Fit(replace(result, simulations=runner.made), text)


class _Runner:
    """Searches one after another, which share what was simulated; each has the budget whole."""

    def __init__(self, search: Search, options: Options, progress: Progress | None) -> None:
        self.record = Record(options.record)
        self.made = 0
        self._search = search
        self._options = options
        self._progress = progress

    def run(self, trained: Sequence[Series], held: Sequence[Series]) -> Searched:
        """Fit to `trained` with the structure that all but `held` show."""
        found = []
        for shape in self._search.shapes(trained, held):
            simulations = Simulations(
                shape.model,
                self._options.budget,
                self.record,
                processes=self._options.processes,
                progress=self._progress,
            )
            found.append(self._search.search(shape, simulations, trained, held))
            self.made += simulations.made
        nearest = min(found, key=lambda one: one.off)
        return nearest if nearest.off + FLOOR < found[0].off else found[0]


def _crossed(result: FitResult, searched: Sequence[Searched]) -> FitResult:
    """The result with its folds; the accuracy of the hold-out is over all points, each held out
    once."""
    if not searched:
        return result
    held = [one for fold in searched for one in fold.series if one.held_out]
    return replace(
        result,
        hold_out=fmean(point.accuracy for one in held for point in one.points),
        folds=tuple(
            FitFold(
                held_out=tuple(one.name for one in fold.series if one.held_out),
                training=fold.accuracy(held_out=False) or 0.0,
                hold_out=fold.accuracy(held_out=True) or 0.0,
            )
            for fold in searched
        ),
    )


def record_beside(output: str) -> Path:
    """Where a fit that writes `output` keeps what it has simulated."""
    return Path(output + SUFFIX)


def _kept_keys(keys: Sequence[str]) -> set[str]:
    from nearfar.model.file import unknown_key

    for key in keys:
        if canonical(key) not in KEYS:
            raise InputError(f"keep: {unknown_key(key)}")
    return {canonical(key) for key in keys}


def _nothing(given: Given, base: str) -> str:
    points = sum(len(one.points) for one in given.series)
    if 0 < points < FEWEST:
        return (
            f"{', '.join(given.sources)}: found {points} points and no structure, expected "
            f"{FEWEST} points or more to fit to"
        )
    return (
        f"{', '.join(given.sources)}: found nothing that fixes a parameter of {base}; "
        "`nearfar probe` finds structure and times, and another --base may fit better"
    )
