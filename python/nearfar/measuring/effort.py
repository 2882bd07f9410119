"""How long to go on measuring on a real machine."""

from __future__ import annotations

from dataclasses import dataclass

from nearfar.errors import InputError


@dataclass(frozen=True)
class Effort:
    """Repetitions of each point: at least `least`, then until the interval is narrow.

    Narrow is an interval of at most `width` of the median. No point is repeated more than `most`
    times, and after `seconds` no repetition begins except each point's first. A model
    gives the same answer every time, so for it none of this matters.
    """

    least: int = 5
    most: int = 25
    width: float = 0.05
    seconds: float = 20.0

    def __post_init__(self) -> None:
        if not 1 <= self.least <= self.most:
            raise InputError(
                f"repetitions: found {self.least} to {self.most}, expected 1 or more, and no "
                "fewer at most than at least"
            )
        if self.width <= 0 or self.seconds < 0:
            raise InputError("repetitions: the width and the seconds are not above zero")


DEFAULT_EFFORT = Effort()
