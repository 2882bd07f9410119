"""Sets and ways, from walks that keep one address bit constant.

A bit inside an entry, held, leaves half of each entry untouched; a bit that chooses the set,
held, leaves half of the sets unused. Either way the buffer holds half as many of the bytes
that the walk touches, and its edge moves to half the region. A bit above both leaves the edge
where it was. So the lowest bit that moves nothing tells how far apart two addresses of the
same set are: a way is that large, and the buffer has as many ways as ways fit into it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from nearfar.inference.curves.edges import Rise

_HALVED = 0.75  # an edge below this share of the free walk's has moved


@dataclass(frozen=True)
class Way:
    """Bytes of one way; `exact` where the walk held a bit just below that still moved the edge."""

    span: int
    exact: bool
    bits: tuple[int, ...]  # the held bits that it rests on


def way_span(free: Rise, held: Mapping[int, Rise | None]) -> Way | None:
    """The way's size from the edge of the free walk and of each walk with one bit `held`.

    None where the bits do not split into lower ones that halve the edge and higher ones that
    do not: then the sets are chosen by more than a field of address bits.
    """
    moved = [bit for bit, rise in held.items() if rise is not None and _halved(rise, free)]
    stayed = [bit for bit, rise in held.items() if rise is not None and not _halved(rise, free)]
    if not stayed or (moved and max(moved) > min(stayed)):
        return None
    lowest = min(stayed)
    exact = bool(moved) and max(moved) == lowest - 1
    return Way(1 << lowest, exact, tuple(sorted({lowest, *moved[-1:]})))


def _halved(rise: Rise, free: Rise) -> bool:
    return rise.last < _HALVED * free.last
