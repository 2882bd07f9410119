"""A tree of processes on two tiers, while it runs: what it has, and what it can be told.

A request is a dictionary with the key `do`; what comes back is one, too. They are what goes
through the launcher's socket (docs/tiering.md), and what is asked of a tree without a launcher.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nearfar._lists import FLAT_WHOLE_SHARE
from nearfar.errors import InputError, NearfarError, suggestion
from nearfar.tier import control
from nearfar.tier.control import PAGE, Member, Residence
from nearfar.tier.outcome import figures, size
from nearfar.tier.share import Share

SCHEMA = "nearfar/tier-stats/1"
LEAST_NEAR, _TOO_MUCH_NEAR = 1 << 20, 1 << 63
_MIB = 1 << 20
_SPARE = 2  # pages that a process charges for a moment beyond what it brings in
_LOOK_EVERY = 0.005
_PATIENCE = 3.0  # seconds without progress, as of a stopped process


def asked_for(request: Mapping[str, Any], actions: Collection[str]) -> str:
    """Which of these a request asks for. Raises InputError."""
    asked = request.get("do")
    if not isinstance(asked, str) or asked not in actions:
        hint = suggestion(str(asked), actions)
        raise InputError(f"found '{asked}', expected one of {', '.join(actions)}{hint}")
    return asked


@dataclass(frozen=True)
class Tree:
    """The shared memory, the bell, and whose tree it is."""

    memory: int
    bell: int
    process: int
    program: str
    _one: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Do what is asked for. Raises NearfarError."""
        actions: dict[str, Callable[[], dict[str, Any]]] = {
            "stats": self.stats,
            "set": lambda: self.set_near(request.get("near_bytes"), request.get("share")),
            "pause": self.pause,
            "resume": self.resume,
        }
        asked = asked_for(request, actions)
        if asked == "stats":
            return self.stats()
        with self._one, control.locked(self.memory):
            return actions[asked]()

    def stats(self) -> dict[str, Any]:
        """What it has now and what was counted, sizes in bytes."""
        totals, limit = control.totals(self.memory), control.limit(self.memory) * PAGE
        return {
            "schema": SCHEMA,
            "process": self.process,
            "program": self.program,
            "resident": control.residence(self.memory) is Residence.KEPT,
            "near_bytes": totals.near * PAGE,
            "far_bytes": totals.far * PAGE,
            "far_stored_bytes": totals.stored_bytes,
            "managed_bytes": totals.managed * PAGE,
            "flat": control.is_flat(self.memory),
            **figures(
                limit,
                control.policy(self.memory),
                control.counts(self.memory),
                control.compression(self.memory),
                control.eviction(self.memory),
            ),
            "processes": [
                {
                    "process": member.process,
                    "program": program_of(member.process),
                    "near_bytes": member.near * PAGE,
                    "managed_bytes": member.managed * PAGE,
                }
                for member in self._members()
            ],
        }

    def set_near(self, near_bytes: Any, millionths: Any = None) -> dict[str, Any]:
        """Give the tree another limit, or where both tiers are addressed directly so many
        millionths of its memory, and wait until it holds. What cannot be reached is undone."""
        check_near(near_bytes)
        share = checked_share(self.process, millionths, flat=control.is_flat(self.memory))
        before, pages = control.limit(self.memory), near_bytes // PAGE
        share_before = control.share(self.memory)
        resident = control.residence(self.memory) is not Residence.FREE
        if resident and pages < control.totals(self.memory).near:
            raise InputError(
                f"{self.process}: all its pages are kept resident; `nearfar tier resume "
                f"{self.process}` comes before a smaller limit"
            )
        self._limit(pages, share)

        def over() -> int:
            return control.totals(self.memory).near - control.limit(self.memory)

        if not wait_until(lambda: (over(),), lambda now: now[0] <= 0):
            left = control.totals(self.memory).near
            pages = control.limit(self.memory)
            self._limit(before, share_before)
            raise NearfarError(
                f"{self.process}: cannot go down to {size(pages)}: {size(left)} are in use by "
                f"pages that cannot be moved and tables, or a process is stopped; the limit stays "
                f"{size(before)}"
            )
        return self.stats()

    def pause(self) -> dict[str, Any]:
        """Bring every page back and keep it resident, if the limit has room for all."""
        if control.residence(self.memory) is not Residence.FREE:
            raise InputError(f"{self.process}: all its pages are kept resident already")
        with self._or_else(Residence.FREE):
            self._residence(Residence.COUNTED)
            far = sum(member.far for member in self._members())
            needed = control.totals(self.memory).near + far + _SPARE * len(self._members())
            lacking = needed - control.limit(self.memory)
            if far and lacking > 0:
                enough = -(-needed * PAGE // _MIB)
                raise NearfarError(
                    f"{self.process}: {size(lacking)} of near memory are lacking to keep all pages "
                    f"resident; `nearfar tier set --near {enough}MiB {self.process}` gives enough"
                )
            self._residence(Residence.KEPT)
        return self.stats()

    def resume(self) -> dict[str, Any]:
        """Let pages leave again."""
        before = control.residence(self.memory)
        if before is Residence.FREE:
            raise InputError(f"{self.process}: its pages are not kept resident, nothing to resume")
        with self._or_else(before):
            self._residence(Residence.FREE)
        return self.stats()

    def _members(self) -> list[Member]:
        """The processes that run, each once: one that has become another program may be in the
        memory twice, and only the last part of it still answers."""
        last: dict[int, Member] = {}
        for member in control.members(self.memory):
            other = last.get(member.process)
            if other is not None and control.has_obeyed(other, member.obeyed):
                continue
            if Path(f"/proc/{member.process}").is_dir():
                last[member.process] = member
        return list(last.values())

    def _limit(self, pages: int, share: Share | None) -> None:
        control.set_limit(self.memory, pages, share)
        control.order(self.memory, self.bell)

    @contextlib.contextmanager
    def _or_else(self, what: Residence) -> Iterator[None]:
        """Order that where what is done inside fails or is interrupted."""
        try:
            yield
        except BaseException:
            control.set_residence(self.memory, what)
            control.order(self.memory, self.bell)
            raise

    def _residence(self, what: Residence) -> None:
        """Order that, and wait until every process has obeyed."""
        control.set_residence(self.memory, what)
        generation = control.order(self.memory, self.bell)

        def silent() -> list[int]:
            members = self._members()
            return [m.process for m in members if not control.has_obeyed(m, generation)]

        def left() -> tuple[int, int]:
            return len(silent()), -control.totals(self.memory).near

        if not wait_until(left, lambda now: now[0] == 0):
            waited_for = ", ".join(map(str, silent()))
            raise NearfarError(
                f"{self.process}: no answer from process {waited_for}; is it stopped?"
            )


def checked_share(process: int, millionths: Any, *, flat: bool) -> Share | None:
    """The share of near memory that so many millionths are, if not None. Raises InputError for what
    is none, and for a tree that is not `flat`."""
    if millionths is None:
        return None
    if not flat:
        raise InputError(
            f"{process}: found a share of near memory, expected a size such as 64MiB; far memory "
            "is not addressed directly there (tier run --flat)"
        )
    if not isinstance(millionths, int) or not 1 <= millionths <= FLAT_WHOLE_SHARE:
        raise InputError(f"share: found {millionths}, expected 1 to {FLAT_WHOLE_SHARE}")
    return Share(millionths)


def check_near(near_bytes: Any) -> None:
    """Raise InputError if no tree can live with so little, or it is more than there can be."""
    expected = expected_near(near_bytes)
    if expected:
        raise InputError(f"--near: found {near_bytes} B, expected {expected}")


def expected_near(near_bytes: Any) -> str:
    """What near memory has to be, if this is not it."""
    if not isinstance(near_bytes, int) or near_bytes < LEAST_NEAR:
        return "at least 1 MiB"
    return f"less than {1 << 23} TiB" if near_bytes >= _TOO_MUCH_NEAR else ""


def program_of(process: int) -> str:
    """The name of a running program; empty if it is gone."""
    try:
        comm = Path(f"/proc/{process}/comm").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return comm.rstrip("\n")


def wait_until(
    look: Callable[[], tuple[int, ...]], done: Callable[[tuple[int, ...]], bool]
) -> bool:
    """Look until it is done; False when what is left has not become less for a while."""
    now = least = look()
    changed = time.monotonic()
    while not done(now):
        time.sleep(_LOOK_EVERY)
        now = look()
        if now < least:
            least, changed = now, time.monotonic()
        elif time.monotonic() - changed > _PATIENCE:
            return False
    return True
