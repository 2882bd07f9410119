"""`nearfar vm attach NAME`: why a machine that runs already cannot be put on two tiers."""

from __future__ import annotations

import argparse

from nearfar.cli.parser import Parser
from nearfar.cli.vm.name import add_name
from nearfar.cli.vm.near import add_near
from nearfar.vm.attach import refusal


def add_arguments(parser: Parser) -> None:
    """Declare NAME and the tiers."""
    add_name(parser)
    add_near(parser, "near memory of the guest, at most")
    parser.add_argument("--far", metavar="FILE", required=True, help="as for `vm run`")
    parser.epilog = (
        "No engine can do that yet: the command says in a line what keeps this machine from it."
    )


def run(args: argparse.Namespace) -> int:
    """Say why not."""
    raise refusal(args.name)
