"""Working with models: validation against hardware, and traces."""

from nearfar.simulate.replay import Replayed, replay
from nearfar.simulate.validate import Validation, ValidationInterrupted, validate

__all__ = ["Replayed", "Validation", "ValidationInterrupted", "replay", "validate"]
