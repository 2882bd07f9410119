"""`nearfar tier`: programs on two tiers. A new verb is a module `tier_VERB`, and a line here."""

from __future__ import annotations

import argparse
import importlib

from nearfar.cli.parser import Parser

VERBS = {
    "run": "run a program with a bounded amount of near memory",
    "replay": "try page replacement policies on a recorded program",
}


def add_arguments(parser: Parser) -> None:
    """Declare the verbs."""
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True, title="verbs")
    for name, about in VERBS.items():
        module = importlib.import_module(f"nearfar.cli.tier_{name}")
        below = verbs.add_parser(name, help=about, description=about)
        module.add_arguments(below)
        below.set_defaults(do=module.run)


def run(args: argparse.Namespace) -> int:
    """Run the chosen verb."""
    status: int = args.do(args)
    return status
