"""`nearfar tier core PID`: a core file with all pages of a program that goes on."""

from __future__ import annotations

import argparse

from nearfar.cli.parser import Parser
from nearfar.cli.streams import emit
from nearfar.cli.tier.process import add_process
from nearfar.tier.client import find_member
from nearfar.tier.core.file import write_core
from nearfar.tier.outcome import mib


def add_arguments(parser: Parser) -> None:
    """Declare PID and the file."""
    add_process(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="a file to be made, which only its owner may read; default: core.PID",
    )
    parser.epilog = (
        "The program is stopped while the file is written, and goes on. Of a tree with several "
        "processes, PID says which."
    )


def run(args: argparse.Namespace) -> int:
    """Write it and say where."""
    member = find_member(args.process)
    name = args.output or f"core.{member.process}"
    emit(f"{name}: {mib(write_core(member, name))}\n")
    return 0
