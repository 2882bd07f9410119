"""How much near memory a machine is to have: a size, or a share of its guest's memory."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from nearfar.errors import InputError
from nearfar.tier.control import PAGE
from nearfar.tier.outcome import mib
from nearfar.tier.tree import LEAST_NEAR, expected_near

ALL = Fraction(1)


@dataclass(frozen=True)
class Near:
    """`size_bytes`, or if that is 0, `share` of the guest's memory."""

    text: str
    size_bytes: int = 0
    share: Fraction = ALL

    def of(self, guest_bytes: int) -> int:
        """In bytes, of a guest with so much memory. Raises InputError if it is too little."""
        found = self.size_bytes or int(guest_bytes * self.share) // PAGE * PAGE
        expected = expected_near(found)
        if expected and not self.size_bytes:
            least = Fraction(LEAST_NEAR, guest_bytes) * 100
            expected = f"{expected}, which is {float(least):.3g}% of this guest's memory"
        if expected:
            raise InputError(f"--near: found {self.text}, {mib(found)}, expected {expected}")
        return found
