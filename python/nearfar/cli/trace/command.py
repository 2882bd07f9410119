"""`nearfar trace`: verbs on trace files. A new one is a module beside this one, and a line here."""

from __future__ import annotations

import argparse

from nearfar.cli.parser import Parser
from nearfar.cli.verbs import add_verbs, run_verb

VERBS = {
    "record": "run a program on a model, and keep what reaches memory",
    "info": "what a trace holds: operations, threads, addresses, hottest pages",
    "convert": "write a trace, or a part of it, in another format",
}


def add_arguments(parser: Parser) -> None:
    """Declare the verbs."""
    add_verbs(parser, "trace", VERBS)


def run(args: argparse.Namespace) -> int:
    """Run the chosen verb."""
    return run_verb(args)
