"""Reading one model file: TOML in, values in base units with the line each stands on out.

Nothing here knows another file; `nearfar.model.load` follows `base`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from nearfar.errors import InputError, suggestion
from nearfar.model.key import Plain, describe
from nearfar.model.locate import key_lines
from nearfar.model.schema import ALIASES, KEYS, canonical, spellings

Names = tuple[str, ...]

# What a model file has besides the keys of the schema.
ABOUT = {
    "description": "One line about the model, for `nearfar model list`",
    "base": "A preset or a file, whose values hold where this file gives none",
    "processor": "A processor, listed or a file, whose cpu keys take the place of the base's",
}
NOTES = {
    "sources": "Where values come from: key, or the beginning of several keys, to citation",
    "alternatives": "Where studies disagree: key to the other values and their authors",
}


@dataclass(frozen=True)
class Given:
    """A value as it was given.

    `place` is where, `source` what it is known from. Of two files or overrides that meet in
    a model, the one laid on top of the other has the higher `layer`.
    """

    value: Plain
    place: str
    source: str = ""
    layer: int = 0


@dataclass(frozen=True)
class ModelFile:
    """What one file says, by canonical key."""

    description: str
    base: str
    base_place: str
    processor: str
    processor_place: str
    given: Mapping[str, Given]
    alternatives: Mapping[str, str]


def read_model_file(path: Path | Traversable) -> ModelFile:
    """Read and check one file. Raises InputError, one line that names file and line."""
    return _read(str(path), _read_text(path))


@lru_cache(maxsize=16)
def _read(file: str, text: str) -> ModelFile:
    """What a file says follows from its name and text: the same presets are asked for often."""
    return _Reader(file, text).read()


def unknown_key(name: str) -> str:
    """`found unknown key ...`, with the nearest valid name.

    A key without its tables (`interleave`) is as near as a misspelt one; so is a table.
    """
    keys = spellings()
    whole = [key for key in keys if key.endswith(f".{name}")]
    tables = {key[:dot] for key in keys for dot in range(len(key)) if key[dot] == "."}
    near = f"; did you mean {whole[0]}?" if whole else suggestion(name, [*keys, *sorted(tables)])
    return f"found unknown key '{name}', expected one of `nearfar model schema`{near}"


class _Reader:
    def __init__(self, file: str, text: str) -> None:
        self._file = file
        self._text = text
        self._lines: dict[Names, int] = {}

    def read(self) -> ModelFile:
        tree = self._parse()
        about = {name: self._string(tree, name) for name in ABOUT}
        notes = {name: dict(self._notes(tree, name)) for name in NOTES}
        values = {name: value for name, value in tree.items() if name not in {**ABOUT, **NOTES}}
        given: dict[str, Given] = {}
        spelt: dict[str, Names] = {}
        for path, value in self._leaves(values, ()):
            name = ".".join(path)
            key = canonical(name)
            if key in spelt:
                earlier = f"'{'.'.join(spelt[key])}' (line {self._lines.get(spelt[key])})"
                raise self._error(path, f"found '{name}', which {earlier} has given already")
            spelt[key] = path
            source = _longest(notes["sources"], key)
            given[key] = Given(self._value(path, key, value), self._place(path), source)
        return ModelFile(
            about["description"],
            about["base"],
            self._place(("base",)),
            about["processor"],
            self._place(("processor",)),
            given,
            notes["alternatives"],
        )

    def _parse(self) -> dict[str, Any]:
        try:
            tree = tomllib.loads(self._text)
            self._lines = key_lines(self._text)
        except tomllib.TOMLDecodeError as error:
            raise InputError(_toml_message(self._file, self._text, str(error))) from None
        except RecursionError:
            raise InputError(f"{self._file}: found values nested too deeply") from None
        return tree

    def _string(self, tree: dict[str, Any], name: str) -> str:
        value = tree.get(name, "")
        if not isinstance(value, str):
            raise self._error((name,), f"{name}: found {describe(value)}, expected a string")
        return value

    def _notes(self, tree: dict[str, Any], table: str) -> Iterator[tuple[str, str]]:
        """Key, or beginning of keys, to text: dotted names may be quoted or nested."""
        entries = tree.get(table, {})
        if not isinstance(entries, dict):
            raise self._error((table,), f"{table}: found {describe(entries)}, expected a table")
        for path, value in _walk(entries, (table,)):
            name = ".".join(path[1:])
            if not _begins_a_key(canonical(name)):
                raise self._error(path, f"{table}: {unknown_key(name)}")
            if not isinstance(value, str):
                found = describe(value)
                raise self._error(path, f"{table}: {name}: found {found}, expected a string")
            yield canonical(name), value

    def _leaves(self, table: dict[str, Any], above: Names) -> Iterator[tuple[Names, object]]:
        """Every key below `table`; a table that no key of the schema is in is an error."""
        for part, value in table.items():
            path = (*above, part)
            name = ".".join(path)
            is_key = canonical(name) in KEYS
            if isinstance(value, dict) and not is_key:
                if not _begins_a_key(canonical(name)):
                    raise self._error(path, unknown_key(name))
                yield from self._leaves(value, path)
            elif is_key:
                yield path, value
            elif _begins_a_key(canonical(name)):
                found = describe(value)
                raise self._error(path, f"{name}: found {found}, expected a table [{name}]")
            else:
                raise self._error(path, unknown_key(name))

    def _value(self, path: Names, key: str, value: object) -> Plain:
        try:
            return KEYS[key].read(value)
        except ValueError as error:
            raise self._error(path, f"{'.'.join(path)}: {error}") from None

    def _place(self, path: Names) -> str:
        line = self._lines.get(path)
        return self._file if line is None else f"{self._file}:{line}"

    def _error(self, path: Names, message: str) -> InputError:
        return InputError(f"{self._place(path)}: {message}")


def _read_text(path: Path | Traversable) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except IsADirectoryError:
        raise InputError(f"{path}: found a folder, expected a model file") from None
    except FileNotFoundError:
        raise InputError(f"{path}: found no such file, expected a model file") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        byte = error.object[error.start]
        raise InputError(f"{path}:{line}: found byte 0x{byte:02x}, expected UTF-8 text") from None
    except OSError as error:
        reason = error.strerror or "an error"
        raise InputError(f"{path}: found '{reason}', expected a readable file") from None
    except ValueError:  # a null byte in the name
        raise InputError(f"{str(path)!r}: found a name that no file can have") from None


def _toml_message(file: str, text: str, error: str) -> str:
    match = re.fullmatch(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", error)
    if match is None:
        return f"{file}: found no valid TOML: {error}"
    line = match[2] or str(text.rstrip("\n").count("\n") + 1)
    column = f" at column {match[3]}" if match[3] else " at the end"
    return f"{file}:{line}: found no valid TOML{column}: {match[1]}; expected 'key = value'"


def _walk(table: dict[str, Any], above: Names) -> Iterator[tuple[Names, object]]:
    for part, value in table.items():
        if isinstance(value, dict):
            yield from _walk(value, (*above, part))
        else:
            yield (*above, part), value


def _begins_a_key(name: str) -> bool:
    """Whether `name` is a key, a table of keys, or the beginning of an alias."""
    return name in _beginnings()


@cache
def _beginnings() -> frozenset[str]:
    """Every key and alias, and what stands before a dot of one."""
    spelt = [key.split(".") for key in (*KEYS, *ALIASES)]
    return frozenset(".".join(parts[:end]) for parts in spelt for end in range(1, len(parts) + 1))


def _longest(notes: Mapping[str, str], key: str) -> str:
    """The note for the key, or for the longest beginning of it that has one."""
    while key:
        if key in notes:
            return notes[key]
        key = key.rpartition(".")[0]
    return ""
