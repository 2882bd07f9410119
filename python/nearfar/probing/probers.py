"""Every prober. A new one is a module beside this one, with `play` and `findings`, and a line here.

A module is loaded when its prober is played or has made observations.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from nearfar.measuring.host.target import Host
    from nearfar.model import Model
    from nearfar.results import Finding, Observation

MODEL, HOST, KERNEL = "model", "host", "kernel"
RANGE = "range"  # in the kernel, where pages are as the kernel maps a reserved range
SEED = 1


@dataclass(frozen=True)
class Asked:
    """What a module is to play."""

    target: Model | Host
    probers: Sequence[str]  # those of the module that are wanted
    quick: bool
    before: Sequence[Observation]  # its own, from a result that is continued
    progress: Callable[[float], None]  # the share of it that is done


class ProberModule(Protocol):
    """What a prober's module has to have."""

    def play(self, asked: Asked) -> tuple[list[Observation], bool]:
        """The observations, and whether Ctrl-C ended them early."""

    def findings(self, observations: Sequence[Observation]) -> list[Finding]:
        """What follows from observations, its own and others', and from nothing else."""


@dataclass(frozen=True)
class Prober:
    """A prober's name, its module in `nearfar.probing`, and what it fits: about how many seconds
    it takes there.

    Probers of one module are played together; `together`: one without the others says nothing.
    """

    name: str
    module: str
    seconds: Mapping[str, float]
    together: bool = False

    def load(self) -> ProberModule:
        """Import the module."""
        found = importlib.import_module(f"nearfar.probing.{self.module}")
        return cast(ProberModule, found)


# In the order in which they are played: what the caches are inferred from includes the page-size
# control of `tlb`.
PROBERS = (
    Prober("policy", "sequences", {MODEL: 0.1}),
    Prober("buffers", "sequences", {MODEL: 0.4}),
    Prober("queues", "sequences", {MODEL: 0.1}),
    Prober("migration", "sequences", {MODEL: 1.9}),
    Prober("tlb", "caches", {HOST: 5.0, KERNEL: 5.0, MODEL: 1.0}, together=True),
    Prober("caches", "caches", {HOST: 10.0, KERNEL: 10.0, MODEL: 2.0}, together=True),
    Prober("core", "core", {HOST: 4.0}),
    Prober("bandwidth", "bandwidth", {HOST: 5.0, KERNEL: 5.0, RANGE: 5.0, MODEL: 5.0}),
    Prober("aist", "aist", {HOST: 4.0, KERNEL: 4.0, RANGE: 4.0, MODEL: 4.0}),
    Prober("ict", "ict", {HOST: 6.0, KERNEL: 6.0, RANGE: 6.0, MODEL: 6.0}),
    Prober("memory-mode", "memory_mode", {HOST: 6.0, KERNEL: 6.0, MODEL: 6.0}),
)


def fitting(kind: str) -> list[Prober]:
    """Those that fit a kind of target."""
    return [one for one in PROBERS if kind in one.seconds]
