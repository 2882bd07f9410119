"""What probers need of a device: play a list of single accesses and say when each was done."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from nearfar.inference.orders import Spread, Steps
from nearfar.measuring.core import load_core
from nearfar.measuring.target import capacity
from nearfar.model import Model

OPERAND_BITS = 56

Times = NDArray[np.float64]


class Device(Protocol):
    """Memory that starts afresh at every call, cold in every buffer."""

    @property
    def memory_bytes(self) -> int: ...

    def play(self, steps: Steps, spread: Spread, seed: int) -> Times:
        """How long each step took in ns, one access after the other."""
        ...


class _Sequencer(Protocol):
    def sequence(
        self, settings: str, *, steps: bytes, outstanding: int, agent: str, seed: int
    ) -> Mapping[str, Any]: ...


class ModelDevice:
    """A simulated machine, asked at its memory controller, without a core in between."""

    def __init__(self, model: Model) -> None:
        self._settings = model.export()
        self._capacity = capacity(model)
        self._core = cast(_Sequencer, load_core())

    @property
    def memory_bytes(self) -> int:
        return self._capacity

    def play(self, steps: Steps, spread: Spread, seed: int) -> Times:
        addressed = steps.operation <= 1
        operand = np.where(addressed, spread.address(steps.operand), steps.operand)
        words = operand | steps.operation.astype(np.uint64) << np.uint64(OPERAND_BITS)
        done = self._core.sequence(
            self._settings,
            steps=words.astype("<u8").tobytes(),
            outstanding=1,
            agent="none",
            seed=seed,
        )
        issued = np.frombuffer(done["issued_ps"], dtype="<u8")
        finished = np.frombuffer(done["done_ps"], dtype="<u8")
        took: Times = (finished - issued) / 1000
        return took
