"""A part of a program's memory, such as 25%."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction

from nearfar._lists import FLAT_WHOLE_SHARE

_WRITTEN = re.compile(r"\s*\+?(\d*\.?\d+)\s*%\s*")


@dataclass(frozen=True)
class Share:
    """So many millionths."""

    millionths: int

    def of(self, pages: int) -> int:
        """That part of so many pages, rounded down as the core does."""
        return pages * self.millionths // FLAT_WHOLE_SHARE

    def __float__(self) -> float:
        return self.millionths / FLAT_WHOLE_SHARE

    def __str__(self) -> str:
        return f"{self.millionths * 100 / FLAT_WHOLE_SHARE:g}%"


def parse_share(text: str) -> Share:
    """The share that a text such as 12.5% says. Raises ValueError for what is none, 0 or more than
    all."""
    found = _WRITTEN.fullmatch(text)
    share = Fraction(found[1]) * FLAT_WHOLE_SHARE / 100 if found else Fraction(0)
    if not 1 <= share <= FLAT_WHOLE_SHARE:
        raise ValueError(f"found '{text}', expected more than 0% and at most 100%, such as 25%")
    return Share(math.floor(share))
