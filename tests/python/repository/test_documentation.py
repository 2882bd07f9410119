"""What the pages tell readers to type is accepted, and the Python they show runs."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from nearfar.cli.commands import COMMANDS
from nearfar.cli.main import build_parser
from nearfar.errors import InputError

ROOT = Path(__file__).resolve().parents[3]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    pattern = rf"^```{language}\n(.*?)^```"
    return re.findall(pattern, page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def commands(text: str) -> list[str]:
    """The `nearfar` commands of a shell block; synopses with [optional] parts are no commands."""
    lines = text.replace("\\\n", " ").splitlines()
    return [line for line in lines if line.startswith("nearfar ") and "[" not in line]


SHOWN = [
    pytest.param(line, id=f"{page.name}: {line[:60]}")
    for page in PAGES
    for block in blocks(page, "sh")
    for line in commands(block)
]


def accept(line: str) -> None:
    words = shlex.split(line, comments=True)[1:]
    build_parser([command for command in COMMANDS if command.name == words[0]]).parse_args(words)


@pytest.mark.parametrize("line", SHOWN)
def test_a_shown_command_is_accepted(line: str) -> None:
    accept(line)


def test_a_command_that_does_not_exist_is_noticed() -> None:
    with pytest.raises(InputError, match="regoin"):
        accept("nearfar model show optane-100 --regoin 4KiB")


def test_commands_are_found_in_shell_blocks() -> None:
    assert commands("nearfar model list\nnearfar a \\\n  b\nmake\nnearfar c [d]\n") == [
        "nearfar model list",
        "nearfar a    b",
    ]
    assert len(SHOWN) > 5


# The blocks of this one follow each other: test_python_page.py runs them.
NOTEBOOK = "python.md"
WITH_PYTHON = [page for page in PAGES if blocks(page, "python") and page.name != NOTEBOOK]


@pytest.mark.parametrize("page", WITH_PYTHON, ids=str)
def test_the_python_of_a_page_runs(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for block in blocks(page, "python"):
        exec(compile(block, f"<python of {page.name}>", "exec"), {})
    assert capsys.readouterr().out != ""
