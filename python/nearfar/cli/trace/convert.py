"""`nearfar trace convert TRACE -o OUT`: a trace in another format."""

from __future__ import annotations

import argparse

from nearfar.cli.options import (
    add_made,
    quantity,
)
from nearfar.cli.parser import Parser
from nearfar.cli.progress import ProgressBar
from nearfar.cli.streams import complain, emit
from nearfar.cli.trace_options import add_format
from nearfar.model.units import CLOCK
from nearfar.simulate.traces.convert import ConvertOptions, convert
from nearfar.simulate.traces.formats import writable


def add_arguments(parser: Parser) -> None:
    """Declare TRACE, the file that is made, and the options."""
    parser.add_argument("trace", metavar="TRACE", help="plain, gzip, bzip2, zstandard, xz or zip")
    add_made(
        parser,
        "the trace that is made, named .nft or .FORMAT, or any name with --output-format; .gz and "
        ".zst pack",
    )
    add_format(parser)
    parser.add_argument(
        "--output-format", choices=writable(), help="default: told by the file's name"
    )
    parser.add_argument(
        "--skip",
        metavar="N",
        type=int,
        default=0,
        help="leave out the first N records (instructions, where the trace counts them)",
    )
    parser.add_argument("--run", metavar="N", type=int, help="write N; default: all that are left")
    parser.add_argument(
        "--clock",
        metavar="CLOCK",
        type=quantity(CLOCK),
        help="of the cycles of either trace, whichever does not say: 2666MT/s, for example",
    )
    parser.add_argument("--quiet", action="store_true", help="print neither progress nor the count")


def run(args: argparse.Namespace) -> int:
    """Convert it."""
    with ProgressBar("converting", quiet=args.quiet, scale=1 << 20, unit="MiB") as progress:
        converted = convert(
            args.trace,
            args.output,
            ConvertOptions(
                format=args.format,
                base=args.base,
                output_format=args.output_format,
                skip=args.skip,
                run=args.run,
                clock_ps=args.clock,
            ),
            progress=progress,
        )
    if not args.quiet:
        emit(f"{args.output}: {converted.records} records\n")
        if converted.left_out:
            complain(
                f"warning: {converted.left_out} fences or flushes are left out: only nearfar's own "
                "format has them"
            )
    return 0
