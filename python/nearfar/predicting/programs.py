"""The set of programs: what its manifest says, and programs built from it."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nearfar.errors import InputError, file_error, suggestion
from nearfar.resources import folder
from nearfar.simulate.programs.qemu import include_folder

MANIFEST = "programs.toml"
COMPILERS = ("gcc", "cc")

# Whole numbers, where not said otherwise.
_KEYS: Mapping[str, type] = {
    "about": str,
    "steps": int,
    "warm": int,
    "tuned": bool,
    "library": str,
    "package": str,
    "also": str,
}
_REQUIRED = ("about", "steps", "warm", "tuned")


@dataclass(frozen=True)
class Program:
    """One program of a set: its source, and of its work the steps that make a full run.

    `warm` steps come before those that are measured. `tuned`: its figures may have been looked at
    to choose parameters. `library` is linked, and `package` has it. `also` is a file beside the
    source, compiled with it.
    """

    name: str
    source: Path
    about: str
    steps: int
    warm: int
    tuned: bool
    library: str = ""
    package: str = ""
    also: str = ""

    def sources(self) -> list[Path]:
        """What is compiled."""
        return [self.source, *([self.source.with_name(self.also)] if self.also else [])]

    def source_hash(self) -> str:
        """Of the source and what it includes: the same work has the same."""
        parts = [*self.sources(), shipped() / "measured.h"]
        text = b"".join(part.read_bytes() for part in parts)
        return f"sha256:{hashlib.sha256(text).hexdigest()[:16]}"


def shipped() -> Path:
    """The folder of the set that comes with nearfar."""
    return Path(str(folder("examples/programs/set")))


def programs_of(where: str | Path | None = None, only: Sequence[str] = ()) -> list[Program]:
    """The programs of the set in a folder (None: the shipped set), in its manifest's order.

    `only` names those that are wanted. Raises InputError with the file and the wrong key or name.
    """
    manifest = (shipped() if where is None else Path(where)) / MANIFEST
    try:
        tables = tomllib.loads(manifest.read_text(encoding="utf-8"))
    except OSError as error:
        raise file_error(manifest, error) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{manifest}: not TOML: {error}") from None
    if not tables:
        raise InputError(f"{manifest}: found no program, expected a table of each")
    found = {name: _program(manifest, name, table) for name, table in tables.items()}
    for name in only:
        if name not in found:
            known = f"expected one of {', '.join(found)}{suggestion(name, found)}"
            raise InputError(f"only: found '{name}', {known}")
    return [program for name, program in found.items() if not only or name in only]


def _program(manifest: Path, name: str, table: Any) -> Program:
    if not isinstance(table, dict):
        raise InputError(f"{manifest}: found {name} = {table!r}, expected a table [{name}]")
    for key, value in table.items():
        if key not in _KEYS:
            raise InputError(f"{manifest}: {name}: found unknown key {key}{suggestion(key, _KEYS)}")
        if type(value) is not _KEYS[key]:
            expected = {str: "text", int: "a whole number", bool: "true or false"}[_KEYS[key]]
            raise InputError(f"{manifest}: {name}.{key}: found {value!r}, expected {expected}")
    missing = [key for key in _REQUIRED if key not in table]
    if missing:
        raise InputError(f"{manifest}: {name}: {missing[0]} is missing")
    if table["steps"] < 1 or table["warm"] < 0:
        raise InputError(f"{manifest}: {name}: expected steps of 1 or more, and warm of 0 or more")
    source = manifest.parent / f"{name}.c"
    if not source.is_file():
        raise InputError(f"{manifest}: {name}: there is no {source}")
    program = Program(name=name, source=source, **table)
    if not program.sources()[-1].is_file():
        raise InputError(f"{manifest}: {name}.also: there is no {program.sources()[-1]}")
    return program


def compiler() -> str:
    """The C compiler. Raises InputError where there is none."""
    for name in COMPILERS:
        found = shutil.which(name)
        if found is not None:
            return found
    raise InputError("there is no C compiler (gcc); to get it: apt-get install gcc libc6-dev")


def compiler_version() -> str:
    """What the compiler calls itself, in one line."""
    said = subprocess.run([compiler(), "--version"], capture_output=True, text=True, check=False)
    return said.stdout.partition("\n")[0]


def build(program: Program, into: Path) -> Path:
    """Compile a program for any x86-64 processor. Raises InputError with the first error."""
    built = into / program.name
    command = [compiler(), "-O2", f"-I{include_folder()}", f"-I{shipped()}"]
    command += ["-o", str(built), *map(str, program.sources()), "-lm"]
    command += [f"-l{program.library}"] if program.library else []
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = done.stderr.splitlines()
        first = next((line for line in lines if "error" in line), "the compiler failed")
        mend = f" (needs {program.library}: apt-get install {program.package})"
        raise InputError(
            f"{program.name}: does not compile: {first}{mend if program.package else ''}"
        )
    return built
