"""`nearfar tier run --near SIZE --far FILE -- PROGRAM ARGUMENT...`: a program on two tiers.

The program's streams are the command's, so the report goes to standard error.
"""

from __future__ import annotations

import argparse
import sys

from nearfar.cli.options import add_output, complain, quantity, write_json
from nearfar.cli.parser import Parser
from nearfar.model.units import BYTES
from nearfar.simulate.program_elf import command
from nearfar.tier.launch import run as launch


def add_arguments(parser: Parser) -> None:
    """Declare the program and the tiers."""
    parser.add_argument(
        "program", metavar="PROGRAM", nargs="+", help="with its arguments, behind --"
    )
    parser.add_argument(
        "--near",
        metavar="SIZE",
        type=quantity(BYTES),
        required=True,
        help="near memory of the program and its children, at most",
    )
    parser.add_argument(
        "--far",
        metavar="FILE",
        required=True,
        help="a file to be made, on the far memory, gone when the program ends; or anonymous, or "
        "node:N, for memory of any NUMA node or of node N",
    )
    add_output(parser)


def run(args: argparse.Namespace) -> int:
    """Run the program; its exit status is the command's."""
    sys.stdout.flush()
    program = command(args.program)
    outcome = launch(
        program.file,
        program.arguments,
        dynamic=program.dynamic,
        near_bytes=args.near,
        far=args.far,
    )
    if not args.quiet:
        sys.stderr.write(outcome.text())
    write_json(args, outcome.to_dict())
    if outcome.lacked_memory:
        complain(
            "tier: the program was killed while the kernel was ending processes for lack of "
            "memory, the machine's or its control group's; give a smaller --near, or far memory "
            "elsewhere"
        )
    return outcome.status
