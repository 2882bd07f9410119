"""How much near memory a machine is to have: a size, or a share of its guest's memory."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from nearfar.errors import InputError
from nearfar.tier.control import PAGE
from nearfar.tier.outcome import mib
from nearfar.tier.share import Share
from nearfar.tier.tree import LEAST_NEAR, expected_near


@dataclass(frozen=True)
class Near:
    """A size in bytes, or a share of the guest's memory, and how that was written."""

    text: str
    amount: int | Share

    def of(self, guest_bytes: int) -> int:
        """In bytes, of a guest with so much memory. Raises InputError if it is too little."""
        if isinstance(self.amount, int):
            found = self.amount
        else:
            found = self.amount.of(guest_bytes // PAGE) * PAGE
        expected = expected_near(found)
        if expected and isinstance(self.amount, Share):
            least = Fraction(LEAST_NEAR, guest_bytes) * 100
            expected = f"{expected}, which is {float(least):.3g}% of this guest's memory"
        if expected:
            raise InputError(f"--near: found {self.text}, {mib(found)}, expected {expected}")
        return found
