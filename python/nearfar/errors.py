"""The errors a user can cause or meet. Each is one line, and carries the exit status.

The core raises the same `InputError`, so one `except` serves both languages.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_BEGINNING = 2  # letters that are enough of a name to tell it


class NearfarError(Exception):
    """The work failed; the message is one line for the user."""

    exit_code = 1


class InputError(NearfarError):
    """The user's input cannot be used: a model, a trace, an argument."""

    exit_code = 2


class Interrupted(KeyboardInterrupt):
    """Ctrl-C. `result` holds everything that was finished before, and says `interrupted`.

    Its class is that of what the interrupted function returns: `MeasureResult` of `measure`,
    `ProbeResult` of `probe`, `ValidationResult` of `validate`, `PredictionResult` of `predict`.
    """

    def __init__(self, result: Any) -> None:
        super().__init__("interrupted")
        self.result = result


def suggestion(word: str, valid: Iterable[str]) -> str:
    """`; did you mean NAME?` for the nearest of `valid`, or nothing when none is near.

    Upper and lower case are alike, and the beginning of one name only is near it.
    """
    names = {name.lower(): name for name in valid}
    lower = word.lower()
    nearest = difflib.get_close_matches(lower, list(names), n=1, cutoff=0.6)
    if not nearest and len(lower) >= _BEGINNING:
        begun = [name for name in names if name.startswith(lower)]
        nearest = begun if len(begun) == 1 else []
    return f"; did you mean {names[nearest[0]]}?" if nearest else ""


def check_one_of(option: str, found: str, valid: Iterable[str]) -> None:
    """Raise InputError for what is none of `valid`, with the nearest of them."""
    known = list(valid)
    if found not in known:
        hint = suggestion(found, known)
        raise InputError(f"{option}: found '{found}', expected one of {', '.join(known)}{hint}")


def file_error(
    path: str | Path, error: OSError, failed: str = "", *, new: bool = False
) -> InputError:
    """Of a file that cannot be opened: what `failed`, why, and what is there instead, unless the
    file was to be made, and is `new`.
    """
    reason = f"{path}: {failed}{error.strerror or error}"
    if not isinstance(error, FileNotFoundError):
        return InputError(reason)
    folder = Path(path).parent
    if not folder.is_dir():
        return InputError(f"{reason}; there is no folder {folder}")
    if new:
        return InputError(reason)
    try:
        names = {entry.name for entry in folder.iterdir()}
    except OSError:  # it may be entered and not listed
        names = set()
    name = Path(path).name
    others = sorted(names - {name})  # it is there as a link that leads nowhere
    return InputError(f"{reason}{suggestion(name, others)}")
