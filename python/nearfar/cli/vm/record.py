"""`nearfar vm record -o FILE -- qemu-system-x86_64 ...`: what of a machine reaches its memory.

The guest's streams are the command's, so what was recorded is said on standard error.
"""

from __future__ import annotations

import argparse
import sys

from nearfar.cli.options import add_made, quantity
from nearfar.cli.parser import Parser
from nearfar.cli.streams import complain
from nearfar.model.units import TIME
from nearfar.simulate.programs.guest import INCLUDES, REGION_BEGIN, REGION_END
from nearfar.simulate.programs.whole import PERIOD_PS, WholeOptions, record_machine


def add_arguments(parser: Parser) -> None:
    """Declare PROGRAM and the options."""
    parser.add_argument(
        "program",
        metavar="QEMU",
        nargs="+",
        help="qemu-system-x86_64 with its arguments, behind --",
    )
    add_made(parser, "the trace")
    parser.add_argument(
        "--include",
        choices=INCLUDES,
        default="boot",
        help="all from the first instruction on (default), or a region of interest alone: between "
        f"the lines '{REGION_BEGIN.decode()}' and '{REGION_END.decode()}' on QEMU's output",
    )
    parser.add_argument(
        "--period",
        metavar="TIME",
        type=quantity(TIME),
        default=PERIOD_PS,
        help="of an instruction, in the trace; default: 300ps",
    )
    parser.add_argument("--quiet", action="store_true", help="do not say how much was recorded")


def run(args: argparse.Namespace) -> int:
    """Run the machine; QEMU's exit status is the command's."""
    sys.stdout.flush()
    options = WholeOptions(include=args.include, period_ps=args.period)
    ended, trace = record_machine(args.program, args.output, options)
    if not args.quiet:
        complain(f"{trace.file}: {trace.records} records")
    return ended.exit_code
