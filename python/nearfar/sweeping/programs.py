"""A shipped program as the work of a sweep: `run -- program:NAME`, compiled where it runs.

It runs in a process of its own with an environment, a folder, a name and a limit of the stack that
are the same everywhere, because these lie on a program's stack, or end it, and move what is below.
"""

from __future__ import annotations

import os
import pickle
import resource
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from nearfar.errors import InputError, NearfarError, check_one_of
from nearfar.model import Model
from nearfar.predicting.programs import Program, build, compiler_version, programs_of
from nearfar.predicting.running import tunables
from nearfar.resources import folder
from nearfar.results import Document
from nearfar.simulate.programs.options import RunOptions
from nearfar.simulate.programs.run import run

PREFIX = "program:"
SETS = ("set", "kit")
_STACK = 8 << 20  # bytes; what lies below it is where that ends
_SOURCE, _RESULT = "point.pickle", "result.pickle"


@dataclass(frozen=True)
class ProgramWork:
    """`nearfar run` of a shipped program, of whose steps one in `sample` is measured.

    Another compiler makes another program, so `compiler` is part of what the point is.
    """

    name: str  # SET/NAME
    sample: int
    options: RunOptions
    source: str
    compiler: str

    def identity(self) -> dict[str, Any]:
        """The source, what compiles it, and every option."""
        return {"program": asdict(self)}

    def files(self) -> dict[str, str]:
        """None: sources belong to the installation."""
        return {}

    def check(self, model: Model) -> None:
        """Nothing that a run does not."""

    def run(self, model: Model) -> Document:
        """Compile and run it."""
        if compiler_version() != self.compiler:
            raise NearfarError(
                f"{self.name}: found {compiler_version()} here, expected {self.compiler}"
            )
        program = _program(self.name)
        with tempfile.TemporaryDirectory(prefix="nearfar-sweep-") as place:
            build(program, Path(place))
            steps = max(1, program.steps // self.sample)
            words = (f"./{program.name}", str(program.warm), str(steps))
            qemu = shutil.which(self.options.qemu) or self.options.qemu
            given = pickle.dumps((model, words, replace(self.options, qemu=qemu)))
            (Path(place) / _SOURCE).write_bytes(given)
            return _apart(Path(place), self.name)


def program_work(words: tuple[str, ...], options: RunOptions) -> ProgramWork:
    """Of `program:[SET/]NAME [SAMPLE]`. Raises InputError."""
    name = words[0].removeprefix(PREFIX)
    sample = words[1] if len(words) == 2 else "1"
    if len(words) > 2 or not sample.isdecimal() or int(sample) == 0:
        raise InputError(
            f"{words[0]}: found '{' '.join(words[1:])}', expected a number: one in so many steps"
        )
    whole = name if "/" in name else f"{SETS[0]}/{name}"
    source = _program(whole).source_hash()
    return ProgramWork(whole, int(sample), options, source, compiler_version())


def _program(name: str) -> Program:
    group, _, own = name.partition("/")
    check_one_of("program", group, SETS)
    return programs_of(str(folder(f"examples/programs/{group}")), [own])[0]


def _apart(place: Path, name: str) -> Document:
    """Run what lies in a folder in a new process."""
    command = [sys.executable, "-m", "nearfar.sweeping.programs"]
    done = subprocess.run(
        command, cwd=place, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    if not (place / _RESULT).exists():
        last = (done.stderr.decode(errors="replace").strip().splitlines() or ["no reason"])[-1]
        raise NearfarError(f"{name}: {last}")
    found: Document | NearfarError = pickle.loads((place / _RESULT).read_bytes())
    if isinstance(found, NearfarError):
        raise found
    return found


def _main() -> None:
    """In the new process: the folder is the current one."""
    model, words, options = pickle.loads(Path(_SOURCE).read_bytes())
    hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
    soft = _STACK if hard == resource.RLIM_INFINITY else min(_STACK, hard)
    resource.setrlimit(resource.RLIMIT_STACK, (soft, hard))
    os.environ.clear()
    os.environ.update({"LC_ALL": "C", "GLIBC_TUNABLES": tunables(options.pages)})
    result: Any
    try:
        result = run(model, words, options)
        if result.exit_code != 0:
            result = NearfarError(f"{words[0]}: exit status {result.exit_code}")
    except NearfarError as error:
        result = error
    Path(_RESULT).write_bytes(pickle.dumps(result))


if __name__ == "__main__":
    _main()
