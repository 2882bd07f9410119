"""Working with models: validation against hardware, traces, and crashes."""

from nearfar.simulate.crashes.explore import crash
from nearfar.simulate.crashes.invariant import CrashImage
from nearfar.simulate.crashes.program import CrashProgram
from nearfar.simulate.replay import replay
from nearfar.simulate.validation.validate import validate

__all__ = ["CrashImage", "CrashProgram", "crash", "replay", "validate"]
