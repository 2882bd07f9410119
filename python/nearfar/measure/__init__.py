"""Patterns, the targets they run on, and running them.

The package is also the function: `nearfar.measure(target, pattern)` is the first thing one
types, and importing anything from this package puts the package under that very name.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from nearfar.measure.conditions import preconditions
from nearfar.measure.effort import Effort
from nearfar.measure.host import Host
from nearfar.measure.patterns import Chase, Contention, Overwrite, Pattern, Stream
from nearfar.measure.run import MeasurementInterrupted, measure
from nearfar.measure.walk import Walk, WalkMemory
from nearfar.results import Result

__all__ = [
    "Chase",
    "Contention",
    "Effort",
    "Host",
    "MeasurementInterrupted",
    "Overwrite",
    "Pattern",
    "Stream",
    "Walk",
    "WalkMemory",
    "measure",
    "preconditions",
]


class _CallableModule(ModuleType):
    def __call__(self, *args: Any, **keywords: Any) -> Result:
        return measure(*args, **keywords)


sys.modules[__name__].__class__ = _CallableModule
