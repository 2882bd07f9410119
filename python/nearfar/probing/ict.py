"""The ICT micro-benchmarks: sequential, random and dependent; read, written, persisted.

Liu and Chen, "Initial Experience with 3D XPoint Main Memory" (2019): blocks of a few sizes over
footprints up to far beyond the caches, by independent accesses or along a linked list; writes
are left to the caches, or written back line by line with a fence after each block. On a real
machine also with values that share many or few bits with what they replace, and on another
NUMA node.
"""

from __future__ import annotations

from dataclasses import replace

from nearfar.inference.ict import PROBER, findings
from nearfar.measuring import Chase, Pattern, Stream, machine
from nearfar.measuring.host.target import Host
from nearfar.probing import points
from nearfar.probing.points import Bounds, playing
from nearfar.probing.probers import Asked
from nearfar.results import Observation

__all__ = ["PROBER", "across_nodes", "findings", "plan", "play"]

_BLOCKS = ("64B", "256B", "4KiB")
_FOOTPRINTS = (16 << 20, 128 << 20)
_HOST_FOOTPRINTS = (8 << 20, 32 << 20)  # a walk through them and flushing them take a while
_LINES = 16384
_VALUE_AREA = 64 << 20  # more than the caches take in and never write back
# The paper's values: one word, so many of its bytes inverted, and two others.
_HELD = 0x1234567812345678
_INVERTED, _FEW_INVERTED = range(9), (0, 1, 2, 4, 8)
_OTHERS = ("0xf0", "0xaa")


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
    return [*made, *([_values(bounds)] if bounds.host else [])]


def play(asked: Asked) -> tuple[list[Observation], bool]:
    """The plan, and on a host a dependent read on another node."""
    made, interrupted = playing(PROBER, plan)(asked)
    if interrupted or not isinstance(asked.target, Host):
        return made, interrupted
    remote, interrupted = across_nodes(asked.target, quick=asked.quick)
    return made + remote, interrupted


def _values(bounds: Bounds) -> Pattern:
    """The same writes with values that change none to all of the bits that were there."""
    inverted = _FEW_INVERTED if bounds.quick else _INVERTED
    words = [f"0x{_HELD ^ ((1 << 8 * count) - 1):016x}" for count in inverted]
    area = bounds.area(_VALUE_AREA)
    return Stream(
        op="store,ntstore",
        access="64B",
        area=area,
        lines=area // 64,
        value=(*words, *_OTHERS),
        held=f"0x{_HELD:016x}",
    )


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


def across_nodes(host: Host, *, quick: bool) -> tuple[list[Observation], bool]:
    """Which nodes have memory, and a dependent read on the processor's own and on another one;
    and whether Ctrl-C ended it early."""
    own = machine.node_of(machine.processors()[0])
    nodes = machine.memory_nodes()
    pattern = {"kind": "nodes", "memory": nodes, "own": own, "file": host.is_fixed()}
    made = [Observation(id=f"{PROBER}.nodes", prober=PROBER, pattern=pattern, accesses=0)]
    others = [node for node in nodes if node != own]
    asked = host.node if host.node in others else next(iter(others), None)
    if own not in nodes or asked is None or host.is_fixed():
        return made, False
    for node in (own, asked):
        place = replace(host, node=node)
        seen, interrupted = points.observe(place, PROBER, _far, quick=quick, about={"node": node})
        made += seen
        if interrupted:
            return made, True
    return made, False


def _far(bounds: Bounds) -> list[Pattern]:
    region = bounds.area(_HOST_FOOTPRINTS[-1])
    return [Chase(op="load", region=region, regions="repeat")]
