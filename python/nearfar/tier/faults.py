"""Records what the pagers of a tree tell their policy into a file that they map and append to.

nearfar.results.faults says what is in it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nearfar.errors import InputError
from nearfar.results.faults import HEAD_BYTES, events_in, head
from nearfar.tier.new_file import create

_MOST_EVENTS = 1 << 29  # 4 GiB of a sparse file


@dataclass
class FaultLog:
    """The file while it is written to: its descriptor, 0 if there is none."""

    descriptor: int
    in_use: bool = False  # by processes that run on and have all of it mapped
    problem: str = ""  # why it is not whole in the end


@contextlib.contextmanager
def recorded_faults(name: str | None, policy: str, near_pages: int) -> Iterator[FaultLog]:
    """Make the file, and cut it to what it holds in the end.

    Raises InputError if it is there or cannot be made.
    """
    if name is None:
        yield FaultLog(0)
        return
    file = create(name, 0o666)
    try:
        os.ftruncate(file, HEAD_BYTES + 8 * _MOST_EVENTS)
        os.pwrite(file, head(0, near_pages, policy), 0)
        log = FaultLog(file)
        yield log
    except BaseException:
        os.close(file)
        Path(name).unlink(missing_ok=True)
        raise
    try:
        count = events_in(os.pread(file, HEAD_BYTES, 0))
        kept = min(count, _room(file))
        if log.in_use:
            file = _copied(file, name, HEAD_BYTES + 8 * kept)
        os.ftruncate(file, HEAD_BYTES + 8 * kept)
        os.pwrite(file, head(kept, near_pages, policy), 0)
        if kept < count:
            log.problem = f"{name}: only the first {kept} of {count} events found room"
    except OSError as error:
        log.problem = f"{name}: {error.strerror}"
    except InputError as error:  # it could not be made anew
        log.problem = str(error)
    finally:
        os.close(file)


def _room(file: int) -> int:
    """How many events have a place in the file: where the disk is full, those before the hole."""
    end = os.lseek(file, 0, os.SEEK_HOLE)
    return max(0, min(_MOST_EVENTS, (end - HEAD_BYTES) // 8))


def _copied(file: int, name: str, length: int) -> int:
    """Another file in the place of this one, with the same beginning: its descriptor."""
    Path(name).unlink(missing_ok=True)
    copy = create(name, 0o666)
    done = 0
    while done < length and (sent := os.sendfile(copy, file, done, length - done)):
        done += sent
    os.close(file)
    return copy
