"""The page on Python is a notebook: its blocks run in order and print what it says."""

from __future__ import annotations

import contextlib
import inspect
import io
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[3] / "docs" / "python.md"
BLOCK = re.compile(r"```python\n(?P<code>.*?)```\n(?:\n```text\n(?P<output>.*?)```\n)?", re.DOTALL)


def test_every_block_of_the_page_on_python_prints_what_stands_below_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    blocks = list(BLOCK.finditer(PAGE.read_text(encoding="utf-8")))
    assert len(blocks) > 8
    for block in blocks:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block["code"], str(PAGE), "exec"), names)
        assert printed.getvalue() == (block["output"] or ""), block["code"]


def test_the_page_on_python_names_every_public_function() -> None:
    import nearfar

    text = PAGE.read_text(encoding="utf-8")
    functions = [name for name in nearfar.__all__ if inspect.isfunction(getattr(nearfar, name))]
    assert [name for name in functions if f"`{name}(" not in text] == []
