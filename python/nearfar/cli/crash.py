"""`nearfar crash TARGET FILE`: what a loss of power can leave, and whether it is consistent."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import fields

from nearfar.cli import measure as measure_command
from nearfar.cli.options import (
    add_result,
    add_target,
    write_result,
)
from nearfar.cli.parser import Parser
from nearfar.cli.streams import complain
from nearfar.cli.trace_options import add_format
from nearfar.errors import InputError
from nearfar.measuring import Pattern
from nearfar.measuring.quantity import parse_size
from nearfar.report.crash import crash_text
from nearfar.simulate.crashes.explore import MAX_STATES, RUNS, SEED, CrashOptions, crash


def add_arguments(parser: Parser) -> None:
    """Declare TARGET, FILE and the options."""
    add_target(parser)
    parser.add_argument(
        "program",
        metavar="FILE",
        nargs="?",
        help="stores, flushes and fences, one a line; or a trace (.nft, or with --format)",
    )
    parser.add_argument(
        "--pattern",
        metavar="PATTERN",
        help="instead of FILE: a pattern of nearfar measure with its options, such as "
        "'overwrite --writes 4'",
    )
    parser.add_argument(
        "--invariant",
        metavar="FILE.py[:FUNCTION]",
        help="a function of a crash image that returns True, False or a reason; "
        "default FUNCTION: check",
    )
    parser.add_argument(
        "--from",
        dest="from_label",
        metavar="LABEL|N",
        help="only crashes after this label; of a trace, record; of a pattern, line stored to",
    )
    parser.add_argument(
        "--to", dest="to_label", metavar="LABEL|N", help="only crashes before this one"
    )
    add_format(parser, default=None, about="FILE is a trace; auto: told by it")
    parser.add_argument(
        "--frames",
        choices=("first-touch", "refuse"),
        help="of a trace: where pages lie, as in nearfar replay",
    )
    parser.add_argument("--thread", metavar="N", type=int, help="of a trace: this one's records")
    parser.add_argument(
        "--area",
        metavar="ADDRESS:SIZE",
        type=_area,
        help="of a trace: only what is stored here, such as 0x40000:64KiB",
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
    add_result(parser, "the states, and what is lost and kept in those that break")


def run(args: argparse.Namespace) -> int:
    """Look at the states; status 1 when one of them breaks the invariant."""
    if (args.program is None) == (args.pattern is None):
        found = "neither FILE nor" if args.program is None else "both FILE and"
        raise InputError(f"crash: found {found} --pattern, expected one of them")
    crashed = crash(
        args.target,
        args.program if args.pattern is None else _pattern(args.target, args.pattern),
        args.invariant,
        CrashOptions(**{one.name: getattr(args, one.name) for one in fields(CrashOptions)}),
    )
    if "frames" in crashed.program:
        complain(
            "note: addresses exceed memory, so pages lie in the order in which they are stored to "
            "(--frames first-touch; or refuse)"
        )
    write_result(args, crashed, crash_text)
    return 0 if crashed.holds else 1


def _pattern(target: str, text: str) -> Pattern:
    """The pattern that `nearfar measure TARGET TEXT` would measure."""
    parser = Parser(prog="nearfar crash --pattern", add_help=False)
    measure_command.add_arguments(parser)
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise InputError(f"crash --pattern: found {text!r}: {error}") from None
    args = parser.parse([target, *words])
    pattern: Pattern = args.make(args)
    return pattern


def _area(text: str) -> tuple[int, int]:
    address, colon, size = text.partition(":")
    try:
        if not colon:
            raise ValueError
        return int(address, 0), parse_size("area", size)
    except ValueError:
        message = f"found '{text}', expected ADDRESS:SIZE such as 0x40000:64KiB"
        raise argparse.ArgumentTypeError(message) from None
