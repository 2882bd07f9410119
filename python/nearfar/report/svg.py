"""The few SVG elements the charts are made of, as text."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

Place = tuple[float, float]


def element(name: str, content: str = "", **attributes: object) -> str:
    """One element. `class_` stands for class, and '_' inside a name for '-'."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_text(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{written}>{content}</{name}>" if content else f"<{name}{written}/>"


def text(content: str, x: float, y: float, **attributes: object) -> str:
    """A label."""
    return element("text", escape(content), x=x, y=y, **attributes)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> str:
    """A straight line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def curve(places: Iterable[Place]) -> str:
    """Path data of a line through all places."""
    return "M" + "L".join(f"{_text(x)} {_text(y)}" for x, y in places)


def dots(places: Iterable[Place]) -> str:
    """Path data of a dot at each place: strokes of no length with round ends."""
    return "".join(f"M{_text(x)} {_text(y)}h0" for x, y in places)


def _text(value: object) -> str:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)
