"""One point to be measured on a real machine, and what has been measured of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nearfar.measuring.host.points import Repetition
from nearfar.results import Point

if TYPE_CHECKING:
    from nearfar.measuring.host.core import HostMemory

Cpus = Sequence[int]


@dataclass
class Setting:
    """One point to be: what a repetition does, and those that have been done."""

    what: str  # for an error
    footprint: int  # bytes of memory
    threads: int
    play: Callable[[HostMemory, Cpus], Repetition]
    finish: Callable[[Sequence[Repetition]], Point]
    repetitions: list[Repetition] = field(default_factory=list)
