"""`nearfar tier`: programs on two tiers. A verb is a module beside this one, and a line here."""

from __future__ import annotations

import argparse

from nearfar.cli.parser import Parser
from nearfar.cli.verbs import add_verbs, run_verb

VERBS = {
    "run": "run a program with a bounded amount of near memory",
    "attach": "have pages of a program that runs already exchanged between two nodes",
    "detach": "leave a program again that `attach` manages",
    "top": "what the programs that run on two tiers do, as a live table",
    "stats": "what they have near and far, and what was counted so far",
    "set": "give one another amount of near memory while it runs",
    "pause": "bring all its pages back and keep them resident, as for a debugger",
    "resume": "let its pages leave again",
    "core": "write a core file of it, far pages and all, while it goes on",
    "library": "print what LD_PRELOAD takes to use it without the launcher",
    "header": "print the folder of nearfar/tier.h, for the compiler's -I",
    "replay": "try page policies on a recorded program, cached or flat",
}


def add_arguments(parser: Parser) -> None:
    """Declare the verbs."""
    add_verbs(parser, "tier", VERBS)


def run(args: argparse.Namespace) -> int:
    """Run the chosen verb."""
    return run_verb(args)
