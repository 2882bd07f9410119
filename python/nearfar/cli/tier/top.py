"""`nearfar tier top [PID]`: what the programs on two tiers do, again and again.

On a terminal the table is drawn in place; elsewhere one table follows another.
"""

from __future__ import annotations

import argparse

from nearfar.cli.parser import Parser
from nearfar.cli.tier.process import add_process
from nearfar.cli.tier.tables import Look, add_interval, print_tables
from nearfar.tier.client import find, running
from nearfar.tier.table import NOTHING, top_text


def add_arguments(parser: Parser) -> None:
    """Declare PID and how often."""
    add_process(parser, optional=True)
    add_interval(parser)
    parser.epilog = (
        "Sizes are in MiB; IN, OUT and CLEAN are pages copied in, copied out and dropped clean, "
        "SECOND those taken back in time; AHEAD is the part of what was read ahead that was used, "
        "STALL the seconds a second for which threads waited. Programs that run with --flat have a "
        "table of their own: LOOKED and USED are pages that a scan looked at and found used, FAULT "
        "the faults that this caused, DETECTOR and MOVER shares of a processor. Ctrl-C or the end "
        "of the program ends it."
    )


def run(args: argparse.Namespace) -> int:
    """Print tables until there is nothing to tell."""
    wanted = None if args.process is None else find(args.process).process

    def look() -> Look:
        return {
            tree.process: tree.stats
            for tree in running()
            if wanted is None or tree.process == wanted
        }

    print_tables(args, look, top_text, NOTHING, ends=wanted is not None)
    return 0
