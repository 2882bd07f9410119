"""Points with their addresses: what is to be computed, checked before anything runs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nearfar.errors import InputError
from nearfar.model import Model, load_target
from nearfar.sweeping.designs import Row
from nearfar.sweeping.figures import Figures, figures, short
from nearfar.sweeping.study import Cell, Study
from nearfar.sweeping.works import FailedWorkError, Files, Work, check_files

# Makes a work of its words; only the command line knows how. Raises InputError.
ParseWork = Callable[[str], Work]
_FORM = "point 1"


@dataclass(frozen=True)
class Point:
    """What a study asks for: everything that goes into a row of the store but the result."""

    hash: str
    target: str
    work: str
    row: Row


@dataclass(frozen=True)
class Task:
    """A point as a worker gets it. The model is whole: no file, no preset of the worker's.

    `settings` change the model; `model_hash` is that of the changed one.
    """

    hash: str
    version: str
    model: Model
    settings: Mapping[str, str]
    model_hash: str
    work: Work
    files: Files
    wanted: tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """What became of a task. `text` is the whole result as JSON; `error` is empty if it is done."""

    hash: str
    error: str = ""
    text: str = ""
    figures: Figures | None = None
    short: Sequence[str] = ()


class WrongVersionError(Exception):
    """A worker is of another version of nearfar than the sweep."""


def perform(task: Task) -> Outcome:
    """Run a task, in whatever process this is. Raises WrongVersionError."""
    from nearfar import __version__
    from nearfar.errors import NearfarError
    from nearfar.results import to_json

    if __version__ != task.version:
        raise WrongVersionError(f"has nearfar {__version__}, the sweep {task.version}")
    try:
        model = changed(task.model, task.settings)
        if model.hash() != task.model_hash:
            raise WrongVersionError(f"resolves {model.name} to another machine than the sweep")
        check_files(task.files)
        document = task.work.run(model)
    except FailedWorkError as failure:
        return Outcome(task.hash, str(failure), to_json(failure.result))
    except NearfarError as failure:
        return Outcome(task.hash, str(failure))
    except OSError as failure:
        return Outcome(task.hash, f"{failure.filename or task.work}: {failure.strerror or failure}")
    except WrongVersionError:
        raise
    except Exception as failure:  # a fault of this program costs a point, not the sweep
        return Outcome(task.hash, f"internal error: {type(failure).__name__}: {failure}")
    text = to_json(document)
    data = json.loads(text)
    return Outcome(task.hash, "", text, figures(data, task.wanted), tuple(short(data)))


def changed(model: Model, settings: Mapping[str, str]) -> Model:
    """The model with `settings`, written as in a model file. Raises InputError."""
    return model.override(*(f"{key}={value}" for key, value in settings.items()))


class Expander:
    """Makes points and tasks of a study's cells. Many cells share a model or a work."""

    def __init__(self, study: Study, parse_work: ParseWork) -> None:
        from nearfar import __version__

        self._study = study
        self._version = __version__
        self._parse = parse_work
        self._models: dict[str, Model] = {}
        self._works: dict[str, tuple[Work, Files]] = {}
        self._changed: tuple[tuple[Any, ...], Model, str] | None = None

    def expand(self, cells: Iterable[Cell]) -> tuple[list[Point], dict[str, Task]]:
        """Every point in order, and the task of each address. Raises InputError with the point."""
        points: list[Point] = []
        tasks: dict[str, Task] = {}
        for cell in cells:
            task = self._task(cell)
            points.append(Point(task.hash, cell.target, cell.work, dict(cell.row)))
            tasks.setdefault(task.hash, task)
        return points, tasks

    def _task(self, cell: Cell) -> Task:
        try:
            base = self._model(cell.target)
            work, files = self._work(cell.work)
            machine, model_hash = self._override(cell, base)
            work.check(machine)
        except InputError as error:
            raise InputError(f"{_place(cell)}{error}") from None
        # The same settings in any order make the same machine: only its hash counts.
        identity = [_FORM, self._version, model_hash, work.identity(), sorted(files.items())]
        text = json.dumps(identity, sort_keys=True, default=str)
        address = hashlib.sha256(text.encode()).hexdigest()
        wanted = self._study.figures
        if self._study.goal is not None:
            wanted = (*wanted, self._study.goal.figure)
        return Task(
            address, self._version, base, cell.settings, model_hash, work, files, wanted
        )  # fmt: skip

    def _model(self, target: str) -> Model:
        if target not in self._models:
            self._models[target] = load_target(target)
        return self._models[target]

    def _override(self, cell: Cell, base: Model) -> tuple[Model, str]:
        """The machine of a cell; the last one is kept, since seeds and works follow each other."""
        key = (cell.target, *cell.settings.items())
        if self._changed is None or self._changed[0] != key:
            model = changed(base, cell.settings)
            self._changed = (key, model, model.hash())
        return self._changed[1], self._changed[2]

    def _work(self, text: str) -> tuple[Work, Files]:
        if text not in self._works:
            work = self._parse(text)
            self._works[text] = (work, work.files())
        return self._works[text]


def _place(cell: Cell) -> str:
    """The point, before what is wrong with it."""
    if not cell.row:
        return ""
    return f"point {', '.join(f'{key}={value}' for key, value in cell.row.items())}: "
