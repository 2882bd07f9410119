"""`nearfar tier pause --resident PID`: all pages back in their places, and kept there."""

from __future__ import annotations

import argparse

from nearfar.cli.options import (
    add_output,
    wants_text,
    write_json,
)
from nearfar.cli.parser import Parser
from nearfar.cli.streams import emit
from nearfar.cli.tier.process import add_process
from nearfar.tier.client import find
from nearfar.tier.table import stats_text


def add_arguments(parser: Parser) -> None:
    """Declare PID and how it is paused."""
    add_process(parser)
    parser.add_argument(
        "--resident",
        action="store_true",
        required=True,
        help="with all pages near: a debugger and a core dump then see them",
    )
    add_output(parser)


def run(args: argparse.Namespace) -> int:
    """Pause what moves pages; the program runs on."""
    stats = find(args.process).ask(do="pause")
    if wants_text(args):
        emit(stats_text(stats))
    write_json(args, stats)
    return 0
