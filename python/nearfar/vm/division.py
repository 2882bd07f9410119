"""How one near memory is divided among machines: by what each would gain from more of it.

A machine that brings in r pages a second with n pages near is taken to bring in r * k / n fewer
with k more, as if its misses were inversely proportional to its near memory. That is an assumption:
where a machine's curve has steps, it is wrong until the machine is on the other side of the step,
and its rate then says so. A machine's *gain* is r / n times its weight. Memory goes from the least
gain to the greatest.

Nothing here looks at a machine or changes one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from nearfar.tier.control import PAGE

PERIOD_S = 0.25  # between two divisions
# Of what a machine has above its minimum, at most, in a period: 68 % in a second.
_GIVEN = 0.25
# Nor more than this, so that what is given is soon with another machine, and the next look is soon:
# a machine gives 0.5 to 0.8 GiB a second where far memory is memory (docs/virtual-machines.md).
_MOST_GIVEN = 256 << 20
# Gains are estimates: only where one is more than twice another is memory moved, and the less the
# nearer they are to that.
_CLEARLY_MORE = 2.0


@dataclass(frozen=True)
class Part:
    """A machine's part: its near memory and the bounds of it, in bytes, its weight, and the pages
    that it brings in a second."""

    near: int
    least: int
    most: int
    weight: float = 1.0
    rate: float = 0.0

    @property
    def gain(self) -> float:
        """What a byte more would save, in pages a second."""
        return self.weight * self.rate / max(self.near, PAGE)


def fitted(pool: int, parts: Mapping[str, Part]) -> dict[str, int]:
    """What each machine has when all of `pool` is given away and no more: too much is taken from
    each by what it has above its minimum; what is left is given by weight."""
    near = {name: max(part.least, min(part.near, part.most)) for name, part in parts.items()}
    excess = sum(near.values()) - pool
    if excess > 0:
        spare = {name: near[name] - part.least for name, part in parts.items()}
        taken = min(1.0, excess / max(1, sum(spare.values())))
        return {name: _whole(near[name] - spare[name] * taken, parts[name]) for name in parts}
    left = -excess
    open_ = [name for name, part in parts.items() if near[name] < part.most]
    while open_ and left >= PAGE:
        weights = sum(parts[name].weight for name in open_)
        before = left
        for name in open_:
            share = _whole(near[name] + before * parts[name].weight / weights, parts[name])
            left -= share - near[name]
            near[name] = share
        if left == before:
            break
        open_ = [name for name in open_ if near[name] < parts[name].most]
    return near


def moved(parts: Mapping[str, Part]) -> dict[str, int]:
    """What each machine has after a period in which memory moves to the greatest gains."""
    near = {name: part.near for name, part in parts.items()}
    by_gain = sorted(parts, key=lambda name: (parts[name].gain, name))
    for giver in by_gain:
        part = parts[giver]
        spare = min(_GIVEN * max(0, part.near - part.least), _MOST_GIVEN)
        for taker in reversed(by_gain):
            other = parts[taker]
            lead = 1 - _CLEARLY_MORE * part.gain / other.gain if other.gain else 0.0
            if lead <= 0:
                break
            wanted = min(spare * lead, max(0, other.most - near[taker]))
            given = int(wanted) // PAGE * PAGE
            near[giver] -= given
            near[taker] += given
            spare -= given
    return near


def _whole(size: float, part: Part) -> int:
    """So much in whole pages, within bounds."""
    return max(part.least, min(part.most, int(size) // PAGE * PAGE))
