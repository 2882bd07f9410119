"""Recorded faults: what a replacement policy was told while a program ran, and what it answered.

A file of 64-bit words: a head of four (`MAGIC`, events, near pages, the policy's position in
`POLICIES`), then one an event: its kind in the highest four bits, the page in the next 28, the
process in the lower half. Pages are numbered by each process for itself, in groups of 512 in the
order of their first use. core/tier/pager/fault_log.h writes it.
"""

from __future__ import annotations

import array
import enum
import struct
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar.errors import InputError, file_error

POLICIES = ("fifo", "clock", "lru-approx", "2q", "s3-fifo", "raminate", "regret")
# Of programs on two tiers, which the core chooses too when there is no launcher.
DEFAULT_POLICY = "s3-fifo"

MAGIC = b"nffault1"
HEAD = struct.Struct("<8s3Q")


class Event(enum.IntEnum):
    """What happened to a page, and a policy was told, or answered."""

    FAULT = 1  # it was touched, and came in
    AHEAD = 2  # it came in beside one that was touched
    SECOND_CHANCE = 3  # it was touched in limbo
    EVICTED = 4  # the policy named it
    REFUSED = 5  # it could not leave
    RELEASED = 6  # nothing is remembered of it
    MOVED_FROM = 7  # its number was this
    MOVED_TO = 8  # and is this now: the event after that


_EVENTS = frozenset(Event)
_COME = frozenset((Event.FAULT, Event.AHEAD, Event.SECOND_CHANCE))


@dataclass(frozen=True)
class Faults:
    """A record: the policy, its near memory, and all events in order."""

    policy: str
    near_pages: int
    words: Sequence[int]
    file: str = "record"

    def processes(self) -> list[int]:
        """Those that appear, in the order in which they do."""
        return list(dict.fromkeys(word & 0xFFFFFFFF for word in self.words))

    def events(self, process: int) -> Iterator[tuple[Event, int]]:
        """What happened in one process: events and pages."""
        for word in self.words:
            if word & 0xFFFFFFFF == process:
                yield Event(word >> 60), word >> 32 & 0xFFFFFFF

    def visits(self) -> Iterator[tuple[Event, int]]:
        """FAULT, AHEAD, SECOND_CHANCE and RELEASED in all processes, each page by a number of its
        own, from 0 on, which it keeps where it moves; a page that has been released may come again.
        Raises InputError where a page arrives that did not leave.
        """
        numbers: dict[int, int] = {}  # by page and process
        moving: dict[int, int] = {}  # the page that moves, by process
        for word in self.words:
            event, page, process = word >> 60, word & 0xFFFFFFFFFFFFFFF, word & 0xFFFFFFFF
            if event in _COME:
                yield Event(event), numbers.setdefault(page, len(numbers))
            elif event == Event.RELEASED and page in numbers:
                yield Event.RELEASED, numbers[page]
            elif event == Event.MOVED_FROM:
                moving[process] = page
            elif event == Event.MOVED_TO:
                # What is left behind, as what was there before, is a page that never came.
                source = moving.pop(process, None)
                if source is None:
                    raise InputError(
                        f"{self.file}: found a page of process {process} that moved from nowhere; "
                        "the record is damaged"
                    )
                here = numbers.setdefault(source, len(numbers))
                numbers[source] = numbers.setdefault(page, len(numbers))
                numbers[page] = here


def read_faults(path: str | Path) -> Faults:
    """Read a record that is not packed. Raises InputError for a file that is none, or was cut
    short.
    """
    try:
        return parse_faults(Path(path).read_bytes(), path)
    except OSError as error:
        raise file_error(path, error) from None


def parse_faults(data: bytes, path: str | Path) -> Faults:
    """Read a record that was in the file `path`. Raises InputError as `read_faults` does."""
    if len(data) < HEAD.size or not data.startswith(MAGIC):
        raise InputError(f"{path}: is no record of faults; expected a file of --record-faults")
    _, count, near_pages, policy = HEAD.unpack_from(data)
    if len(data) != HEAD.size + 8 * count or policy >= len(POLICIES):
        raise InputError(
            f"{path}: found {len(data)} bytes, expected {HEAD.size + 8 * count} of {count} events; "
            "the record was cut short, or its program is still running"
        )
    words = array.array("Q", data[HEAD.size :])
    if sys.byteorder == "big":
        words.byteswap()
    for word in (min(words), max(words)) if words else ():
        if word >> 60 not in _EVENTS:
            raise InputError(
                f"{path}: found an event of kind {word >> 60}, expected 1 to {len(_EVENTS)}; the "
                "record is damaged"
            )
    return Faults(POLICIES[policy], near_pages, words, str(path))
