"""`nearfar tier resume PID`: pages may leave again."""

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
    """Declare PID."""
    add_process(parser)
    add_output(parser)


def run(args: argparse.Namespace) -> int:
    """Undo `tier pause`."""
    stats = find(args.process).ask(do="resume")
    if wants_text(args):
        emit(stats_text(stats))
    write_json(args, stats)
    return 0
