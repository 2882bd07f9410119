"""`nearfar trace`: verbs on trace files. A new one is a module `trace_VERB`, and a line here."""

from __future__ import annotations

import argparse
import importlib

from nearfar.cli.parser import Parser

VERBS = {
    "record": "run a program on a model, and keep what reaches memory",
    "info": "what a trace holds: operations, threads, addresses, hottest pages",
    "convert": "write a trace, or a part of it, in another format",
}


def add_arguments(parser: Parser) -> None:
    """Declare the verbs."""
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True, title="verbs")
    for name, about in VERBS.items():
        module = importlib.import_module(f"nearfar.cli.trace_{name}")
        below = verbs.add_parser(name, help=about, description=about)
        module.add_arguments(below)
        below.set_defaults(do=module.run)


def run(args: argparse.Namespace) -> int:
    """Run the chosen verb."""
    status: int = args.do(args)
    return status
