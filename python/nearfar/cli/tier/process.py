"""The operand PID of `nearfar tier`: any process of a tree that runs on two tiers."""

from __future__ import annotations

import argparse

from nearfar.cli.parser import Parser

_LARGEST = 1 << 22  # that Linux gives


def add_process(parser: Parser, *, optional: bool = False) -> None:
    """The operand PID; None where it is optional and not given."""
    parser.add_argument(
        "process",
        metavar="PID",
        nargs="?" if optional else None,
        type=process_number,
        help="the launcher (`nearfar tier run`), or any process that runs under it"
        + ("; default: all of this user" if optional else ""),
    )


def process_number(text: str) -> int:
    """An argparse type: the number of a process."""
    if not text.isdecimal() or not 0 < int(text) <= _LARGEST:
        raise argparse.ArgumentTypeError(f"found '{text}', expected the number of a process")
    return int(text)
