"""`nearfar tier set --near SIZE PID`: another amount of near memory for a program that runs."""

from __future__ import annotations

import argparse

from nearfar.cli.options import (
    add_output,
    wants_text,
    write_json,
)
from nearfar.cli.parser import Parser
from nearfar.cli.streams import emit
from nearfar.cli.tier.near import add_near, near_bytes_of, warn_of_much
from nearfar.cli.tier.process import add_process
from nearfar.tier.client import find
from nearfar.tier.share import Share
from nearfar.tier.table import stats_text


def add_arguments(parser: Parser) -> None:
    """Declare the limit and PID."""
    add_process(parser)
    add_near(parser, "near memory of the program and its children from now on, at most")
    add_output(parser)


def run(args: argparse.Namespace) -> int:
    """Set it; returns when no more than that is near."""
    share = args.near.millionths if isinstance(args.near, Share) else None
    stats = find(args.process).ask(
        do="set", near_bytes=near_bytes_of(args.near), **({} if share is None else {"share": share})
    )
    warn_of_much(args.near)
    if wants_text(args):
        emit(stats_text(stats))
    write_json(args, stats)
    return 0
