"""Patterns, the targets they run on, and running them."""

from nearfar.measuring.conditions import preconditions
from nearfar.measuring.effort import Effort
from nearfar.measuring.host.target import Host
from nearfar.measuring.loaded import Loaded
from nearfar.measuring.patterns import Chase, Contention, Overwrite, Pattern, Stream
from nearfar.measuring.run import measure
from nearfar.measuring.walk import Walk, WalkMemory

__all__ = [
    "Chase",
    "Contention",
    "Effort",
    "Host",
    "Loaded",
    "Overwrite",
    "Pattern",
    "Stream",
    "Walk",
    "WalkMemory",
    "measure",
    "preconditions",
]
