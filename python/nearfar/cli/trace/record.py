"""`nearfar trace record TARGET -o FILE -- PROGRAM ARGUMENT...`: what of a program reaches memory.

The program's streams are the command's, so what was recorded is said on standard error.
"""

from __future__ import annotations

import argparse
import sys

from nearfar.cli.options import (
    add_made,
    add_result,
    write_files,
)
from nearfar.cli.parser import Parser
from nearfar.cli.run import add_program, program_options
from nearfar.cli.streams import complain, reporting
from nearfar.errors import InputError
from nearfar.simulate.programs.run import record
from nearfar.simulate.traces.recording import GAPS, KINDS


def add_arguments(parser: Parser) -> None:
    """Declare TARGET, PROGRAM and the options."""
    add_program(parser)
    add_made(parser, "the trace; NAME-2, NAME-3 and so on for other programs that it executes")
    parser.add_argument(
        "--gaps",
        choices=GAPS,
        help="between records: the time at which memory was asked (default), or the instructions "
        "of the thread",
    )
    parser.add_argument(
        "--kind",
        choices=KINDS,
        default="memory",
        help="memory (default): lines that memory is asked for; program: instructions, virtual "
        "addresses, marked pointers and mappings, for any model with a processor",
    )
    add_result(parser, "where the time went and what memory did")


def run(args: argparse.Namespace) -> int:
    """Run the program; its exit status is the command's."""
    if args.kind == "program" and args.gaps is not None:
        raise InputError("--gaps: found with --kind program, which has none; leave one of them out")
    sys.stdout.flush()
    ran, traces = record(
        args.target,
        args.program,
        args.output,
        gaps=args.gaps or "time",
        kind=args.kind,
        options=program_options(args),
    )
    if not args.quiet:
        for trace in traces:
            complain(f"{trace.file}: {trace.records} records")
        for note in ran.notes:
            complain(note)
    with reporting(sys.stdout):
        write_files(args, ran)
    return ran.exit_code
