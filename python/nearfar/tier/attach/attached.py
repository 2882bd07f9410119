"""A process that is managed from outside: what it has, and what it can be told.

It answers the requests of a tree (nearfar.tier.tree), and `detach`.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nearfar._core import AttachManager
from nearfar.errors import InputError, NearfarError
from nearfar.tier.attach.target import Target
from nearfar.tier.client import running
from nearfar.tier.control import COUNTS, MOVE, PAGE, Flat
from nearfar.tier.outcome import figures, size
from nearfar.tier.share import Share
from nearfar.tier.tree import SCHEMA, asked_for, check_near, checked_share, program_of, wait_until


@dataclass(frozen=True)
class Attached:
    """The manager, what it manages, and how; `over` is set when it has been detached."""

    manager: AttachManager
    target: Target
    flat: Flat
    claim: socket.socket
    over: threading.Event = field(default_factory=threading.Event)
    _one: threading.Lock = field(default_factory=threading.Lock)
    _unmanaged_peak: list[int] = field(default_factory=lambda: [0])  # pages, one number

    @property
    def process(self) -> int:
        """By which its socket is named: this process."""
        return os.getpid()

    @property
    def is_over(self) -> bool:
        """Whether it is managed no more."""
        return self.over.is_set() or self.manager.has_ended()

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Do what is asked for. Raises NearfarError."""
        actions: dict[str, Callable[[], dict[str, Any]]] = {
            "stats": self.stats,
            "set": lambda: self.set_near(request.get("near_bytes"), request.get("share")),
            "pause": lambda: self.pause(True),
            "resume": lambda: self.pause(False),
            "detach": self.detach,
        }
        asked = asked_for(request, actions)
        if asked == "stats":
            return self.stats()
        with self._one:
            return actions[asked]()

    def stats(self) -> dict[str, Any]:
        """What it has now and what was counted, sizes in bytes."""
        counts = self.manager.counts()
        near, far = counts["near"], counts["far"]
        managed = {"near_bytes": near * PAGE, "managed_bytes": (near + far) * PAGE}
        part = {"process": self.target.process, "program": program_of(self.target.process)}
        return {
            "schema": SCHEMA,
            "process": self.process,
            "program": self.target.program,
            "attached": True,
            **({"guest_blocks": [*self.target.guest_blocks]} if self.target.guest_blocks else {}),
            "resident": self.manager.is_paused(),
            **managed,
            "far_bytes": far * PAGE,
            "far_stored_bytes": far * PAGE,
            "flat": True,
            **figures(
                self.limit_bytes(),
                self.flat.policy,
                self.counts(),
                "none",
                MOVE,
            ),
            "lost_events": self.lost_events(),
            "detector": self.flat.detector,
            "near_node": self.flat.near_node,
            "far_node": self.flat.far_node,
            "interval_s": self.flat.interval_ns / 1e9,
            "pairs": self.flat.pairs,
            "processes": [] if self.is_over else [{**part, **managed}],
        }

    def counts(self) -> dict[str, int]:
        """What was counted, by the names of COUNTS; 0 what is not counted from outside."""
        counts = self.manager.counts()
        unmanaged = _resident(self.target.process) - counts["near"] - counts["far"]
        self._unmanaged_peak[0] = max(self._unmanaged_peak[0], unmanaged)
        return {
            **dict.fromkeys(COUNTS, 0),
            **{name: count for name, count in counts.items() if name in COUNTS},
            "slots_peak": counts["far_peak"],
            "unmanaged_peak": self._unmanaged_peak[0],
        }

    def lost_events(self) -> int:
        """Events of DAMON that came faster than they were read."""
        return self.manager.counts()["lost_events"]

    def limit_bytes(self) -> int:
        """How much may be near now."""
        counts = self.manager.counts()
        return self._limit(counts["near"] + counts["far"]) * PAGE

    def set_near(self, near_bytes: Any, millionths: Any = None) -> dict[str, Any]:
        """Give it another limit and wait until that holds. What cannot be reached is undone."""
        check_near(near_bytes)
        share = checked_share(self.target.process, millionths, flat=True)
        if self.manager.is_paused():
            raise InputError(
                f"{self.target.process}: its pages are kept where they are; `nearfar tier resume "
                f"{self.target.process}` comes before another limit"
            )
        before = self.manager.limit()
        self.manager.set_limit(near_bytes // PAGE, 0 if share is None else share.millionths)
        if not wait_until(lambda: (self._over(),), lambda now: now[0] <= 0):
            left = self.manager.counts()["near"]
            wanted = left - self._over()
            self.manager.set_limit(*before)
            raise NearfarError(
                f"{self.target.process}: cannot go down to {size(wanted)}: {size(left)} are near, "
                "and pages that are pinned or shared with others do not move, nor any to a node "
                "without free memory; the limit stays as it was"
            )
        return self.stats()

    def pause(self, paused: bool) -> dict[str, Any]:
        """Move nothing any more, or again."""
        if self.manager.is_paused() is paused:
            state = "kept where they are already" if paused else "not kept, nothing to resume"
            raise InputError(f"{self.target.process}: its pages are {state}")
        self.manager.pause(paused)
        return self.stats()

    def detach(self) -> dict[str, Any]:
        """End it: the process runs on, and its pages stay where they are. It may be managed anew
        when this returns."""
        self.manager.stop()
        last = self.stats()
        self.claim.close()
        self.over.set()
        return last

    def _limit(self, managed: int) -> int:
        pages, millionths = self.manager.limit()
        return Share(millionths).of(managed) if millionths else pages

    def _over(self) -> int:
        counts = self.manager.counts()
        return counts["near"] - self._limit(counts["near"] + counts["far"])


def claimed(process: int) -> socket.socket:
    """The sole right to manage a process, until it is closed. Raises InputError if another manager
    has it, from inside or from outside."""
    for tree in running():
        if process in (part["process"] for part in tree.stats["processes"]):
            raise InputError(
                f"{process}: process {tree.process} manages its memory already; `nearfar tier set` "
                "changes its limit"
            )
    claim = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        claim.bind(f"\0nearfar-attach-{process}")
    except OSError:
        claim.close()
        raise InputError(f"{process}: another `nearfar tier attach` manages it already") from None
    return claim


def _resident(process: int) -> int:
    """Pages of a process in RAM, of all kinds; 0 if it has ended."""
    with suppress(OSError, IndexError, ValueError):
        return int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1])
    return 0
