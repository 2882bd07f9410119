"""`nearfar vm stats [NAME]`: what machines on two tiers have, and what was counted so far."""

from __future__ import annotations

import argparse

from nearfar.cli.options import add_output, wants_text, write_json
from nearfar.cli.parser import Parser
from nearfar.cli.streams import emit
from nearfar.cli.vm.name import add_name
from nearfar.vm.machines import find_machine, running_machines
from nearfar.vm.table import NOTHING, stats_text


def add_arguments(parser: Parser) -> None:
    """Declare NAME and the output."""
    add_name(parser, optional=True)
    add_output(parser)


def run(args: argparse.Namespace) -> int:
    """Ask and print."""
    found = running_machines() if args.name is None else [find_machine(args.name)]
    machines = [machine.stats() for machine in found]
    if wants_text(args):
        emit("\n".join(map(stats_text, machines)) if machines else NOTHING)
    write_json(args, {"machines": machines} if args.name is None else machines[0])
    return 0
