"""`nearfar lib`: what a compiler needs to build the simulated memory into a program."""

from __future__ import annotations

import argparse
import shlex

from nearfar.cli.options import add_output, wants_text, write_json
from nearfar.cli.parser import Parser
from nearfar.cli.streams import emit
from nearfar.simulate.library import compile_flags, library, link_flags


def add_arguments(parser: Parser) -> None:
    """Declare what can be asked for."""
    parser.add_argument(
        "--cflags", action="store_true", help="print where the headers are, for the compiler"
    )
    parser.add_argument("--libs", action="store_true", help="print the library, for the linker")
    add_output(parser)


def run(args: argparse.Namespace) -> int:
    """Print the flags asked for, or the path of the library."""
    flags = [
        *(compile_flags() if args.cflags else []),
        *(link_flags() if args.libs else []),
    ]
    if wants_text(args):
        emit(f"{shlex.join(flags) if args.cflags or args.libs else library()}\n")
    write_json(
        args,
        {
            "schema": "nearfar/lib/1",
            "library": str(library()),
            "cflags": compile_flags(),
            "libs": link_flags(),
        },
    )
    return 0
