"""`nearfar crash TARGET FILE`: what a loss of power can leave, and whether it is consistent."""

from __future__ import annotations

import argparse

from nearfar.cli.options import add_output, add_target, emit, wants_text, write_json
from nearfar.cli.parser import Parser
from nearfar.report.crash import crash_text
from nearfar.simulate.crash import MAX_STATES, RUNS, SEED, crash


def add_arguments(parser: Parser) -> None:
    """Declare TARGET, FILE and the options."""
    add_target(parser)
    parser.add_argument("program", metavar="FILE", help="stores, flushes and fences, one a line")
    parser.add_argument(
        "--invariant",
        metavar="FILE.py[:FUNCTION]",
        help="a function of a crash image that returns True, False or a reason; "
        "default FUNCTION: check",
    )
    parser.add_argument(
        "--from", dest="from_label", metavar="LABEL", help="only crashes after this label"
    )
    parser.add_argument(
        "--to", dest="to_label", metavar="LABEL", help="only crashes before this label"
    )
    parser.add_argument(
        "--max-states",
        metavar="N",
        type=int,
        default=MAX_STATES,
        help=f"of more, so many are drawn at random (default {MAX_STATES})",
    )
    parser.add_argument(
        "--runs",
        metavar="N",
        type=int,
        default=RUNS,
        help=f"on the simulated machine, whose states are looked at too (default {RUNS})",
    )
    parser.add_argument(
        "--seed", metavar="N", type=int, default=SEED, help=f"of draws and runs (default {SEED})"
    )
    add_output(parser)


def run(args: argparse.Namespace) -> int:
    """Look at the states; status 1 when one of them breaks the invariant."""
    crashed = crash(
        args.target,
        args.program,
        invariant=args.invariant,
        from_label=args.from_label,
        to_label=args.to_label,
        max_states=args.max_states,
        runs=args.runs,
        seed=args.seed,
    )
    if wants_text(args):
        emit(crash_text(crashed))
    write_json(args, crashed.to_dict())
    return 0 if crashed.holds else 1
