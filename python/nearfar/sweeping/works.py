"""What is run at each point, in a form that goes to other processes and machines.

A work is parsed once, where the command line is known; a worker needs only nearfar. Files that it
reads are part of what it is: their content goes into the point's hash, and a worker on another
machine refuses a file of another content.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from nearfar.errors import NearfarError, file_error
from nearfar.measuring import Pattern, measure
from nearfar.measuring.run import check_fits
from nearfar.model import Model
from nearfar.results import Document, RunResult
from nearfar.simulate.crashes.explore import CrashOptions, crash
from nearfar.simulate.programs.options import RunOptions
from nearfar.simulate.programs.replayed import is_program_trace, refuse_options, replay_program
from nearfar.simulate.programs.run import run
from nearfar.simulate.replay import ReplayOptions, replay
from nearfar.simulate.validation.validate import validate

Files = dict[str, str]  # path to SHA-256


class Work(Protocol):
    """Something to run on a model."""

    def identity(self) -> dict[str, Any]:
        """What decides the result beside the model, as JSON takes it."""

    def files(self) -> Files:
        """The files that it reads, with their content's hash. Raises InputError."""

    def check(self, model: Model) -> None:
        """Raise InputError, before anything runs, for what this model cannot do."""

    def run(self, model: Model) -> Document:
        """The result. Raises NearfarError."""


@dataclass(frozen=True)
class MeasureWork:
    """`nearfar measure`."""

    pattern: Pattern

    def identity(self) -> dict[str, Any]:
        """The pattern with all of its options."""
        return {"measure": self.pattern.to_dict()}

    def files(self) -> Files:
        """None."""
        return {}

    def check(self, model: Model) -> None:
        """As `measure` does first."""
        check_fits(model, self.pattern)

    def run(self, model: Model) -> Document:
        """Measure."""
        return measure(model, self.pattern)


@dataclass(frozen=True)
class ReplayWork:
    """`nearfar replay`."""

    trace: str
    options: ReplayOptions

    def identity(self) -> dict[str, Any]:
        """Every option; the trace is one of the files."""
        return {"replay": asdict(self.options)}

    def files(self) -> Files:
        """The trace."""
        return {self.trace: content_hash(self.trace)}

    def check(self, model: Model) -> None:  # noqa: ARG002 (whatever the machine)
        """The options."""
        self.options.check()
        if is_program_trace(self.trace):
            refuse_options(self.options, self.trace)

    def run(self, model: Model) -> Document:
        """Replay."""
        if is_program_trace(self.trace):
            return replay_program(model, self.trace)
        return replay(model, self.trace, self.options)


@dataclass(frozen=True)
class ValidateWork:
    """`nearfar validate`. One process a point: points run side by side."""

    against: tuple[str, ...]
    quick: bool

    def identity(self) -> dict[str, Any]:
        """What is compared with; tables of this installation belong to its version."""
        return {"validate": {"against": list(self.against), "quick": self.quick}}

    def files(self) -> Files:
        """The tables of folders."""
        folders = [Path(name) for name in self.against if Path(name).is_dir()]
        tables = sorted(file for folder in folders for file in folder.rglob("*") if file.is_file())
        return {str(file): content_hash(str(file)) for file in tables}

    def check(self, model: Model) -> None:
        """Nothing that its command line does not."""

    def run(self, model: Model) -> Document:
        """Validate."""
        return validate(model, list(self.against), quick=self.quick, processes=1)


@dataclass(frozen=True)
class RunWork:
    """`nearfar run`."""

    words: tuple[str, ...]
    options: RunOptions

    def identity(self) -> dict[str, Any]:
        """The command and every option."""
        return {"run": {"words": list(self.words), **asdict(self.options)}}

    def files(self) -> Files:
        """The program, and every argument that is a file."""
        program = shutil.which(self.words[0]) or self.words[0]
        named = [word for word in self.words[1:] if Path(word).is_file()]
        return {name: content_hash(name) for name in (program, *named)}

    def check(self, model: Model) -> None:
        """Nothing that a run does not."""

    def run(self, model: Model) -> Document:
        """Run the program; one that fails has no figures that could be compared."""
        ran = run(model, self.words, self.options)
        if ran.exit_code != 0:
            raise FailedWorkError(f"{self.words[0]}: exit status {ran.exit_code}", ran)
        return ran


@dataclass(frozen=True)
class CrashWork:
    """`nearfar crash`."""

    program: str | Pattern
    invariant: str | None = None
    options: CrashOptions = field(default_factory=CrashOptions)

    def identity(self) -> dict[str, Any]:
        """The pattern, if there is one, and every option."""
        program = self.program if isinstance(self.program, str) else self.program.to_dict()
        return {"crash": {"program": program, "options": asdict(self.options)}}

    def files(self) -> Files:
        """The program, and the invariant's source."""
        named = [self.program] if isinstance(self.program, str) else []
        if self.invariant is not None:
            named.append(self.invariant.partition(":")[0])
        return {name: content_hash(name) for name in named}

    def check(self, model: Model) -> None:
        """Nothing that a crash does not."""

    def run(self, model: Model) -> Document:
        """Look at the states."""
        return crash(model, self.program, self.invariant, self.options)


class FailedWorkError(NearfarError):
    """The work ran to its end and failed; `result` says how."""

    def __init__(self, message: str, result: RunResult) -> None:
        super().__init__(message)
        self.result = result

    def __reduce__(self) -> tuple[Any, ...]:
        return FailedWorkError, (str(self), self.result)


def content_hash(path: str) -> str:
    """SHA-256 of a file. Raises InputError."""
    try:
        found = Path(path).stat()
        return _content_hash(path, found.st_mtime_ns, found.st_size)
    except OSError as error:
        raise file_error(path, error) from None


@lru_cache(maxsize=256)
def _content_hash(path: str, _changed: int, _size: int) -> str:
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def check_files(files: Mapping[str, str]) -> None:
    """Raise NearfarError if a file is not what the sweep has hashed: a worker's may be another."""
    changed: Sequence[str] = [name for name, known in files.items() if content_hash(name) != known]
    if changed:
        raise NearfarError(f"{changed[0]}: is not the file that the sweep was begun with")
