"""`nearfar tier stats [PID]`: what programs on two tiers have, and what was counted so far."""

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
from nearfar.errors import InputError
from nearfar.tier.client import find, running
from nearfar.tier.table import NOTHING, stats_text


def add_arguments(parser: Parser) -> None:
    """Declare PID and the output."""
    add_process(parser, optional=True)
    add_output(parser)


def run(args: argparse.Namespace) -> int:
    """Ask and print."""
    if args.process is None and args.json is not None and args.json.isdecimal():
        raise InputError(
            f"--json: found '{args.json}', expected a file; for process {args.json}: "
            f"nearfar tier stats --json - {args.json}"
        )
    found = running() if args.process is None else [find(args.process)]
    trees = [tree.stats for tree in found]
    if wants_text(args):
        emit("\n".join(map(stats_text, trees)) if trees else NOTHING)
    write_json(args, {"trees": trees} if args.process is None else trees[0])
    return 0
