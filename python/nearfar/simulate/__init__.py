"""Working with models: validation against hardware, traces, and crashes."""

from nearfar.simulate.crash import crash
from nearfar.simulate.crash_program import CrashProgram
from nearfar.simulate.invariant import CrashImage
from nearfar.simulate.replay import replay
from nearfar.simulate.validate import ValidationInterrupted, validate

__all__ = ["CrashImage", "CrashProgram", "ValidationInterrupted", "crash", "replay", "validate"]
