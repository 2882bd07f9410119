"""The page of commands lists the whole command line."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from nearfar.cli.commands import COMMANDS
from nearfar.cli.main import build_parser
from nearfar.cli.parser import Parser

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def page() -> str:
    script = [sys.executable, "scripts/commands-page"]
    return subprocess.run(script, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def leaves(parser: Parser, title: str) -> list[tuple[str, Parser]]:
    """Every command that runs, with its full name."""
    below = parser.commands()
    if not below:
        return [(title, parser)]
    return [leaf for name, verb in below.items() for leaf in leaves(verb, f"{title} {name}")]


def part(page: str, title: str) -> str:
    """What the page says below one heading, up to the next."""
    return page.partition(f"# {title}\n")[2].partition("\n#")[0]


COMMANDS_THAT_RUN = leaves(build_parser(COMMANDS), "nearfar")


@pytest.mark.parametrize(
    ("title", "parser"), [pytest.param(*one, id=one[0]) for one in COMMANDS_THAT_RUN]
)
def test_the_page_lists_every_option_of_a_command(page: str, title: str, parser: Parser) -> None:
    rows = part(page, title).split("| --- | --- |")[-1]
    options = [name for name in parser.options() if name not in ("-h", "--help")]
    assert part(page, title) != ""
    assert [name for name in options if not re.search(rf"[` ]{name}[`, ]", rows)] == []


def test_the_page_lists_commands_of_several_verbs() -> None:
    titles = [title for title, _ in COMMANDS_THAT_RUN]
    assert {"nearfar measure chase", "nearfar tier run", "nearfar doctor"} <= set(titles)
