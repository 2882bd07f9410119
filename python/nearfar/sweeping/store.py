"""Where the results of sweeps lie: one SQLite file, and beside it the full result of every point.

`rmw.db` has studies, and points by their hash; `rmw.results/ab/abcd....json` what each point's
command would have written with --json. A result file is whole before its row is committed, so a
row that is there has its file, whenever the sweep is killed. Only sweeps write, workers never do:
SQLite's log does not work over a network's file system.

Several sweeps can share a store: a sweep claims points before it runs them, and claims of a process
that is gone are anyone's.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nearfar.errors import InputError, NearfarError, suggestion
from nearfar.sweeping import owner
from nearfar.sweeping.points import Outcome, Point
from nearfar.sweeping.study import Study

FORM = 1
_APPLICATION = 0x6E667377  # "nfsw", in the file's header: tells a store from other databases
_BUSY_S = 60.0
_MOST_NAMES = 500  # of one statement
_TABLES = """
CREATE TABLE studies (name TEXT PRIMARY KEY, digest TEXT NOT NULL, definition TEXT NOT NULL,
  version TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE study_points (study TEXT NOT NULL, place INTEGER NOT NULL, hash TEXT NOT NULL,
  target TEXT NOT NULL, work TEXT NOT NULL, row TEXT NOT NULL,
  PRIMARY KEY (study, place)) WITHOUT ROWID;
CREATE TABLE points (hash TEXT PRIMARY KEY, error TEXT NOT NULL, figures TEXT NOT NULL,
  short TEXT NOT NULL, result TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE claims (hash TEXT PRIMARY KEY, owner TEXT NOT NULL) WITHOUT ROWID;
"""
# A claim stays until its process closes the store; that of a point that is done says nothing.
_CLAIM = """INSERT INTO claims SELECT ?, ? WHERE NOT EXISTS (SELECT 1 FROM points WHERE hash = ?)
  ON CONFLICT DO NOTHING"""


@dataclass(frozen=True)
class Stored:
    """A point's row: `error` is empty if it is done; `result` is the SHA-256 of its result."""

    hash: str
    error: str
    figures: Mapping[str, float]
    short: Sequence[str]
    result: str


@dataclass(frozen=True)
class StoredStudy:
    """A study as the store has it: its definition, and its points in order."""

    name: str
    digest: str
    definition: Mapping[str, Any]
    version: str
    points: Sequence[Point]


class Store:
    """An open store. Use it as a context."""

    def __init__(self, path: str | Path, *, new: bool) -> None:
        """Open the file; make it where `new` allows that. Raises InputError."""
        self.path = Path(path)
        self.results = self.path.with_suffix(".results")
        self._folders: set[Path] = set()  # that are made
        if not new and not self.path.is_file():
            raise InputError(f"{path}: found no such file, expected the store of a sweep")
        with self._said():
            self._db = sqlite3.connect(self.path, timeout=_BUSY_S, isolation_level=None)
            self._begin(new)
        self._me = owner.this_process()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(sqlite3.Error):  # a full disk: claims of the dead are anyone's
            self._db.execute("DELETE FROM claims WHERE owner = ?", (self._me,))
        self._db.close()

    def enter_study(self, study: Study, points: Sequence[Point], *, replace: bool) -> None:
        """Note a study with its points, unless it is there. Raises InputError for another study of
        its name, unless that is to be replaced."""
        with self._said(), self._transaction():
            known = self._db.execute(
                "SELECT digest FROM studies WHERE name = ?", (study.name,)
            ).fetchone()
            if known is not None and known[0] != study.digest() and not replace:
                raise InputError(
                    f"{self.path}: has another study of the name {study.name}; give this one "
                    "another --name or --store, or --replace the study (its points stay)"
                )
            self._db.execute("DELETE FROM study_points WHERE study = ?", (study.name,))
            self._db.execute("DELETE FROM studies WHERE name = ?", (study.name,))
            self._db.execute(
                "INSERT INTO studies VALUES (?, ?, ?, ?)",
                (study.name, study.digest(), _json(_described(study)), _version()),
            )
            self._add_points(study.name, 0, points)

    def add_points(self, study: str, place: int, points: Sequence[Point]) -> None:
        """Note further points of a study, from `place` on."""
        with self._said(), self._transaction():
            self._add_points(study, place, points)

    def find(self, hashes: Iterable[str]) -> dict[str, Stored]:
        """Those of the points that are here, done or failed, with their result files."""
        found: dict[str, Stored] = {}
        wanted = list(dict.fromkeys(hashes))
        with self._said():
            for at in range(0, len(wanted), _MOST_NAMES):
                some = wanted[at : at + _MOST_NAMES]
                marks = ",".join("?" * len(some))
                rows = self._db.execute(f"SELECT * FROM points WHERE hash IN ({marks})", some)
                found.update({row[0]: _stored(row) for row in rows})
        return {name: one for name, one in found.items() if self._has_result(one)}

    def rows_of(self, hashes: Iterable[str]) -> set[str]:
        """Those of the points that have a row, whether or not their results are there."""
        with self._said():
            known = {row[0] for row in self._db.execute("SELECT hash FROM points")}
        return known & set(hashes)

    def abandoned(self, hashes: Iterable[str]) -> list[str]:
        """Those of the points that no living process has claimed."""
        with self._said():
            owners = dict(self._db.execute("SELECT hash, owner FROM claims"))
        living = {name for name in set(owners.values()) if owner.is_alive(name)}
        return [name for name in hashes if owners.get(name) not in living]

    def forget(self, hashes: Iterable[str]) -> None:
        """Remove points, so that they are computed again."""
        with self._said(), self._transaction():
            self._db.executemany("DELETE FROM points WHERE hash = ?", ((one,) for one in hashes))

    def claim(self, name: str) -> bool:
        """Whether this process may compute a point: no other process does, and none has."""
        with self._said():
            claimed = self._db.execute(_CLAIM, (name, self._me, name))
        return claimed.rowcount == 1 or self._take_over(name)

    def _take_over(self, name: str) -> bool:
        """Claim a point in spite of a claim: one of this process, or of one that is gone."""
        with self._said(), self._transaction():
            if self._db.execute("SELECT 1 FROM points WHERE hash = ?", (name,)).fetchone():
                return False
            row = self._db.execute("SELECT owner FROM claims WHERE hash = ?", (name,)).fetchone()
            if row is not None and row[0] != self._me and owner.is_alive(row[0]):
                return False
            self._db.execute("INSERT OR REPLACE INTO claims VALUES (?, ?)", (name, self._me))
        return True

    def commit(self, outcome: Outcome) -> None:
        """Keep what became of a point: from now on it is never lost, and never computed again."""
        digest = ""
        if outcome.text:
            digest = hashlib.sha256(outcome.text.encode()).hexdigest()
            self._write_result(outcome.hash, outcome.text)
        row = (
            outcome.hash,
            outcome.error,
            _json(outcome.figures or {}),
            _json(list(outcome.short)),
        )
        with self._said():
            self._db.execute("INSERT OR REPLACE INTO points VALUES (?, ?, ?, ?, ?)", (*row, digest))

    def studies(self) -> list[str]:
        """Names of all studies, sorted."""
        with self._said():
            return [row[0] for row in self._db.execute("SELECT name FROM studies ORDER BY name")]

    def study(self, name: str | None) -> StoredStudy:
        """A study by its name; the only one if there is no name. Raises InputError."""
        names = self.studies()
        if name is None and len(names) != 1:
            raise InputError(
                f"{self.path}: found {len(names)} studies, expected --study with one of "
                f"{', '.join(names) or 'none'}"
            )
        chosen = names[0] if name is None else name
        if chosen not in names:
            hint = suggestion(chosen, names)
            raise InputError(
                f"{self.path}: found no study {chosen}, expected one of {', '.join(names)}{hint}"
            )
        with self._said():
            _, digest, definition, version = self._db.execute(
                "SELECT * FROM studies WHERE name = ?", (chosen,)
            ).fetchone()
            rows = self._db.execute(
                "SELECT hash, target, work, row FROM study_points WHERE study = ? ORDER BY place",
                (chosen,),
            )
            points = [Point(row[0], row[1], row[2], json.loads(row[3])) for row in rows]
        return StoredStudy(chosen, digest, json.loads(definition), version, points)

    def result_file(self, name: str) -> Path:
        """Where the full result of a point is."""
        return self.results / name[:2] / f"{name}.json"

    def _has_result(self, one: Stored) -> bool:
        """Whether its file is there; one that a power cut has emptied does not count."""
        try:
            return not one.result or self.result_file(one.hash).stat().st_size > 0
        except OSError:
            return False

    def _write_result(self, name: str, text: str) -> None:
        """Whole or not at all. Two that write the same point write the same bytes."""
        path = self.result_file(name)
        try:
            if path.parent not in self._folders:
                path.parent.mkdir(parents=True, exist_ok=True)
                self._folders.add(path.parent)
            temporary = path.with_suffix(f".{os.getpid()}")
            temporary.write_text(text, encoding="utf-8")
            temporary.replace(path)
        except OSError as error:
            with contextlib.suppress(OSError, UnboundLocalError):
                temporary.unlink()
            raise NearfarError(f"{path}: {error.strerror or error}; {_KEPT}") from None

    def _add_points(self, study: str, place: int, points: Sequence[Point]) -> None:
        self._db.executemany(
            "INSERT OR REPLACE INTO study_points VALUES (?, ?, ?, ?, ?, ?)",
            (
                (study, place + at, one.hash, one.target, one.work, _json(one.row))
                for at, one in enumerate(points)
            ),
        )

    def _begin(self, new: bool) -> None:
        """Check what the file is, or make it one."""
        (application,) = self._db.execute("PRAGMA application_id").fetchone()
        tables = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if application != _APPLICATION and (tables or not new):
            raise InputError(f"{self.path}: found another kind of database, expected a sweep's")
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        with self._transaction():
            (form,) = self._db.execute("PRAGMA user_version").fetchone()
            if form == FORM:
                self._db.execute("DELETE FROM claims WHERE hash IN (SELECT hash FROM points)")
            elif form == 0:
                for statement in _TABLES.split(";"):
                    self._db.execute(statement)
                self._db.execute(f"PRAGMA application_id = {_APPLICATION}")
                self._db.execute(f"PRAGMA user_version = {FORM}")
            else:
                raise InputError(
                    f"{self.path}: found a store of version {form}, expected {FORM}; use the "
                    "nearfar that wrote it, or another --store"
                )

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    @contextlib.contextmanager
    def _said(self) -> Iterator[None]:
        """SQLite's errors as one line."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            code = getattr(error, "sqlite_errorcode", 0)
            if code == sqlite3.SQLITE_FULL:
                raise NearfarError(f"{self.path}: No space left on device; {_KEPT}") from None
            if code == sqlite3.SQLITE_NOTADB:
                raise InputError(f"{self.path}: is no database, expected a sweep's store") from None
            raise InputError(f"{self.path}: {error}") from None


_KEPT = "finished points are kept, and the same command goes on"


def _stored(row: Sequence[Any]) -> Stored:
    return Stored(row[0], row[1], json.loads(row[2]), json.loads(row[3]), row[4])


def _described(study: Study) -> dict[str, Any]:
    """The definition, and what a page says of a study."""
    return {
        **study.definition(),
        "description": study.description,
        "figures": list(study.figures),
    }


def _version() -> str:
    from nearfar import __version__

    return __version__


def _json(data: Any) -> str:
    return json.dumps(data, separators=(",", ":"))
