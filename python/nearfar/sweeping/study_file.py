"""Study files: TOML with targets, ranges, works and figures.

description = "How the size of the buffer matters"
targets = ["model:optane-100"]
for = "measure chase --region {region} --op ntload"
figures = ["ns_per_line"]
seeds = [1, 2]
[set]
region = "4KiB..16MiB:x4"
"nvdimm.rmw.entries" = [64, 128]
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from nearfar import resources
from nearfar.errors import InputError, file_error, suggestion
from nearfar.model.locate import key_lines
from nearfar.sweeping.designs import parse_design
from nearfar.sweeping.ranges import Range, parse_range, values_range
from nearfar.sweeping.study import Goal, Study, parse_goal

SUFFIX = ".toml"
_KEYS = (
    *("description", "targets", "for", "figures", "seeds", "set"),
    *("design", "design_seed", "minimise", "within"),
)
_NAME = re.compile(r"[\w.-]+")


def shipped() -> list[str]:
    """Names of the studies that come with nearfar, sorted."""
    names = (entry.name for entry in resources.folder("studies").iterdir())
    return sorted(name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX))


def read_study(path: str) -> Study:
    """The study of a file, or of a shipped one by its name (`studies/dimms.toml` anywhere).

    Raises InputError, which names the file and the line.
    """
    return _Reader(path, _text(path)).read()


def _text(path: str) -> str:
    try:
        return _find(path).read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{path}: found bytes that are no UTF-8, expected a study") from None
    except OSError as error:
        raise file_error(path, error) from None


def _find(path: str) -> Path | Traversable:
    """A file of the user's; if there is none, a shipped study."""
    file = Path(path)
    if file.exists() or file.stem not in shipped() or file.parent.name not in ("", "studies"):
        return file
    return resources.folder("studies").joinpath(f"{file.stem}{SUFFIX}")


class _Reader:
    def __init__(self, path: str, text: str) -> None:
        self._path = path
        self._name = Path(path).stem
        try:
            self._tree: dict[str, Any] = tomllib.loads(text)
            self._lines = key_lines(text)
        except tomllib.TOMLDecodeError as error:
            raise InputError(f"{path}: found no valid TOML: {error}") from None

    def read(self) -> Study:
        for name in self._tree:
            if name not in _KEYS:
                hint = suggestion(name, _KEYS)
                self._refuse((name,), f"found '{name}', expected one of {', '.join(_KEYS)}{hint}")
        if _NAME.fullmatch(self._name) is None:
            raise InputError(f"{self._path}: found a name that no study can have")
        try:
            design = self._tree.get("design")
            return Study(
                name=self._name,
                targets=self._texts("targets"),
                works=self._texts("for"),
                ranges=self._ranges(),
                figures=self._texts("figures"),
                seeds=self._counts("seeds"),
                design=None if design is None else parse_design(str(design)),
                design_seed=(*self._counts("design_seed"), 1)[0],
                goal=self._goal(),
                description=" ".join(self._texts("description")),
            )
        except InputError as error:
            text = str(error)
            if text.startswith(f"{self._path}:"):
                raise
            line = self._line_of(text)
            raise InputError(
                f"{self._path}{line}: {text.removeprefix(f'{self._name}: ')}"
            ) from None

    def _ranges(self) -> dict[str, Range]:
        table = self._tree.get("set", {})
        if not isinstance(table, dict):
            self._refuse(("set",), "set: found no table, expected [set] with a range a key")
        found: dict[str, Range] = {}
        for path, value in _leaves(table, ()):
            key = ".".join(path)
            try:
                if isinstance(value, list):
                    found[key] = values_range(key, value)
                else:
                    found[key] = parse_range(key, str(value))
            except InputError as error:
                self._refuse(("set", *path), str(error))
        return found

    def _texts(self, name: str) -> tuple[str, ...]:
        value = self._tree.get(name, [])
        texts = [value] if isinstance(value, str) else value
        if not isinstance(texts, list) or not all(isinstance(one, str) for one in texts):
            self._refuse((name,), f"{name}: found no text, expected a text or an array of texts")
        return tuple(texts)

    def _counts(self, name: str) -> tuple[int, ...]:
        value = self._tree.get(name, [])
        counts = value if isinstance(value, list) else [value]
        if not all(type(one) is int and one >= 0 for one in counts):
            self._refuse((name,), f"{name}: expected a whole number, or an array of them")
        return tuple(counts)

    def _goal(self) -> Goal | None:
        figure = self._texts("minimise")
        budget = self._tree.get("within")
        if not figure:
            if budget is not None:
                self._refuse(("within",), "within: found without minimise")
            return None
        if budget is None:
            self._refuse(
                ("minimise",), 'minimise: expected within = NUMBER of points or "TIME", too'
            )
        return parse_goal(figure[0], str(budget))

    def _line_of(self, message: str) -> str:
        """The line of the key that a message begins with or names, if the file has it."""
        for path, line in self._lines.items():
            name = ".".join(path[1:]) if path[0] == "set" else path[0]
            if name and (message.startswith(f"{name}:") or f"'{name}'" in message):
                return f":{line}"
        return ""

    def _refuse(self, path: tuple[str, ...], message: str) -> None:
        line = self._lines.get(path)
        where = self._path if line is None else f"{self._path}:{line}"
        raise InputError(f"{where}: {message}")


def _leaves(table: Mapping[str, Any], above: tuple[str, ...]) -> Any:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _leaves(value, (*above, name))
        else:
            yield (*above, name), value
