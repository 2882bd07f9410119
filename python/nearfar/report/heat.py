"""Which of a program's addresses are hot: an area a row, reads above and writes below."""

from __future__ import annotations

import math
from collections.abc import Sequence

from nearfar.report import svg
from nearfar.report.frame import Target
from nearfar.report.picture import Picture, frame
from nearfar.results.machine import Area, Memory
from nearfar.results.wording import size

_WIDTH, _LEFT, _RIGHT, _TOP = 1120, 250, 20, 12
_ROW, _STRIP = 44, 14
_CELLS = 64
_MOST = 16  # rows
_READS, _WRITES = 0, 1  # colours
_KINDS = {
    "memory": "anonymous memory",
    "heap": "heap",
    "stack": "stack",
    "file": "program and files",
    "persistent": "persistent memory",
}


def heat_map(memory: Memory) -> Picture | None:
    """None when memory was asked for nothing."""
    if not memory.areas:
        return None
    hottest = sorted(memory.areas, key=lambda area: -_lines(area))[:_MOST]
    areas = sorted(hottest, key=lambda area: area.address)
    most = max(max(*area.reads, *area.writes) for area in areas)
    content: list[str] = []
    targets: list[Target] = []
    for at, area in enumerate(areas):
        content.append(_row(area, _TOP + _ROW * at, most, targets))
    height = _TOP + _ROW * len(areas)
    note = (
        "Lines of 64 B that memory was asked for, by address: the darker, the more, from 1 to "
        f"{most:,}, logarithmic."
    )
    left_out = len(memory.areas) - len(areas)
    return Picture(
        title="Hot pages",
        svg=frame("".join(content), _WIDTH, height, f"Accesses of {len(areas)} areas by address"),
        targets=targets,
        note=note + (f" {left_out} cooler areas are not shown." if left_out else ""),
        legend=[(_READS, "lines read"), (_WRITES, "lines written")],
        head=("address", "of", "tier", "size", "lines read", "lines written"),
        rows=[
            (
                hex(page.address),
                page.kind,
                page.tier,
                size(page.bytes),
                f"{page.reads:,}",
                f"{page.writes:,}",
            )
            for page in memory.pages[:100]
        ],
        wide=True,
    )


def _lines(area: Area) -> int:
    return sum(area.reads) + sum(area.writes)


def _row(area: Area, top: float, most: int, targets: list[Target]) -> str:
    bytes_ = sum(area.near_bytes) + sum(area.far_bytes)
    near = sum(area.near_bytes)
    where = f", {100 * near / bytes_:.0f} % near" if near else ""
    drawn = [
        svg.text(
            f"{_KINDS.get(area.kind, area.kind)}, {size(bytes_)}",
            0,
            top + _STRIP,
            class_="row-name",
        ),
        svg.text(f"{area.address:#x}{where}", 0, top + 2 * _STRIP, class_="small"),
    ]
    width = (_WIDTH - _LEFT - _RIGHT) / _CELLS
    cells = len(area.reads)
    for strip, (values, colour) in enumerate(((area.reads, _READS), (area.writes, _WRITES))):
        y = top + 2 + strip * (_STRIP + 1)
        drawn.append(
            svg.element("rect", x=_LEFT, y=y, width=width * cells, height=_STRIP, class_="cold")
        )
        drawn += [
            _cell(_LEFT + width * i, y, width, value / most, value, colour)
            for i, value in enumerate(values)
            if value
        ]
    middle = top + 2 + _STRIP
    for i in range(cells):
        if area.reads[i] or area.writes[i]:
            targets.append(_target(area, i, round(_LEFT + width * (i + 0.5), 1), middle))
    return "".join(drawn)


def _cell(x: float, y: float, width: float, share: float, value: int, colour: int) -> str:
    """Opacity is logarithmic, from a visible minimum up."""
    most = value / share
    strength = 0.15 + 0.85 * (math.log(value) / math.log(most) if most > 1 else 1.0)
    return svg.element(
        "rect",
        x=x,
        y=y,
        width=width - 0.5,
        height=_STRIP,
        class_=f"fill s{colour}",
        opacity=f"{strength:.2f}",
    )


def _target(area: Area, cell: int, x: float, y: float) -> Target:
    address = area.address + cell * area.cell_bytes
    tiers: Sequence[tuple[str, int]] = (
        ("near", area.near_bytes[cell]),
        ("far", area.far_bytes[cell]),
    )
    rows = [
        ("lines read", f"{area.reads[cell]:,}"),
        ("lines written", f"{area.writes[cell]:,}"),
        *((f"in {tier} memory", size(bytes_)) for tier, bytes_ in tiers if bytes_),
    ]
    colour = _READS if area.reads[cell] >= area.writes[cell] else _WRITES
    return (x, y, y, colour, f"{size(area.cell_bytes)} from {address:#x}", rows)
