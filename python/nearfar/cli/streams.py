"""Standard output and standard error: what is written there, and what when that fails.

This imports little, as every start of the command does.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Iterator
from typing import TextIO

from nearfar.errors import NearfarError


def emit(text: str) -> None:
    """Write to standard output."""
    sys.stdout.write(text)


def complain(message: str) -> None:
    """Write one line, an error or a warning, to standard error, whatever is in `message`."""
    line = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in message)
    try:
        sys.stderr.write(f"nearfar: {line}\n")
        sys.stderr.flush()
    except OSError:  # standard error is closed; the exit status still tells
        abandon(sys.stderr)


def reason(error: OSError) -> str:
    """Why something could not be written or read, as one line."""
    if error.errno == errno.EMFILE:
        return "too many files are open; raise the limit (ulimit -n)"
    return f"{error.filename or 'output'}: {error.strerror or error}"


def abandon(stream: TextIO) -> None:
    """Point a standard stream nowhere, so that Python's own flush at exit stays silent."""
    with contextlib.suppress(OSError, ValueError):  # it may be no real file
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@contextlib.contextmanager
def reporting(stream: TextIO) -> Iterator[None]:
    """While something is reported on a program that has ended, perhaps on `stream`.

    What cannot be written is one line, and no more: the exit status is the program's.
    """
    try:
        yield
        stream.flush()
    except BrokenPipeError:
        abandon(stream)
    except OSError as error:
        abandon(stream)
        complain(reason(error))
    except NearfarError as error:
        complain(str(error))
