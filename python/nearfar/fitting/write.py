"""The text of a fitted model: its base, what was fitted, and where each value comes from."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from nearfar.model.key import Kind
from nearfar.model.schema import KEYS
from nearfar.results import FittedParameter, KeptParameter

_BARE = (Kind.COUNT, Kind.REAL, Kind.FLAG)


def model_text(
    base: str,
    sources: Sequence[str],
    parameters: Sequence[FittedParameter],
    derived: Sequence[KeptParameter],
    output: str | None = None,
) -> str:
    """A model file of the parameters on top of `base`, a preset or a path.

    `derived` follows from the structure and was not seen. A base that is a path is written as
    seen from the folder of `output`.
    """
    described = ", ".join(Path(source).name for source in sources)
    values = {one.key: one.value for one in parameters}
    values |= {one.key: one.value for one in derived}
    lines = [
        f"description = {_string(f'Fitted to {described} on base {base}')}",
        f"base = {_string(_seen_from(base, output))}",
    ]
    tables: dict[str, list[str]] = {}  # a table may be declared once, whatever the keys' order
    for key in (name for name in KEYS if name in values):
        above, _, last = key.rpartition(".")
        value = values[key] if KEYS[key].kind in _BARE else _string(values[key])
        tables.setdefault(above, []).append(f"{last} = {value}")
    lines += tables.pop("", [])
    for above, own in tables.items():
        lines += ["", f"[{above}]", *own]
    lines += ["", "[sources]"]
    lines += [f'"{one.key}" = {_string(source_text(one))}' for one in parameters]
    lines += [f'"{one.key}" = {_string(one.reason)}' for one in derived]
    return "\n".join(lines) + "\n"


def source_text(one: FittedParameter) -> str:
    """Which observations fix the value, and within which bounds."""
    seen = ", ".join(one.observations)
    if one.interval is None:
        return f"{seen}: found"
    low, high = one.interval
    bounds = "exact" if low == high else f"{low} to {high}"
    return f"{seen}: {bounds}" if low == high else f"{seen}: interval {bounds}"


def _seen_from(base: str, output: str | None) -> str:
    if "/" not in base and not base.endswith(".toml"):
        return base
    folder = Path(output).resolve().parent if output is not None else Path.cwd()
    path = os.path.relpath(Path(base).resolve(), folder)
    return path if "/" in path else f"./{path}"


def _string(text: str) -> str:
    """A TOML string."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in escaped) + '"'
