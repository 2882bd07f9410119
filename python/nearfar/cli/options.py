"""Options that commands share, and writing what they ask for."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import Any, TypeVar

from nearfar.cli.streams import emit
from nearfar.errors import InputError
from nearfar.model import units
from nearfar.results import Document, check_writable, write_text

Result = TypeVar("Result", bound=Document)

STANDARD_OUTPUT = "-"
_SMALL = 4  # digits


def add_target(parser: argparse.ArgumentParser, *, optional: bool = False) -> None:
    """The operand TARGET: what a command works on; None where it is optional and not given."""
    parser.add_argument(
        "target",
        metavar="TARGET",
        nargs="?" if optional else None,
        help="model:NAME or model:FILE.toml, then ,KEY=VALUE to change it",
    )


def add_output(parser: argparse.ArgumentParser) -> None:
    """--json FILE|- and --quiet, which every command that has a result takes."""
    parser.add_argument(
        "--json",
        metavar="FILE",
        type=output_path,
        help="write the result as JSON to FILE; - is standard output, in place of the text",
    )
    parser.add_argument(
        "--quiet", action="store_true", help="print neither progress nor the text of the result"
    )


def add_result(parser: argparse.ArgumentParser, page: str = "pictures") -> None:
    """--html FILE too, of every command whose result `nearfar report` shows: a page of `page`."""
    parser.add_argument(
        "--html",
        metavar="FILE",
        type=output_path,
        help=f"also write a page with {page}; - is standard output",
    )
    add_output(parser)


def add_made(parser: argparse.ArgumentParser, about: str, *, default: str | None = None) -> None:
    """-o FILE of every command that makes a file that is no result: a trace, a model, a page."""
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=output_path,
        default=default,
        required=default is None,
        help=about,
    )


def output_path(path: str) -> str:
    """An argparse type: a file that can be written, checked before any work is done."""
    if path != STANDARD_OUTPUT:
        try:
            check_writable(path)
        except InputError as error:
            raise argparse.ArgumentTypeError(str(error)) from None
    return path


def quantity(dimension: units.Dimension, *, unit: str = "") -> Callable[[str], int]:
    """An argparse type: a quantity with its unit, in base units; `unit`, if given, is what small
    numbers without one are likely to mean."""

    def convert(text: str) -> int:
        if unit and 0 < len(text.strip().lstrip("0")) <= _SMALL and text.strip().isdecimal():
            raise argparse.ArgumentTypeError(
                f"found '{text}' without a unit, expected {dimension.noun}; "
                f"did you mean {text.strip()}{unit}?"
            )
        try:
            return units.parse(text, dimension)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return convert


def wants_text(args: argparse.Namespace) -> bool:
    """Whether the command should print its result as text."""
    return not args.quiet and args.json != STANDARD_OUTPUT


def write_output(path: str, text: str) -> None:
    """Write `text` to the file of an `output_path` option: whole, or not at all."""
    if path == STANDARD_OUTPUT:
        emit(text)
    else:
        write_text(path, text)


def write_result(args: argparse.Namespace, result: Result, text: Callable[[Result], str]) -> None:
    """Everything that `add_result` offers of a result: its text, JSON and page, as was asked."""
    if wants_text(args):
        emit(text(result))
    write_files(args, result)


def write_files(args: argparse.Namespace, result: Document) -> None:
    """The JSON and the page of a result, where they were asked for."""
    write_json(args, result.to_dict())
    if args.html is not None:
        from nearfar.report.documents import page

        write_output(args.html, page([result]))


def write_json(args: argparse.Namespace, data: Any) -> None:
    """Write `data` where --json says, if it was given."""
    if args.json is not None:
        write_output(args.json, json.dumps(data, indent=1, allow_nan=False) + "\n")
