"""`nearfar vm`: virtual machines. A verb is a module beside this one, and a line here."""

from __future__ import annotations

import argparse

from nearfar.cli.parser import Parser
from nearfar.cli.verbs import add_verbs, run_verb

VERBS = {
    "run": "run a machine with a bounded amount of its memory near",
    "attach": "say why a machine that runs already cannot be put on two tiers",
    "top": "what the machines on two tiers do, as a live table",
    "stats": "what they have near and far, and what was counted so far",
    "set": "give one another amount of near memory while it runs",
    "pool": "divide one near memory among machines by what each would gain",
    "xml": "print the lines that have libvirt run a machine on two tiers",
    "record": "what of a whole machine's memory passes the caches, as a trace",
}


def add_arguments(parser: Parser) -> None:
    """Declare the verbs."""
    add_verbs(parser, "vm", VERBS)


def run(args: argparse.Namespace) -> int:
    """Run the chosen verb."""
    return run_verb(args)
