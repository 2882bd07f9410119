"""`nearfar vm top [NAME]`: what the machines on two tiers do, again and again.

On a terminal the table is drawn in place; elsewhere one table follows another.
"""

from __future__ import annotations

import argparse

from nearfar.cli.parser import Parser
from nearfar.cli.tier.tables import Look, add_interval, print_tables
from nearfar.cli.vm.name import add_name
from nearfar.vm.machines import find_machine, running_machines
from nearfar.vm.table import NOTHING, top_text


def add_arguments(parser: Parser) -> None:
    """Declare NAME and how often."""
    add_name(parser, optional=True)
    add_interval(parser)
    parser.epilog = (
        "Sizes are in MiB; IN and OUT are what is moved from and to far memory, in MiB a second; "
        "STALL is the seconds a second for which processors of the guest waited. Ctrl-C or the end "
        "of the machine ends it."
    )


def run(args: argparse.Namespace) -> int:
    """Print tables until there is nothing to tell."""
    wanted = None if args.name is None else find_machine(args.name).process

    def look() -> Look:
        return {
            machine.process: machine.stats()
            for machine in running_machines()
            if wanted is None or machine.process == wanted
        }

    print_tables(args, look, top_text, NOTHING, ends=wanted is not None)
    return 0
