"""`nearfar tier detach PID`: manage a process no more that `tier attach` manages."""

from __future__ import annotations

import argparse

from nearfar.cli.options import add_output, wants_text, write_json
from nearfar.cli.parser import Parser
from nearfar.cli.streams import emit
from nearfar.cli.tier.process import add_process
from nearfar.errors import InputError
from nearfar.tier.client import find
from nearfar.tier.table import stats_text


def add_arguments(parser: Parser) -> None:
    """Declare PID."""
    add_process(parser)
    add_output(parser)


def run(args: argparse.Namespace) -> int:
    """End what manages it; returns when that has ended."""
    tree = find(args.process)
    if not tree.stats.get("attached"):
        raise InputError(
            f"{args.process}: was started on two tiers, expected a process that `nearfar tier "
            "attach` manages"
        )
    stats = tree.ask(do="detach")
    if wants_text(args):
        emit(stats_text(stats))
    write_json(args, stats)
    return 0
