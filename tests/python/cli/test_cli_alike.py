"""Like things are alike in all commands: results, pages, files that are made, formats."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import pytest

from nearfar.cli.commands import COMMANDS
from nearfar.cli.main import build_parser
from nearfar.cli.options import (
    output_path,
)
from nearfar.cli.parser import Parser

# Commands whose result `nearfar report` shows as a page.
WITH_PAGES = {
    *("predict", "probe", "validate", "replay", "run", "crash", "infer", "compare", "fit"),
    *(
        "measure chase",
        "measure loaded",
        "measure overwrite",
        "measure stream",
        "measure contention",
    ),
    *("tier run", "tier replay", "trace record", "sweep show", "vm run"),
}
# Commands that make a file which is no result.
MAKING = {
    *("trace record", "trace convert", "tier core", "report", "fit", "vm record"),
    *("model export", "model random"),
}


def leaves(parser: Parser, path: str = "") -> Iterator[tuple[str, Parser]]:
    """Every command that runs, by its words."""
    below = parser.commands()
    if not below:
        yield path, parser
    for name, inner in below.items():
        yield from leaves(inner, f"{path} {name}".strip())


LEAVES = dict(leaves(build_parser(COMMANDS)))


def option(parser: Parser, name: str) -> argparse.Action | None:
    """The option of that name, if the command has it."""
    return parser._option_string_actions.get(name)


def test_the_commands_that_have_a_result_take_html_and_the_others_do_not() -> None:
    assert {name for name, parser in LEAVES.items() if option(parser, "--html")} == WITH_PAGES


@pytest.mark.parametrize("name", sorted(WITH_PAGES))
def test_a_command_with_a_page_writes_its_result_as_json_and_can_be_quiet(name: str) -> None:
    parser = LEAVES[name]
    for spelling in ("--html", "--json"):
        action = option(parser, spelling)
        assert action is not None
        assert (action.metavar, action.type) == ("FILE", output_path)
    assert option(parser, "--quiet") is not None


def test_what_a_command_makes_is_o_and_only_that() -> None:
    making = {name for name, parser in LEAVES.items() if option(parser, "-o")}
    assert making == MAKING
    for name in making:
        action = option(LEAVES[name], "-o")
        assert action is not None
        assert action.option_strings == ["-o", "--output"], name


def test_no_operand_is_a_file_that_is_written() -> None:
    for name, parser in LEAVES.items():
        for action in parser._actions:
            if not action.option_strings:
                assert action.type is not output_path, name


def operands(parser: Parser) -> list[object]:
    """What its operands are called."""
    return [action.metavar for action in parser._actions if not action.option_strings]


def test_every_command_that_reads_a_trace_calls_its_format_and_base_alike() -> None:
    reading = {name for name, parser in LEAVES.items() if "TRACE" in operands(parser)}
    assert reading == {"replay", "trace info", "trace convert", "tier replay"}
    for name in (*reading, "crash"):
        format_, base = (option(LEAVES[name], spelling) for spelling in ("--format", "--base"))
        assert format_ is not None, name
        assert format_.choices is not None, name
        assert base is not None, name
    assert [name for name, parser in LEAVES.items() if option(parser, "--output-format")] == [
        "trace convert"
    ]


def test_sizes_of_near_memory_and_windows_are_called_alike() -> None:
    for spelling, names in (
        ("--near", {"run", "trace record", "tier run", "tier set", "tier replay"}),
        ("--skip", {"run", "trace record", "replay", "trace convert"}),
        ("--policy", {"tier run", "tier replay"}),
    ):
        found = {name for name, parser in LEAVES.items() if option(parser, spelling)}
        assert names <= found, spelling
