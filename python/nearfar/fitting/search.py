"""One search: the structure that some series show, the times that give them, and how well the
model that comes out predicts these series and others."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from nearfar.errors import InputError
from nearfar.fitting.found import Fixed
from nearfar.fitting.given import Given
from nearfar.fitting.misfit import Misfit
from nearfar.fitting.noise import noise
from nearfar.fitting.parameters import candidates
from nearfar.fitting.processor import named_by
from nearfar.fitting.replayed import IN_ORDER
from nearfar.fitting.simulations import Simulations
from nearfar.fitting.solve import Estimate, Solver, unfitted
from nearfar.fitting.structure import derived, structure
from nearfar.model import Model
from nearfar.model.key import Plain
from nearfar.model.schema import KEYS
from nearfar.results import ComparedPoint, FittedParameter, FittedSeries, KeptParameter
from nearfar.results.fit import STRUCTURE, TIMES
from nearfar.simulate.validation.accuracy import accuracy, score
from nearfar.simulate.validation.series import Series

PREFETCHER = "cpu.prefetch.stream"
FEWEST = 3  # points that can fix anything
_NAMED = 3  # series that a parameter's source names


@dataclass(frozen=True)
class Searched:
    """What a search fixed and what it left, and the accuracy of every series it knows of."""

    model: Model
    parameters: Sequence[FittedParameter]
    kept: Sequence[KeptParameter]  # the base's
    following: Sequence[KeptParameter]  # that follow from the structure
    series: Sequence[FittedSeries]
    budget_spent: bool

    @property
    def fixes_something(self) -> bool:
        """Whether the observations say anything at all."""
        return bool(self.parameters)

    @property
    def off(self) -> float:
        """The mean of |ln(simulated / measured)| over the points fitted."""
        found = [one for one in self.series if not one.held_out]
        return sum(one.n * one.mean_abs_log for one in found) / max(1, sum(one.n for one in found))

    def accuracy(self, held_out: bool) -> float | None:
        """The mean over the points fitted or held out; None where there are none."""
        found = [
            point.accuracy
            for one in self.series
            if one.held_out is held_out
            for point in one.points
        ]
        return fmean(found) if found else None


@dataclass(frozen=True)
class Shape:
    """A model of the structure that was found, and what was."""

    model: Model
    found: Mapping[str, Fixed]
    follows: Mapping[str, Plain]


@dataclass(frozen=True)
class Search:
    """What all searches of one fit share. `kept` keys stay the base's."""

    given: Given
    base: Model
    kept: Collection[str]

    def shapes(self, trained: Sequence[Series], held: Sequence[Series]) -> list[Shape]:
        """The machines whose times are searched: the first as far as findings say, the others with
        what findings leave open. Raises InputError if none is like that."""
        first = self.shape(held)
        seen = tuple(one.name for one in trained if one.name.endswith(f":{IN_ORDER}"))
        if not seen or not _prefetches(first.model) or PREFETCHER in self.kept:
            return [first]
        other = not bool(first.model[PREFETCHER])
        found = {**first.found, PREFETCHER: Fixed(other, None, seen)}
        return [first, Shape(_shaped(self.base, found, first.follows), found, first.follows)]

    def shape(self, held: Sequence[Series]) -> Shape:
        """The machine as far as findings say. Raises InputError if none is like that."""
        found = structure(self.given.findings(held), self.base)
        found = {key: value for key, value in found.items() if key not in self.kept}
        follows = {
            key: value
            for key, value in derived(found, self.base).items()
            if key not in self.kept and key not in found
        }
        return Shape(_shaped(self.base, found, follows), found, follows)

    def fixed(self, shape: Shape) -> set[str]:
        """The keys that no search moves."""
        exact = {
            key
            for key, one in shape.found.items()
            if one.interval is not None or not _has_unit(key)
        }
        return exact | set(self.kept)

    def search(
        self,
        shape: Shape,
        simulations: Simulations,
        trained: Sequence[Series],
        held: Sequence[Series],
    ) -> Searched:
        """Fit to `trained`, and predict `held` too."""
        found = shape.found
        spent, estimates = _times(simulations, trained, shape.model, self.fixed(shape))
        times = _of_times(estimates, trained)
        # What a finding bounds from one side only is where the search for it began.
        searched = {one.key for one in times}
        fixed = {key: one for key, one in found.items() if key not in searched}
        parameters = [*_of_structure(fixed), *times]
        return Searched(
            model=shape.model.override({one.key: _given(one.key, _plain(one)) for one in times}),
            parameters=parameters,
            kept=[
                KeptParameter(
                    one.parameter.key, _text(one.parameter.key, one.parameter.start), one.reason
                )
                for one in estimates
                if not one.determined and one.parameter.key not in found
            ]
            + self._left_open(shape, held, {key for one in estimates for key in _keys(one)}),
            following=[
                KeptParameter(key, _text(key, value), "follows from the structure")
                for key, value in shape.follows.items()
            ],
            series=_accuracies(simulations, times, trained, held),
            budget_spent=spent,
        )

    def _left_open(
        self, shape: Shape, held: Sequence[Series], others: Collection[str]
    ) -> list[KeptParameter]:
        """What of the processor is the base's because a probe that looked could not tell."""
        model = shape.model
        if not bool(model["cpu.caches"]):
            return []
        return [
            KeptParameter(key, _text(key, model[key]), f"{name} is not identifiable: {reason}")
            for name, reason in self.given.left_open(held).items()
            for key in named_by(name)
            if key not in shape.found and key not in others and key not in shape.follows
        ]


def _keys(one: Estimate) -> Collection[str]:
    return one.parameter.values(0.0)


def _prefetches(model: Model) -> bool:
    """Whether loads in order would meet a prefetcher, which on a DIMM's base is off as in the
    measurements of DIMMs."""
    return str(model["machine"]) != "nvdimm" and bool(model["cpu.caches"])


def _shaped(base: Model, found: Mapping[str, Fixed], follows: Mapping[str, Plain]) -> Model:
    """The base with the structure that was found. Raises InputError if no machine has it."""
    values = {**{key: one.value for key, one in found.items()}, **follows}
    try:
        return base.override({key: _given(key, value) for key, value in values.items()})
    except InputError as error:
        raise InputError(f"the findings fit no machine like {base.name}: {error}") from None


def _times(
    simulations: Simulations, trained: Sequence[Series], shaped: Model, fixed: Collection[str]
) -> tuple[bool, list[Estimate]]:
    """Whether the budget ended the search, and what it found. Where there are too few points to
    fit to, every parameter stays the base's."""
    misfit = misfit_of(simulations, trained, shaped, fixed)
    parameters, points = misfit.parameters, misfit.points
    solver = Solver(misfit)
    if 0 < len(points) < FEWEST:
        why = f"{len(points)} points are too few, expected {FEWEST} or more to fit to"
        return False, [unfitted(one, why) for one in parameters.values()]
    estimates = solver.solve()
    return solver.budget_spent, estimates


def misfit_of(
    simulations: Simulations, trained: Sequence[Series], shaped: Model, fixed: Collection[str]
) -> Misfit:
    """What a search makes small: the points of `trained`, and the parameters of `shaped` that are
    not `fixed`."""
    points = [point for one in trained for point in one.points]
    parameters = {one.key: one for one in candidates(shaped, fixed)}
    alike = max(1.0, len(points) / max(1, len(trained)))
    return Misfit(simulations, points, noise(points), parameters, alike)


def _of_structure(found: Mapping[str, Fixed]) -> list[FittedParameter]:
    made = []
    for key, one in found.items():
        bounds = one.interval
        interval = None
        if bounds is not None:
            interval = (_text(key, bounds[0]), _text(key, bounds[1]))
        made.append(FittedParameter(key, _text(key, one.value), STRUCTURE, one.findings, interval))
    return made


def _of_times(estimates: Sequence[Estimate], trained: Sequence[Series]) -> list[FittedParameter]:
    owners = [one.name for one in trained for _ in one.points]
    made = []
    for one in estimates:
        if not one.determined:
            continue
        seen = tuple(dict.fromkeys(owners[at] for at in one.seen_by))[:_NAMED]
        low, high = (one.parameter.values(bound) for bound in one.bounds)
        for key, value in one.parameter.values(one.log).items():
            ends = (_text(key, low[key]), _text(key, high[key]))
            interval = None if one.parameter.is_a_sum else ends
            made.append(FittedParameter(key, _text(key, value), TIMES, seen, interval))
    return made


def _accuracies(
    simulations: Simulations,
    times: Sequence[FittedParameter],
    trained: Sequence[Series],
    held: Sequence[Series],
) -> list[FittedSeries]:
    """How the fitted model predicts what was fitted and what was held out, beside the base."""
    fitted = {one.key: _plain(one) for one in times}
    everything = [*trained, *held]
    simulations.budget += 2 * sum(len(point.jobs) for one in everything for point in one.points)
    series = []
    for one in everything:
        before, after = simulations.run([({}, one.points), (fitted, one.points)])
        series.append(_series(one, before, after, one in held))
    return series


def _series(
    one: Series, before: Sequence[float], after: Sequence[float], held_out: bool
) -> FittedSeries:
    unit = one.points[0].unit
    reals = [point.real for point in one.points]
    scored = score(list(zip(reals, after, strict=True)), unit)
    return FittedSeries(
        name=one.name,
        n=scored.n,
        before=score(list(zip(reals, before, strict=True)), unit).mean,
        mean=scored.mean,
        worst=scored.worst,
        worst_point=one.points[scored.worst_index].label,
        mean_abs_log=scored.mean_abs_log,
        held_out=held_out,
        title=one.title,
        dataset=one.dataset,
        x_name=one.x_name,
        x_unit=one.x_unit,
        points=tuple(
            ComparedPoint(
                label=point.label,
                unit=point.unit,
                real=point.real,
                simulated=value,
                accuracy=accuracy(point.real, value, point.unit),
                x=point.x if one.x_name else None,
            )
            for point, value in zip(one.points, after, strict=True)
        ),
    )


def _plain(one: FittedParameter) -> int:
    """The value in base units."""
    return int(KEYS[one.key].read_text(one.value))


def _given(key: str, value: Plain) -> object:
    """A value as `Model.override` takes it."""
    text = KEYS[key].format(value)
    return (
        text if isinstance(value, int) and not isinstance(value, bool) and _has_unit(key) else value
    )


def _has_unit(key: str) -> bool:
    return bool(KEYS[key].unit)


def _text(key: str, value: Plain) -> str:
    """A value as a model file has it."""
    whole = value if isinstance(value, (str, bool)) or not _whole(key) else round(value)
    return KEYS[key].format(whole)


def _whole(key: str) -> bool:
    return isinstance(KEYS[key].low, int) or bool(KEYS[key].unit)
