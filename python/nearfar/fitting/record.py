"""What a fit has simulated so far, on disk, so that an interrupted one goes on where it was.

One line a run, appended: the run's hash and what it showed. A fit is deterministic, so going on
is doing the same again with the runs of the record answered from it.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

from nearfar import __version__
from nearfar.errors import file_error

SUFFIX = ".partial"
_HEADER = {"record": "simulations of a fit", "version": __version__}


class Record:
    """Answers by key. Without a path nothing outlives the process."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._known: dict[str, dict[str, float]] = {}
        self._begun = False
        if path is not None:
            self._read(path)

    def __len__(self) -> int:
        return len(self._known)

    def get(self, key: str) -> dict[str, float] | None:
        """What the run of that key showed; None if it has not run."""
        return self._known.get(key)

    def put(self, key: str, values: dict[str, float]) -> None:
        """Keep what a run showed. Raises InputError when it cannot be written."""
        self._known[key] = values
        if self._path is None:
            return
        try:
            with self._path.open("a" if self._begun else "w", encoding="utf-8") as stream:
                if not self._begun:
                    stream.write(json.dumps(_HEADER) + "\n")
                    lines = [(key, self._known[key]) for key in self._known]
                else:
                    lines = [(key, values)]
                stream.writelines(json.dumps(line) + "\n" for line in lines)
        except OSError as error:
            raise file_error(self._path, error, "cannot write: ", new=True) from None
        self._begun = True

    def _read(self, path: Path) -> None:
        """The runs of an earlier fit by this version; a last line that was cut off is none."""
        with (
            contextlib.suppress(OSError, UnicodeDecodeError, json.JSONDecodeError),
            path.open(encoding="utf-8") as stream,
        ):
            if json.loads(stream.readline()) != _HEADER:
                return
            for line in stream:
                key, values = json.loads(line)
                self._known[key] = values
