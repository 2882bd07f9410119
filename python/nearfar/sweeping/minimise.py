"""Points that optuna's samplers choose, instead of a grid, to make a figure small.

Trials are asked for in rounds of a fixed size, and told in order, so that the points are the same
whatever runs them; a sweep that goes on asks again for those that the store has, and finds them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import monotonic
from typing import Any

from nearfar.errors import InputError
from nearfar.sweeping.designs import Row
from nearfar.sweeping.extras import extra
from nearfar.sweeping.points import Expander, Point, Task
from nearfar.sweeping.ranges import Range
from nearfar.sweeping.store import Store
from nearfar.sweeping.study import Goal, Study

_ROUND = 8  # points computed side by side
Compute = Callable[[dict[str, Task], int], None]


def check(study: Study, expander: Expander) -> None:
    """Raise InputError, before anything runs, for what cannot be sampled."""
    _optuna()
    assert study.goal is not None
    cells = len(study.targets) * len(study.works) * max(len(study.seeds), 1)
    if cells != 1:
        raise InputError(
            f"minimise {study.goal.figure}: found {cells} targets, works and seeds at each point, "
            "expected one"
        )
    if not study.ranges:
        raise InputError(f"minimise {study.goal.figure}: found no keys, expected --set KEY=A..B")
    for key, one in study.ranges.items():
        if one.draw:
            raise InputError(f"minimise: found {key}={one.text}, expected a list or a range A..B")
    # The lowest and the highest of every key: what is out of range is so there.
    for end in (0, -1):
        row = {key: _ends(one)[end] for key, one in study.ranges.items()}
        expander.expand(study.cells_of(row))


def minimise(study: Study, expander: Expander, store: Store, compute: Compute) -> None:
    """Sample until the budget is spent. Points that fail count as the worst."""
    optuna = _optuna()
    goal = study.goal
    assert goal is not None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = optuna.samplers.TPESampler(seed=study.design_seed, constant_liar=True)
    trials = optuna.create_study(direction="minimize", sampler=sampler)
    place = 0
    for count in _rounds(goal):
        asked = [trials.ask() for _ in range(count)]
        rows = [_row(study, trial) for trial in asked]
        points, tasks = expander.expand(cell for row in rows for cell in study.cells_of(row))
        store.add_points(study.name, place, points)
        compute(dict(tasks), goal.points or place + count)
        found = store.find(point.hash for point in points)
        for trial, point in zip(asked, points, strict=True):
            value = _value(goal.figure, point, found)
            if value is None:
                trials.tell(trial, state=optuna.trial.TrialState.FAIL)
            else:
                trials.tell(trial, value)
        place += count


def _rounds(goal: Goal) -> Iterator[int]:
    """How many points to compute side by side, again and again while the budget lasts.

    A budget of time is looked at between rounds: the last one is finished.
    """
    if goal.points is not None:
        for place in range(0, goal.points, _ROUND):
            yield min(_ROUND, goal.points - place)
        return
    assert goal.seconds is not None
    end = monotonic() + goal.seconds
    while monotonic() < end:
        yield _ROUND


def _value(figure: str, point: Point, found: Any) -> float | None:
    """The figure of a point; None if it failed. Raises InputError if no result has it."""
    row = found[point.hash]
    if row.error:
        return None
    if figure not in row.figures:
        names = ", ".join(sorted(row.figures)[:12])
        raise InputError(
            f"minimise: found no figure {figure} in the results, expected {names}, ..."
        )
    value: float = row.figures[figure]
    return value


def _row(study: Study, trial: Any) -> Row:
    return {key: _suggested(trial, key, one) for key, one in study.ranges.items()}


def _suggested(trial: Any, key: str, one: Range) -> str:
    """A value of a list by its place, of an open range by its share: both keep units out."""
    if one.span is None or not one.is_open:
        if all(_is_ordered(value) for value in one.values):
            place: int = trial.suggest_int(key, 0, len(one.values) - 1)
            return one.values[place]
        return str(trial.suggest_categorical(key, list(one.values)))
    # A share of the way, linear or logarithmic as the span is.
    share: float = trial.suggest_float(key, 0.0, 1.0)
    return one.span.at(share)


def _is_ordered(value: str) -> bool:
    return value[:1].isdigit()


def _ends(one: Range) -> tuple[str, ...]:
    return (one.span.at(0.0), one.span.at(1.0)) if one.is_open and one.span else one.values


def _optuna() -> Any:
    return extra("optuna", "minimise", "nearfar[sweep]")
