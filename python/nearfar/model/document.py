"""The schema as text, as Markdown (the reference page of the docs is made of it), as data."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nearfar.model.file import ABOUT, NOTES
from nearfar.model.key import Key
from nearfar.model.schema import ALIASES, COMPONENTS, KEYS

_INTRODUCTION = """\
# Model parameters

<!-- Made by `nearfar model schema --markdown`; edit the schema instead. -->

A model file is TOML. Tables nest by the dots of a key: `nvdimm.lsq.lines` is `lines` in
`[nvdimm.lsq]`. Sizes, times, clocks, powers and energies are strings with their unit, such as
`"16 KiB"` or `"137 ns"`; counts are plain integers. A target overrides keys:
`model:optane-100,channels=6,nvdimm.rmw.entries=128`.
"""


def schema_text(prefix: str = "") -> str:
    """The keys that begin with `prefix`, for a terminal."""
    blocks = []
    for key in _below(prefix):
        facts = "; ".join(fact for fact in (key.kind.value, key.range_text()) if fact)
        blocks.append(f"{key.name}\n    {key.meaning}\n    {facts}; default {_default(key)}\n")
    return "\n".join(blocks)


def schema_markdown() -> str:
    """Every key, as the page docs/parameters.md."""
    parts = [_INTRODUCTION, "## Besides the parameters\n", _notes()]
    for component, keys in COMPONENTS:
        parts.append(f"## {component}\n")
        rows = ["| key | type | default | range | meaning |", "| --- | --- | --- | --- | --- |"]
        rows += [
            f"| `{key.name}` | {key.kind.value} | {_cell(_default(key))} "
            f"| {_cell(key.range_text())} | {_cell(key.meaning)} |"
            for key in keys
        ]
        parts.append("\n".join(rows) + "\n")
    return "\n".join(parts)


def schema_data(prefix: str = "") -> dict[str, Any]:
    """The keys that begin with `prefix` as JSON has them; values in base units."""
    keys = [
        {
            "key": key.name,
            "exported": key.exported_name,
            "type": key.kind.value,
            "unit": key.unit,
            "default": key.default,
            "derived": key.derived,
            "low": key.low,
            "high": key.high,
            "choices": list(key.choices),
            "power_of_two": key.power_of_two,
            "meaning": key.meaning,
        }
        for key in _below(prefix)
    ]
    return {"schema": "nearfar/model-schema/1", "aliases": dict(ALIASES), "keys": keys}


def _below(prefix: str) -> Iterable[Key]:
    whole = prefix.rstrip(".")
    return [
        key for name, key in KEYS.items()
        if not whole or name == whole or name.startswith(f"{whole}.")
    ]  # fmt: skip


def _default(key: Key) -> str:
    if key.default is None:
        return f"from {key.derived}"
    return key.format(key.default)


def _notes() -> str:
    lines = [f"* `{name}`: {meaning}." for name, meaning in {**ABOUT, **NOTES}.items()]
    lines += [f"* `{alias}` is another name of `{name}`." for alias, name in ALIASES.items()]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
