"""The inferred structure as a block diagram: what a store and a load pass on their way.

A part that nothing is known about is not drawn; what is not known about a part that is
drawn is a question mark. Every value leads to the line of the table that says what it rests on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise

from nearfar.report import svg
from nearfar.results import Finding
from nearfar.results.findings import IDENTIFIED
from nearfar.results.wording import number, size

_LEAST = 132  # width of a part
_GAP, _FIRST_GAP = 38, 58  # between two, and where the arrows have names
# About what a letter takes: a name, a word, a value.
_NAME_LETTER, _WORD_LETTER, _VALUE_LETTER = 8.6, 7.0, 8.0
_ROW = 21  # height of a line of values
_HEAD = 34
_TOP = 54
_LANE = 30  # from the loads' arrow to the queues above it
_STACK = 7  # by how much each further module peeks out
_CORE = 84
_PENDING = "Write pending queue"


@dataclass
class _Part:
    """A box: its name, and lines of a word, a value and the finding behind it."""

    name: str
    lines: list[tuple[str, str, str]] = field(default_factory=list)

    @property
    def height(self) -> float:
        return _HEAD + _ROW * max(1, len(self.lines)) + 12

    @property
    def width(self) -> float:
        rows = [
            _WORD_LETTER * len(word) + _VALUE_LETTER * len(value) + 16
            for word, value, _ in self.lines
        ]
        return max(_LEAST, _NAME_LETTER * len(self.name) + 24, *(row + 24 for row in rows), 0)


class _Known:
    """Findings by name, as words."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        self._by_name: Mapping[str, Finding] = {one.name: one for one in findings}

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def has(self, name: str) -> bool:
        """Whether it was found, and not just looked for."""
        found = self._by_name.get(name)
        return found is not None and found.status == IDENTIFIED

    def number(self, name: str) -> float | None:
        value = self._by_name[name].value if self.has(name) else None
        return float(value) if isinstance(value, (int, float)) else None

    def text(self, name: str, show: str = "") -> str:
        """The value in its unit; a question mark where it is not known."""
        found = self._by_name.get(name)
        if found is None or found.status != IDENTIFIED or found.value is None:
            return "?"
        if isinstance(found.value, str):
            return found.value
        if found.unit == "B":
            return size(round(found.value))
        return f"{number(found.value)} {show or found.unit}".rstrip()

    def line(self, word: str, name: str, show: str = "") -> list[tuple[str, str, str]]:
        """A line of a part, if the name was looked for at all."""
        return [(word, self.text(name, show), name)] if name in self else []


def diagram(findings: Sequence[Finding], prefix: str = "") -> str:
    """The SVG; empty where there is no structure to show."""
    known = _Known(findings)
    queues, levels = _queues(known), _levels(known, "buffer", "Buffer ")
    translation = _translation(known)
    front = [*([translation] if translation is not None else []), *_caches(known)]
    if not levels and not queues and not front:
        return ""
    layout = _Layout(
        front=front,
        waiting=[part for part in queues if part.name == _PENDING],
        combining=[part for part in queues if part.name != _PENDING],
        levels=levels,
        memory=_media(known),
    )
    return _draw(known, layout, prefix)


def _translation(known: _Known) -> _Part | None:
    """The translation look-aside buffers, which every access of a core passes first."""
    lines = [
        *known.line("first level", "tlb.1.entries"),
        *known.line("a miss", "tlb.1.miss"),
        *known.line("second level", "tlb.2.entries"),
        *known.line("page", "tlb.page"),
    ]
    return _Part("TLB", lines) if lines else None


def _caches(known: _Known) -> list[_Part]:
    """The processor's, which every access passes next."""
    return _levels(known, "cache", "L")


def _queues(known: _Known) -> list[_Part]:
    parts = []
    for name, title in (("wpq", _PENDING), ("lsq", "Load-store queue")):
        lines = known.number(f"{name}.lines")
        if f"{name}.lines" not in known:
            continue
        part = _Part(title, known.line("lines", f"{name}.lines"))
        if lines:
            part.lines.append(("bytes", size(round(64 * lines)), f"{name}.lines"))
        if name == "lsq":
            part.lines += known.line("mfence drains", "fence.drains_lsq")
        parts.append(part)
    return parts


def _levels(known: _Known, names: str, title: str) -> list[_Part]:
    """The parts that findings of these names describe, from the host on."""
    parts: list[_Part] = []
    while any(f"{names}.{len(parts) + 1}.{what}" in known for what in ("capacity", "ways")):
        prefix = f"{names}.{len(parts) + 1}"
        part = _Part(f"{title}{len(parts) + 1}")
        part.lines += known.line("capacity", f"{prefix}.capacity")
        part.lines += known.line("entry", f"{prefix}.entry")
        part.lines += known.line("ways", f"{prefix}.ways")
        part.lines += known.line("sets", f"{prefix}.sets")
        part.lines += known.line("policy", f"{prefix}.policy")
        part.lines += known.line("latency", f"{prefix}.latency")
        parts.append(part)
    return parts


def _media(known: _Known) -> _Part:
    part = _Part("Memory")
    part.lines += known.line("latency", "memory.latency")
    if known.has("migration.period") or known.has("migration.stall"):
        part.lines += known.line("moves every", "migration.period")
        part.lines += known.line("stall", "migration.stall")
        part.lines += known.line("block", "migration.block")
    elif "migration" in known:
        part.lines += known.line("blocks move", "migration")
    part.lines += known.line("reads up to", "bandwidth.read.peak")
    part.lines += known.line("writes up to", "bandwidth.write.peak")
    return part


@dataclass
class _Layout:
    """Where everything stands: translation, the controller's queue, then the device's parts."""

    front: list[_Part]  # what every access passes, as high as the picture
    waiting: list[_Part]  # queues in the controller, on the stores' way
    combining: list[_Part]  # queues on the device
    levels: list[_Part]
    memory: _Part

    def __post_init__(self) -> None:
        tall = max(part.height for part in (*self.front, *self.levels, self.memory))
        queues = [*self.waiting, *self.combining]
        upper = max((part.height for part in queues), default=0.0)
        self.store_at = _TOP + 24.0
        self.load_at = _TOP + max(tall - 40, upper + _LANE) + 6
        self.bottom = max(self.load_at + 34, _TOP + tall)
        self.places: list[tuple[float, _Part]] = []
        x = 8.0 + _CORE + _FIRST_GAP
        for parts in (self.front, self.waiting):
            x = self._place(parts, x)
        # The frame of the device stands in the gap before its first part.
        self.frame = x + (_GAP / 2 if queues else 0) - 22
        x = self._place([*self.combining, *self.levels, self.memory], self.frame + 22)
        self.right = x - _GAP + 22

    def _place(self, parts: Sequence[_Part], x: float) -> float:
        for part in parts:
            self.places.append((x, part))
            x += part.width + _GAP
        return x

    def at(self, part: _Part) -> float:
        """The left edge of a part."""
        return next(x for x, placed in self.places if placed is part)

    def end(self, part: _Part) -> float:
        """Its right edge."""
        return self.at(part) + part.width

    def arrows(self) -> str:
        """Stores through the queues, loads straight to the first level, misses onwards."""
        queues = [*self.waiting, *self.combining]
        inner = self.levels[0] if self.levels else self.memory
        middle = (self.store_at + self.load_at) / 2
        start = 8.0 + _CORE
        parts = []
        for part in self.front:
            parts.append(_arrow(start, self.at(part), middle, "loads"))
            start = self.end(part)
        if queues:
            left, word = start, "" if self.front else "stores"
            for part in queues:
                parts.append(_arrow(left, self.at(part), self.store_at, word))
                left, word = self.end(part), ""
            parts.append(_arrow(left, self.at(inner), self.store_at, ""))
        load_at = self.load_at if queues else middle
        parts.append(_arrow(start, self.at(inner), load_at, "" if self.front else "loads"))
        onwards = [*self.levels, self.memory]
        for part, following in pairwise(onwards):
            parts.append(_arrow(self.end(part), self.at(following), middle, ""))
        return "".join(parts)


def _draw(known: _Known, layout: _Layout, prefix: str) -> str:
    queues = [*layout.waiting, *layout.combining]
    modules = known.number("modules")
    behind = min(int(modules) - 1, 5) if modules else 0
    framed = bool(queues) or "modules" in known
    shown = [_module(known, layout, behind)] if framed else []
    shown += [_core(layout), layout.arrows()]
    for at, part in layout.places:
        waits = any(part is one for one in queues)
        shown.append(_box(part, at, part.height if waits else layout.bottom - _TOP, prefix))
    words = "; ".join(f"{part.name}: {_spoken(part)}" for _, part in layout.places)
    width = layout.right + behind * _STACK + 6
    height = layout.bottom + 20 + behind * _STACK
    return svg.element(
        "svg",
        "".join(shown),
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        role="img",
        class_="diagram",
        style=f"min-width:{min(width, 1000):.0f}px;max-width:{width:.0f}px",
        aria_label=f"Inferred structure. {words}.",
    )


def _spoken(part: _Part) -> str:
    return ", ".join(f"{word} {value}" for word, value, _ in part.lines)


def _core(layout: _Layout) -> str:
    high = layout.bottom - _TOP
    shape = svg.element("rect", x=8, y=_TOP, width=_CORE, height=high, rx=10, class_="part core")
    return shape + svg.text("Core", 8 + _CORE / 2, _TOP + high / 2 + 5, class_="part-name middle")


def _module(known: _Known, layout: _Layout, behind: int) -> str:
    """The frame around one module, the others behind it, and what is known of them."""
    left, right, bottom = layout.frame, layout.right, layout.bottom
    frames = [
        svg.element(
            "rect",
            x=left + step * _STACK,
            y=24 + step * _STACK,
            width=right - left,
            height=bottom - 24 + 14,
            rx=14,
            class_="module behind" if step else "module",
        )
        for step in range(behind, -1, -1)
    ]
    count = known.number("modules")
    label = "Device" if count is None else f"{int(count)} module{'s' if count > 1 else ''}"
    if known.has("interleave"):
        label += f", by turns every {known.text('interleave')}"
    if known.has("hierarchy"):
        label += f"; buffers {known.text('hierarchy')}"
    return "".join(frames) + svg.text(label, left + 16, 43, class_="module-name")


def _box(part: _Part, x: float, height: float, prefix: str) -> str:
    shape = svg.element("rect", x=x, y=_TOP, width=part.width, height=height, rx=10, class_="part")
    rows = [shape, svg.text(part.name, x + 12, _TOP + 23, class_="part-name")]
    for row, (word, value, name) in enumerate(part.lines):
        y = _TOP + _HEAD + _ROW * row + 15
        unknown = " unknown" if value == "?" else ""
        figure = svg.text(value, x + part.width - 12, y, class_=f"part-value{unknown}")
        rows.append(svg.text(word, x + 12, y, class_="part-word"))
        rows.append(f'<a href="#{escape(prefix + name)}">{figure}</a>')
    return "".join(rows)


def _arrow(start: float, end: float, y: float, label: str) -> str:
    """A line with a head, and a word at its beginning."""
    tip = svg.curve([(end - 8, y - 4.5), (end - 1, y), (end - 8, y + 4.5)])
    shaft = svg.curve([(start, y), (end - 1, y)])
    word = svg.text(label, start + 4, y - 7, class_="arrow-name") if label else ""
    return svg.element("path", d=shaft + tip, class_="arrow") + word
