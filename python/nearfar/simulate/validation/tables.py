"""Tables of published measurements: CSV files, recognised by their columns.

The same readers serve the figures that come with nearfar and any folder a user names
(`validate --against DIR`) with tables of the same layout, whatever the files are called.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from pathlib import Path

from nearfar.errors import InputError
from nearfar.resources import folder

Row = Mapping[str, str]


@dataclass(frozen=True)
class Table:
    """One CSV file: its name without the ending, its columns, its rows as text."""

    name: str
    columns: frozenset[str]
    rows: Sequence[Row]

    def number(self, row: Row, column: str) -> float:
        """A cell as a finite number. Raises InputError naming the table and the column."""
        try:
            value = float(row[column])
        except ValueError:
            value = math.nan
        self._expect(math.isfinite(value), row, column, "a number")
        return value

    def positive(self, row: Row, column: str) -> float:
        """The same of a time, a rate or what divides: it is above zero."""
        value = self.number(row, column)
        self._expect(value > 0, row, column, "a number above 0")
        return value

    def whole(self, row: Row, column: str) -> int:
        """A cell as a whole number from 0. Raises InputError as `number` does."""
        value = self.number(row, column)
        self._expect(value >= 0 and value == int(value), row, column, "a whole number from 0")
        return int(value)

    def count(self, row: Row, column: str) -> int:
        """The same from 1."""
        value = self.whole(row, column)
        self._expect(value > 0, row, column, "a whole number from 1")
        return value

    def _expect(self, holds: bool, row: Row, column: str, expected: str) -> None:
        if not holds:
            raise InputError(f"{self.name}.csv: {column} is {row[column]!r}, expected {expected}")


class Tables:
    """All tables of a folder."""

    def __init__(self, tables: Iterable[Table], origin: str) -> None:
        self._tables = tuple(tables)
        self.origin = origin

    def with_columns(self, *columns: str) -> list[Table]:
        """The tables that have at least these columns, in order of their names."""
        return [table for table in self._tables if table.columns.issuperset(columns)]

    def named(self, name: str) -> Table | None:
        """The table of this name, for layouts that columns alone do not tell apart."""
        return next((table for table in self._tables if table.name == name), None)

    def rows_of(self, name: str) -> Sequence[Row]:
        """The rows of the table of this name; none where it is missing."""
        table = self.named(name)
        return () if table is None else table.rows

    def __iter__(self) -> Iterator[Table]:
        return iter(self._tables)


def shipped() -> Tables:
    """The tables that come with nearfar."""
    return _read(folder("reference"), "reference")


def external(path: Path) -> Tables:
    """The tables of a user's folder. Raises InputError when there are none."""
    tables = _read(path, str(path))
    if not tables._tables:
        raise InputError(f"{path}: no CSV table in this folder")
    return tables


def single(path: Path) -> Tables:
    """One table alone. Raises InputError when it cannot be read."""
    return Tables((_table(path, path.name),), str(path))


def _read(place: Traversable, origin: str) -> Tables:
    names = sorted(item.name for item in place.iterdir() if item.name.endswith(".csv"))
    return Tables((_table(place.joinpath(name), name) for name in names), origin)


def _table(file: Traversable, name: str) -> Table:
    try:
        with file.open("r", encoding="utf-8") as stream:
            reader = csv.DictReader(stream)
            rows = list(reader)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{name}: cannot read this table: {error}") from None
    columns = frozenset(reader.fieldnames or ())
    for number, row in enumerate(rows, start=2):
        if None in row or None in row.values():
            raise InputError(f"{name}:{number}: expected {len(columns)} cells")
    return Table(name.removesuffix(".csv"), columns, rows)
