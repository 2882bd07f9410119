"""The inferred structure as a block diagram: what a store and a load pass on their way.

A part that nothing is known about is not drawn; what is not known about a part that is
drawn is a question mark. Every value leads to the line of the table that says what it rests on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

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
    queues, buffers, media = _queues(known), _buffers(known), _media(known)
    if not buffers and not queues:
        return ""
    return _draw(known, queues, buffers, media, prefix)


def _queues(known: _Known) -> list[_Part]:
    parts = []
    for name, title in (("wpq", "Write pending queue"), ("lsq", "Load-store queue")):
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


def _buffers(known: _Known) -> list[_Part]:
    parts: list[_Part] = []
    while f"buffer.{len(parts) + 1}.capacity" in known or f"buffer.{len(parts) + 1}.ways" in known:
        prefix = f"buffer.{len(parts) + 1}"
        part = _Part(f"Buffer {len(parts) + 1}")
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
    return part


def _draw(
    known: _Known, queues: Sequence[_Part], buffers: Sequence[_Part], media: _Part, prefix: str
) -> str:
    on_module = queues[1:]
    tall = max(part.height for part in (*buffers, media))
    upper = max((part.height for part in queues), default=0.0)
    load_at = _TOP + max(tall - 40, upper + _LANE) + 6
    bottom = max(load_at + 34, _TOP + tall)
    shown: list[str] = []
    x = 8.0 + _CORE + _FIRST_GAP
    places: list[tuple[float, _Part]] = []
    module_from = None
    for part in queues:
        if part in on_module and module_from is None:
            x += _GAP / 2
            module_from = x - 22
        places.append((x, part))
        x += part.width + _GAP
    if module_from is None:
        module_from = x - 22
    buffer_from = x
    for part in (*buffers, media):
        places.append((x, part))
        x += part.width + _GAP
    modules = known.number("modules")
    behind = min(int(modules) - 1, 5) if modules else 0
    right = x - _GAP + 22
    width, height = right + behind * _STACK + 6, bottom + 40 + behind * _STACK
    shown.append(_module(known, module_from, right, bottom, behind))
    shown.append(_core(load_at))
    store_at = _TOP + 24.0
    if queues:
        left = 8.0 + _CORE
        for at, part in places[: len(queues)]:
            shown.append(_arrow(left, at, store_at, "stores" if part is queues[0] else ""))
            left = at + part.width
        shown.append(_arrow(left, buffer_from, store_at, ""))
    shown.append(_arrow(8.0 + _CORE, buffer_from, load_at, "loads"))
    for at, part in places[len(queues) : -1]:
        end = at + part.width
        shown.append(_arrow(end, end + _GAP, (store_at + load_at) / 2, ""))
    for index, (at, part) in enumerate(places):
        high = part.height if index < len(queues) else bottom - _TOP
        shown.append(_box(part, at, high, prefix))
    words = "; ".join(f"{part.name}: {_spoken(part)}" for _, part in places)
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


def _core(load_at: float) -> str:
    return svg.element(
        "rect", x=8, y=_TOP, width=_CORE, height=load_at - _TOP + 34, rx=10, class_="part core"
    ) + svg.text("Core", 8 + _CORE / 2, (_TOP + load_at + 34) / 2 + 5, class_="part-name middle")


def _module(known: _Known, left: float, right: float, bottom: float, behind: int) -> str:
    """The frame around one module, the others behind it, and what is known of them."""
    frames = []
    for step in range(behind, -1, -1):
        frames.append(
            svg.element(
                "rect",
                x=left + step * _STACK,
                y=24 + step * _STACK if step else 24,
                width=right - left,
                height=bottom - 24 + 14,
                rx=14,
                class_="module" if step == 0 else "module behind",
            )
        )
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
