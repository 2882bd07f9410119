"""Divides one near memory among machines that run, again and again."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from nearfar.errors import InputError, NearfarError, suggestion
from nearfar.tier import directory
from nearfar.tier.outcome import mib
from nearfar.tier.tree import LEAST_NEAR
from nearfar.vm.division import Part, fitted, moved
from nearfar.vm.machines import RunningMachine, running_machines

_LOOK_FOR_MACHINES_S = 2.0  # which costs a look at every process
_SMOOTHED = 0.5  # what the last period counts in a rate
_LOCK = "pool.lock"


@dataclass(frozen=True)
class Wishes:
    """What the operator wants: the machines' names, none for all; and by name, weights and
    minimums in bytes."""

    names: Collection[str] = ()
    weights: Mapping[str, float] = field(default_factory=dict)
    least: Mapping[str, int] = field(default_factory=dict)


@dataclass
class _Member:
    machine: RunningMachine
    part: Part
    limit: int  # that it has
    copies: int  # pages that it had brought in when it was looked at last
    looked: float = 0.0  # when that was
    answers: bool = True  # then


class Pool:
    """One near memory and the machines that share it."""

    def __init__(self, near_bytes: int, wishes: Wishes) -> None:
        self._near_bytes = near_bytes
        self._wishes = wishes
        self._members: dict[str, _Member] = {}
        self._looked_for_machines = -_LOOK_FOR_MACHINES_S

    def period(self) -> dict[str, tuple[int, int]]:
        """Look at the machines and move memory once: what changed, from how many bytes to how many,
        by name. Raises InputError for a pool that is smaller than the minimums."""
        now = time.monotonic()
        joined = set()
        if now - self._looked_for_machines >= _LOOK_FOR_MACHINES_S:
            self._looked_for_machines = now
            joined = self._find()
        self._count(now)
        parts = {name: member.part for name, member in self._members.items()}
        wanted = fitted(self._near_bytes, parts)
        if wanted == {name: part.near for name, part in parts.items()} and not joined:
            wanted = moved(parts)
        return self._settle(wanted)

    @property
    def is_empty(self) -> bool:
        """Whether no machine shares it."""
        return not self._members

    def _find(self) -> set[str]:
        """Take in machines that have begun, with what is theirs by weight; their names."""
        found = {machine.name: machine for machine in _cached()}
        for name, member in list(self._members.items()):
            # One that was started again under its name is another machine.
            if name not in found or found[name].process != member.machine.process:
                del self._members[name]
        wanted = self._wishes.names or found
        new = {name: found[name] for name in wanted if name in found and name not in self._members}
        for name, machine in new.items():
            part = self._part(machine)
            copies = machine.tree.stats["copies_in"]
            self._members[name] = _Member(machine, part, part.near, copies)
        self._check()
        if new:
            parts = {name: replace(member.part, near=0) for name, member in self._members.items()}
            fair = fitted(self._near_bytes, parts)
            for name in new:
                self._members[name].part = replace(self._members[name].part, near=fair[name])
        return set(new)

    def _part(self, machine: RunningMachine) -> Part:
        stats = machine.tree.stats
        most = max(machine.guest_bytes, stats["managed_bytes"])
        return Part(
            near=stats["near_limit_bytes"],
            least=min(most, self._wishes.least.get(machine.name, LEAST_NEAR)),
            most=most,
            weight=self._wishes.weights.get(machine.name, 1.0),
        )

    def _check(self) -> None:
        least = sum(member.part.least for member in self._members.values())
        if least > self._near_bytes:
            raise InputError(
                f"--near: found {mib(self._near_bytes)}, expected at least the {mib(least)} that "
                f"{', '.join(self._members)} have as their minimums (--least, or 1 MiB)"
            )

    def _count(self, now: float) -> None:
        """Learn what each machine has brought in since the last period. One that does not answer
        stays as it is; one that has ended is left out from the next look for machines on."""
        for member in self._members.values():
            try:
                stats = member.machine.tree.ask(do="stats")
            except NearfarError:
                member.answers = False
                continue
            member.answers = True
            copies, limit = stats["copies_in"], stats["near_limit_bytes"]
            if member.looked:
                rate = (copies - member.copies) / (now - member.looked)
                smoothed = member.part.rate + _SMOOTHED * (rate - member.part.rate)
                # Its limit, too, which the operator may have set; and memory that was plugged in.
                most = max(member.part.most, stats["managed_bytes"])
                member.part = replace(member.part, rate=smoothed, near=limit, most=most)
            member.copies, member.limit, member.looked = copies, limit, now

    def _settle(self, wanted: Mapping[str, int]) -> dict[str, tuple[int, int]]:
        """Have machines give first, and then others take what was given. What a machine cannot
        give (its pages are pinned, or it is stopped) is not taken."""
        changed = {}
        for name in sorted(wanted, key=lambda name: wanted[name] - self._members[name].limit):
            member = self._members[name]
            before, after = member.limit, wanted[name]
            if after > before:
                free = self._near_bytes - sum(other.limit for other in self._members.values())
                after = max(before, min(after, before + free))
            # A launcher that is silent would hold up the others.
            if after != before and member.answers and _set(member, after):
                changed[name] = (before, after)
        return changed


def _cached() -> list[RunningMachine]:
    """The machines whose far pages are brought in on faults, which tell what they lack."""
    return [machine for machine in running_machines() if not machine.tree.stats["flat"]]


def _set(member: _Member, near_bytes: int) -> bool:
    try:
        member.machine.tree.ask(do="set", near_bytes=near_bytes)
    except NearfarError:  # it has ended, or cannot give so much
        return False
    member.limit = near_bytes
    member.part = replace(member.part, near=near_bytes)
    return True


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Be the only process of this user that manages a pool. Raises InputError if another does."""
    try:
        folder = directory.make()
        with directory.opened(folder) as short:
            lock = os.open(short / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise NearfarError(f"{directory.folders()[0]}: {error.strerror}") from None
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            other = os.pread(lock, 32, 0).decode(errors="replace").strip()
            raise InputError(
                f"process {other} manages a pool of this user already; expected one at a time"
            ) from None
        os.truncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(lock)


def check_names(wishes: Wishes) -> None:
    """Raise InputError for a name that no machine has."""
    machines = running_machines()
    names = [machine.name for machine in machines if not machine.tree.stats["flat"]]
    flat = {machine.name for machine in machines} - {*names}
    for name in (*wishes.names, *wishes.weights, *wishes.least):
        if name in flat:
            raise InputError(
                f"{name}: addresses both tiers directly (--flat), so that no misses say what it "
                "would gain; expected machines without --flat"
            )
        if name not in names:
            known = f"expected one of {', '.join(names)}" if names else "and no machine runs"
            raise InputError(
                f"{name}: found no such machine on two tiers, {known}{suggestion(name, names)}"
            )
