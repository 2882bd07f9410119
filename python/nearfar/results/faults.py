"""Recorded faults: what a replacement policy was told while a program ran, and what it answered.

A file of 64-bit words: a head (core/tier/pager/fault_record.h), then a word for each event: its
kind in the highest four bits, the page in the next 28, the process in the lower half. Each process
numbers its pages for itself, in groups of 512 in the order of their first use.
core/tier/pager/fault_log.h writes it.
"""

from __future__ import annotations

import array
import enum
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar import _lists
from nearfar.errors import InputError, file_error
from nearfar.layout import record, values

POLICIES = _lists.POLICIES
DEFAULT_POLICY = _lists.DEFAULT_POLICY  # of programs on two tiers

MAGIC = _lists.FAULT_MAGIC
HEAD_BYTES = _lists.FAULT_HEAD_BYTES
_NAMES = tuple(_lists.FAULT_EVENTS)


class Event(enum.IntEnum):
    """What happened to a page, as nearfar._lists.FAULT_EVENTS says."""

    FAULT = _NAMES.index("fault")
    AHEAD = _NAMES.index("ahead")
    SECOND_CHANCE = _NAMES.index("second_chance")
    EVICTED = _NAMES.index("evicted")
    REFUSED = _NAMES.index("refused")
    RELEASED = _NAMES.index("released")
    MOVED_FROM = _NAMES.index("moved_from")
    MOVED_TO = _NAMES.index("moved_to")


_KINDS = frozenset(Event)
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


def head(events: int, near_pages: int, policy: str) -> bytes:
    """What a record begins with; `policy` is one of POLICIES."""
    magic = int.from_bytes(MAGIC, "little")
    layout = record(_lists.FAULT_HEAD)
    return layout.pack(magic, events, near_pages, POLICIES.index(policy))


def events_in(head: bytes) -> int:
    """How many events a record counts in its head, with those that found no room."""
    return values(_lists.FAULT_HEAD, head)["events"]


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
    if len(data) < HEAD_BYTES or not data.startswith(MAGIC):
        raise InputError(f"{path}: is no record of faults; expected a file of --record-faults")
    begin = values(_lists.FAULT_HEAD, data)
    count, policy = begin["events"], begin["policy"]
    if len(data) != HEAD_BYTES + 8 * count or policy >= len(POLICIES):
        raise InputError(
            f"{path}: found {len(data)} bytes, expected {HEAD_BYTES + 8 * count} of {count} "
            "events; the record was cut short, or its program is still running"
        )
    words = array.array("Q", data[HEAD_BYTES:])
    if sys.byteorder == "big":
        words.byteswap()
    for word in (min(words), max(words)) if words else ():
        if word >> 60 not in _KINDS:
            raise InputError(
                f"{path}: found an event of kind {word >> 60}, expected 1 to {len(_KINDS)}; the "
                "record is damaged"
            )
    return Faults(POLICIES[policy], begin["near_pages"], words, str(path))
