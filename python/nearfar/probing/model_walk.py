"""Chains of dependent loads through a simulated machine's caches and TLBs.

A walk says the same every time, so nothing is repeated and nothing timed in chunks. Each begins
on a machine of its own, with nothing in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, cast

import numpy as np

from nearfar.errors import InputError
from nearfar.inference.caches.orders import Offsets
from nearfar.inference.caches.plan import HUGE, SMALL, Experiment
from nearfar.measuring.core import load_core
from nearfar.measuring.target import capacity
from nearfar.model import Model
from nearfar.probing.device import OPERAND_BITS
from nearfar.probing.walk import Walked

__all__ = ["CoreWalker"]

_CACHED_LOAD = 6  # among the core's steps
_WARM, _WARM_LOADS = 2, 8192  # rounds, and loads, at least: replacement takes some to settle
_TIMED = 1024  # loads at least, in whole rounds
_MOST = 8192  # loads of a round: of a longer one, so much of its beginning


class _Sequencer(Protocol):
    def sequence(
        self, settings: str, *, steps: bytes, outstanding: int, agent: str, seed: int, untimed: int
    ) -> Mapping[str, Any]: ...


class CoreWalker:
    """A core's cached loads: through its TLBs, L1, L2 and L3, to the memory behind them.

    Offsets are addresses. Pages of either size lie one behind the other, so only what the
    model hashes is not where a walk puts it.
    """

    def __init__(self, model: Model) -> None:
        self._memory = capacity(model)
        self._cached = bool(model["cpu.caches"])
        self._settings = {
            pages: model.override({"cpu.page": pages}).export() for pages in (SMALL, HUGE)
        }
        self._core = cast(_Sequencer, load_core())

    @property
    def memory_bytes(self) -> int:
        return self._memory // 2

    def walk(self, chain: Offsets, asked: Experiment) -> Walked:
        if asked.changes:
            raise InputError("a simulated core's walks only load")
        if not self._cached:
            raise InputError("cpu.caches=false: the core has no caches to walk")
        warm = np.tile(chain, max(_WARM, -(-_WARM_LOADS // len(chain))))
        rounds = -(-_TIMED // len(chain))
        timed = np.tile(chain, rounds) if rounds > 1 else chain[:_MOST]
        steps = np.concatenate([warm, timed]).astype(np.uint64)
        done = self._core.sequence(
            self._settings[asked.pages],
            steps=(steps | np.uint64(_CACHED_LOAD << OPERAND_BITS)).astype("<u8").tobytes(),
            outstanding=1,
            agent="core",
            seed=1,
            untimed=len(warm),
        )
        return Walked(done["elapsed_ps"] / 1000 / len(timed), len(timed))
