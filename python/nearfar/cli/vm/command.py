"""`nearfar vm`: virtual machines. A verb is a module beside this one, and a line here."""

from __future__ import annotations

import argparse

from nearfar.cli.parser import Parser
from nearfar.cli.verbs import add_verbs, run_verb

VERBS = {
    "record": "what of a whole machine's memory passes the caches, as a trace",
}


def add_arguments(parser: Parser) -> None:
    """Declare the verbs."""
    add_verbs(parser, "vm", VERBS)


def run(args: argparse.Namespace) -> int:
    """Run the chosen verb."""
    return run_verb(args)
