"""Options that commands share, and writing what they ask for."""

from __future__ import annotations

import argparse
import contextlib
import errno
import json
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any, TextIO, TypeVar

from nearfar.errors import InputError, NearfarError
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


def emit(text: str) -> None:
    """Write to standard output."""
    sys.stdout.write(text)


def complain(message: str) -> None:
    """Write one line, an error or a warning, to standard error, whatever is in `message`."""
    line = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in message)
    try:
        sys.stderr.write(f"nearfar: {line}\n")
        sys.stderr.flush()
    except OSError:  # standard error is closed; the exit status still tells
        abandon(sys.stderr)


def reason(error: OSError) -> str:
    """Why something could not be written or read, as one line."""
    if error.errno == errno.EMFILE:
        return "too many files are open; raise the limit (ulimit -n)"
    return f"{error.filename or 'output'}: {error.strerror or error}"


def abandon(stream: TextIO) -> None:
    """Point a standard stream nowhere, so that Python's own flush at exit stays silent."""
    with contextlib.suppress(OSError, ValueError):  # it may be no real file
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@contextlib.contextmanager
def reporting(stream: TextIO) -> Iterator[None]:
    """While something is reported on a program that has ended, perhaps on `stream`.

    What cannot be written is one line, and no more: the exit status is the program's.
    """
    try:
        yield
        stream.flush()
    except BrokenPipeError:
        abandon(stream)
    except OSError as error:
        abandon(stream)
        complain(reason(error))
    except NearfarError as error:
        complain(str(error))


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
