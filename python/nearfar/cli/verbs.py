"""Commands of several verbs: each verb of `nearfar COMMAND` is a module of `cli/COMMAND/`."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Mapping

from nearfar.cli.parser import Parser


def add_verbs(parser: Parser, command: str, verbs: Mapping[str, str]) -> None:
    """Declare the verbs of `command`, each with what it is for."""
    below = parser.add_subparsers(dest="verb", metavar="VERB", required=True, title="verbs")
    for name, about in verbs.items():
        module = importlib.import_module(f"nearfar.cli.{command}.{name}")
        verb = below.add_parser(name, help=about, description=about)
        module.add_arguments(verb)
        verb.set_defaults(do=module.run)


def run_verb(args: argparse.Namespace) -> int:
    """Run the chosen verb."""
    status: int = args.do(args)
    return status
