"""Working with models: validation against hardware, and traces."""

from nearfar.simulate.replay import replay
from nearfar.simulate.validate import ValidationInterrupted, validate

__all__ = ["ValidationInterrupted", "replay", "validate"]
