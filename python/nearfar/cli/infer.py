"""`nearfar infer RESULT|CSV...`: what is inside a device, from saved measurements alone."""

from __future__ import annotations

import argparse

from nearfar.cli.options import (
    add_result,
    write_result,
)
from nearfar.cli.parser import Parser
from nearfar.report.findings import probe_text


def add_arguments(parser: Parser) -> None:
    """Declare the inputs."""
    parser.add_argument(
        "results",
        metavar="RESULT",
        nargs="+",
        help="what `probe` or `measure` saved, a CSV table, or output of lat_mem_rd, Intel MLC or "
        "multichase; several of one device together",
    )
    add_result(parser, "the structure and its evidence")


def run(args: argparse.Namespace) -> int:
    """Infer; the target's name, where the file has one, is shown but plays no part."""
    from nearfar.probing.saved import infer

    write_result(args, infer(*args.results), probe_text)
    return 0
