"""`nearfar compare A B`: two results side by side, and what differs by more than noise."""

from __future__ import annotations

import argparse
from functools import partial

from nearfar.cli.options import (
    add_result,
    write_result,
)
from nearfar.cli.parser import Parser
from nearfar.report.comparison import comparison_text


def add_arguments(parser: Parser) -> None:
    """Declare both sides."""
    about = "what probe, infer, measure, run, replay or a host of the library saved, or a CSV table"
    parser.add_argument("a", metavar="A", help=about)
    parser.add_argument("b", metavar="B", help="the other: after, or the model")
    parser.add_argument("--all", action="store_true", help="show points within noise too")
    add_result(parser, "both sides in one picture")


def run(args: argparse.Namespace) -> int:
    """Compare; a difference is a result, not a failure."""
    from nearfar.probing.saved import compare

    write_result(args, compare(args.a, args.b), partial(comparison_text, every=args.all))
    return 0
