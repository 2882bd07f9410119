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
from nearfar.cli.streams import complain
from nearfar.cli.trace_options import add_trace
from nearfar.model.units import CLOCK
from nearfar.report.run import run_text
from nearfar.report.text import replay_text
from nearfar.simulate.programs.replayed import is_program_trace, refuse_options, replay_program
from nearfar.simulate.replay import FRAMES, PACES, ReplayOptions, replay


def add_arguments(parser: Parser) -> None:
    """Declare TARGET, TRACE and the options."""
    add_target(parser)
    add_trace(parser)
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
        "--frames",
        choices=FRAMES,
        help="where pages lie: in the order of their first touch (default for virtual addresses, "
        "and where addresses exceed memory), at the remainder of the address by memory's size, or "
        "at the address, which is refused beyond memory",
    )
    parser.add_argument(
        "--drain",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="time ends when the last write has left memory's queues (default), or, with "
        "--no-drain, when it was accepted",
    )
    parser.add_argument(
        "--command-trace",
        metavar="FILE",
        type=output_path,
        help="write every DRAM command as CSV",
    )
    add_result(parser, "latency, bandwidth and commands")


def run(args: argparse.Namespace) -> int:
    """Replay the trace."""
    if is_program_trace(args.trace):
        return _run_program(args)
    with ProgressBar("replaying", quiet=args.quiet, scale=1 << 20, unit="MiB") as progress:
        replayed = replay(
            args.target,
            args.trace,
            replay_options(args),
            progress=progress,
        )
    if args.frames is None and "frames" in replayed.trace:
        complain(
            "note: addresses exceed memory, so pages lie in the order of their first touch "
            "(--frames first-touch; or fold, refuse)"
        )
    write_result(args, replayed, replay_text)
    return 0


def _run_program(args: argparse.Namespace) -> int:
    """Replay what a program executed; the result is that of a run."""
    refuse_options(replay_options(args), args.trace)
    with ProgressBar("replaying", quiet=args.quiet, scale=1 << 20, unit="MiB") as progress:
        replayed = replay_program(args.target, args.trace, progress=progress)
    if not args.quiet:
        for note in replayed.notes:
            complain(f"note: {note}")
    write_result(args, replayed, run_text)
    return 0


def replay_options(args: argparse.Namespace) -> ReplayOptions:
    """What add_arguments() declared, as `replay` takes it."""
    return ReplayOptions(
        format=args.format,
        base=args.base,
        pace=args.pace,
        outstanding=args.outstanding,
        clock_ps=args.clock,
        skip=args.skip or 0,
        warm=args.warm or 0,
        run=args.run,
        frames=args.frames,
        drain=args.drain,
        command_trace=args.command_trace,
    )
