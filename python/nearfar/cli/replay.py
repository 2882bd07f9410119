"""`nearfar replay TARGET TRACE`: a trace through a model."""

from __future__ import annotations

import argparse

from nearfar.cli.options import (
    add_result,
    add_target,
    output_path,
    quantity,
    write_result,
)
from nearfar.cli.parser import Parser
from nearfar.cli.progress import ProgressBar
from nearfar.model.units import CLOCK
from nearfar.report.text import replay_text
from nearfar.simulate.replay import PACES, replay
from nearfar.simulate.traces.convert import FORMATS


def add_arguments(parser: Parser) -> None:
    """Declare TARGET, TRACE and the options."""
    add_target(parser)
    parser.add_argument("trace", metavar="TRACE", help="plain, gzip, zstandard or xz")
    parser.add_argument("--format", choices=FORMATS, default="auto", help="default: told by it")
    parser.add_argument(
        "--pace",
        choices=PACES,
        default="trace",
        help="trace (default): each access at its cycle; asap: as fast as memory takes them",
    )
    parser.add_argument("--outstanding", metavar="N", type=int, help="requests in flight at most")
    parser.add_argument(
        "--clock",
        metavar="CLOCK",
        type=quantity(CLOCK),
        help="of the trace's cycles, such as 2666MT/s; default: as the trace says, or the model's "
        "memory clock",
    )
    for name, about in (
        ("skip", "leave out the first N records (instructions, where the trace counts them)"),
        ("warm", "play the next N without counting them"),
        ("run", "count N; default: all that are left"),
    ):
        parser.add_argument(f"--{name}", metavar="N", type=int, help=about)
    parser.add_argument(
        "--command-trace",
        metavar="FILE",
        type=output_path,
        help="write every DRAM command as CSV",
    )
    add_result(parser, "latency, bandwidth and commands")


def run(args: argparse.Namespace) -> int:
    """Replay the trace."""
    with ProgressBar("replaying", quiet=args.quiet, scale=1 << 20, unit="MiB") as progress:
        replayed = replay(
            args.target,
            args.trace,
            format=args.format,
            pace=args.pace,
            outstanding=args.outstanding,
            clock_ps=args.clock,
            skip=args.skip or 0,
            warm=args.warm or 0,
            run=args.run,
            command_trace=args.command_trace,
            progress=progress,
        )
    write_result(args, replayed, replay_text)
    return 0
