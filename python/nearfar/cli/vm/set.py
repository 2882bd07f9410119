"""`nearfar vm set --near SIZE NAME`: another amount of near memory for a machine that runs."""

from __future__ import annotations

import argparse

from nearfar.cli.options import add_output, wants_text, write_json
from nearfar.cli.parser import Parser
from nearfar.cli.streams import emit
from nearfar.cli.tier.near import warn_of_much
from nearfar.cli.vm.name import add_name
from nearfar.cli.vm.near import add_near
from nearfar.vm.machines import find_machine
from nearfar.vm.table import stats_text


def add_arguments(parser: Parser) -> None:
    """Declare the limit and NAME."""
    add_name(parser)
    add_near(parser, "near memory of the guest from now on, at most")
    add_output(parser)


def run(args: argparse.Namespace) -> int:
    """Set it; returns when no more than that is near."""
    machine = find_machine(args.name)
    near_bytes = args.near.of(machine.guest_bytes)
    stats = machine.set_near(near_bytes).stats()
    warn_of_much(near_bytes)
    if wants_text(args):
        emit(stats_text(stats))
    write_json(args, stats)
    return 0
