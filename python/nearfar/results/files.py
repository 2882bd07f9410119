"""Documents on disk. A file is either the old one or the whole new one, never half of it."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from nearfar.errors import InputError, file_error
from nearfar.results.comparison import ComparisonResult
from nearfar.results.crash import CrashResult
from nearfar.results.decode import decode
from nearfar.results.findings import ProbeResult
from nearfar.results.fit import FitResult
from nearfar.results.flat_replay import FlatReplayResult
from nearfar.results.prediction import PredictionResult
from nearfar.results.replay import ReplayResult
from nearfar.results.run import RunResult
from nearfar.results.schema import MeasureResult
from nearfar.results.sweep import SweepResult
from nearfar.results.tier_replay import TierReplayResult
from nearfar.results.tier_run import TierRunResult
from nearfar.results.validation import ValidationResult

Document = (
    MeasureResult
    | ProbeResult
    | ValidationResult
    | ReplayResult
    | CrashResult
    | RunResult
    | ComparisonResult
    | SweepResult
    | FlatReplayResult
    | TierReplayResult
    | TierRunResult
    | PredictionResult
    | FitResult
)

_DOCUMENTS: dict[str, type[Document]] = {
    kind.SCHEMA: kind
    for kind in (
        MeasureResult,
        ValidationResult,
        ReplayResult,
        CrashResult,
        RunResult,
        ComparisonResult,
        SweepResult,
        FlatReplayResult,
        TierReplayResult,
        TierRunResult,
        PredictionResult,
        FitResult,
    )
}


def load(path: str | Path) -> Document:
    """Read a document. Raises InputError naming the file and what is wrong with it."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise file_error(path, error) from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: {error}") from None
    try:
        data = json.loads(text)
    except ValueError as error:
        line = f":{error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise InputError(f"{path}{line}: not JSON: {error}") from None
    except RecursionError:
        raise InputError(f"{path}: found values nested too deeply, expected a result") from None
    return parse(data, origin=str(path))


def parse(data: object, origin: str = "document") -> Document:
    """The reverse of `to_dict`, by the document's `schema`. Raises InputError."""
    schema = data.get("schema") if isinstance(data, dict) else None
    kind = _DOCUMENTS.get(schema) if isinstance(schema, str) else None
    if kind is None or not isinstance(data, dict):
        found = "no schema" if schema is None else f"schema {schema!r}"
        raise InputError(f"{origin}: found {found}, expected {' or '.join(_DOCUMENTS)}")
    if kind is MeasureResult and "observations" in data:
        kind = ProbeResult  # points or observations: both are results
    if kind is TierRunResult:
        return TierRunResult.from_dict(data, origin)
    document = decode(kind, {key: data[key] for key in data if key != "schema"}, origin)
    for one in document.observations if isinstance(document, ProbeResult) else ():
        if (missing := one.lacks()) is not None:
            raise InputError(f"{origin}: found observation {one.id} without pattern.{missing}")
    return document


def save(document: Document, path: str | Path) -> None:
    """Write `document` as JSON. Raises InputError when the file cannot be written."""
    write_text(path, to_json(document))


def to_json(document: Document) -> str:
    """The JSON text: keys in the schema's order, so that equal documents are equal text."""
    return json.dumps(document.to_dict(), indent=1, allow_nan=False) + "\n"


def write_text(path: str | Path, text: str) -> None:
    """Replace `path` by a file holding `text`, through a temporary file in the same folder."""
    with replacing(path) as stream:
        stream.write(text.encode("utf-8"))


@contextlib.contextmanager
def replacing(path: str | Path) -> Iterator[BinaryIO]:
    """A stream whose content becomes the file `path` when the block ends well.

    Until then, and whatever goes wrong, `path` stays as it was.
    """
    path = Path(path)
    with _named(path):
        if _is_stream(path):
            # A pipe or a terminal (/dev/stdout) has no old content to protect.
            with path.open("wb") as stream:
                yield stream
            return
        target = path.resolve()
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(handle, "wb") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            # mkstemp makes private files; a result gets what open() would have given it.
            Path(temporary).chmod(_mode_for(target))
            Path(temporary).replace(target)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()
            raise


def check_writable(path: str | Path) -> None:
    """Raise InputError now if `write_text(path)` would fail later, and leave no trace."""
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path}: is a folder, not a file to write")
    if _is_stream(path):
        return
    with _named(path):
        handle, temporary = tempfile.mkstemp(dir=path.resolve().parent, prefix=f".{path.name}.")
        os.close(handle)
        Path(temporary).unlink()


def _is_stream(path: Path) -> bool:
    return path.exists() and not path.is_file() and not path.is_dir()


def _mode_for(path: Path) -> int:
    if path.exists():
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


@contextlib.contextmanager
def _named(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise file_error(path, error, "cannot write: ", new=True) from None
