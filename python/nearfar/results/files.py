"""Results on disk. A file is either the old one or the whole new one, never half of it."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nearfar.errors import InputError
from nearfar.results.schema import Result


def load(path: str | Path) -> Result:
    """Read a result. Raises InputError naming the file and what is wrong with it."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {_reason(error)}") from None
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"{path}:{error.lineno}: not JSON: {error.msg}") from None
    return Result.from_dict(data, origin=str(path))


def save(result: Result | Mapping[str, Any], path: str | Path) -> None:
    """Write `result` as JSON. Raises InputError when the file cannot be written."""
    write_text(path, to_json(result))


def to_json(result: Result | Mapping[str, Any]) -> str:
    """The JSON text of a result: keys in the schema's order, so equal results are equal text."""
    data = result.to_dict() if isinstance(result, Result) else result
    return json.dumps(data, indent=1, allow_nan=False) + "\n"


def write_text(path: str | Path, text: str) -> None:
    """Replace `path` by a file holding `text`, through a temporary file in the same folder."""
    path = Path(path)
    if _is_stream(path):
        # A pipe or a terminal (/dev/stdout) has no old content to protect.
        with _named(path), path.open("w", encoding="utf-8") as stream:
            stream.write(text)
        return
    with _named(path):
        target = path.resolve()
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                stream.write(text)
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
def _named(path: Path) -> Any:
    try:
        yield
    except OSError as error:
        raise InputError(f"{path}: cannot write: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error)
