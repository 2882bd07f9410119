"""The ICT micro-benchmarks: sequential, random and dependent; read, written, persisted.

Liu and Chen, "Initial Experience with 3D XPoint Main Memory" (2019): blocks of a few sizes over
footprints up to far beyond the caches, by independent accesses or along a linked list; writes
are left to the caches, or written back line by line with a fence after each block.
"""

from __future__ import annotations

from nearfar.infer.ict import PROBER
from nearfar.measure import Chase, Pattern, Stream
from nearfar.probe.points import Bounds

__all__ = ["PROBER", "plan"]

_BLOCKS = ("64B", "256B", "4KiB")
_FOOTPRINTS = (16 << 20, 128 << 20)
_HOST_FOOTPRINTS = (8 << 20, 32 << 20)  # a walk through them and flushing them take a while
_LINES = 16384


def plan(bounds: Bounds) -> list[Pattern]:
    """Every access, operation and block size, by one thread."""
    blocks = _BLOCKS[: 2 if bounds.quick else 3]
    area = bounds.area(_HOST_FOOTPRINTS[-1] if bounds.host else _FOOTPRINTS[-1])
    lines = _LINES if bounds.quick or bounds.host else 4 * _LINES
    made: list[Pattern] = []
    for block in blocks:
        for stride in (block, "random"):
            made.append(
                Stream(op="load,store", access=block, stride=stride, area=area, lines=lines)
            )
            made.append(
                Stream(
                    op="store+clwb", access=block, stride=stride, area=area, lines=lines,
                    fence_every=block,
                )
            )  # fmt: skip
        made += _dependent(bounds, block, lines)
    return made


def _dependent(bounds: Bounds, block: str, lines: int) -> list[Pattern]:
    """The same permutation as a list: a block's address is known when the last one is read."""
    sizes = _HOST_FOOTPRINTS if bounds.host else _FOOTPRINTS
    footprints = tuple(bounds.area(size) for size in sizes)
    if bounds.host:
        return [
            Chase(op="load", region=footprints, block=block, regions="repeat"),
            Chase(op="store", region=footprints[-1], block=block, regions="repeat"),
            Chase(
                op="store+clwb", region=footprints[-1], block=block, regions="repeat",
                fence="block", fence_kind="sfence",
            ),
        ]  # fmt: skip
    return [
        Chase(op="load,store", region=footprints, block=block, lines=lines, whole=False),
        Chase(
            op="store+clwb", region=footprints, block=block, lines=lines, whole=False,
            fence="block", fence_kind="sfence",
        ),
    ]  # fmt: skip
