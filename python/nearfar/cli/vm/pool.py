"""`nearfar vm pool --near SIZE [NAME...]`: one near memory for several machines.

Every change is a line on standard output.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import sys
import time

from nearfar.cli.parser import Parser
from nearfar.cli.streams import emit
from nearfar.cli.tier.near import near_size
from nearfar.errors import InputError
from nearfar.tier.control import PAGE
from nearfar.tier.outcome import mib
from nearfar.vm.division import PERIOD_S
from nearfar.vm.pool import Pool, Wishes, alone, check_names
from nearfar.vm.table import NOTHING


def add_arguments(parser: Parser) -> None:
    """Declare the machines, and what each is to have."""
    parser.add_argument(
        "names", metavar="NAME", nargs="*", help="machines that share it; default: all of this user"
    )
    parser.add_argument(
        "--near",
        metavar="SIZE",
        type=near_size,
        required=True,
        help="near memory of all of them together, at most; at least 1MiB",
    )
    parser.add_argument(
        "--weight",
        metavar="NAME=N",
        type=_weight,
        action="append",
        default=[],
        help="what is saved in this machine counts N times; default: 1",
    )
    parser.add_argument(
        "--least",
        metavar="NAME=SIZE",
        type=_least,
        action="append",
        default=[],
        help="this machine keeps so much, however idle it is; default: 1MiB",
    )
    parser.add_argument("--quiet", action="store_true", help="do not print changes")
    parser.epilog = (
        "Runs until Ctrl-C, or until no machine is left. Machines that begin meanwhile join; "
        "afterwards each keeps what it has."
    )


def run(args: argparse.Namespace) -> int:
    """Divide, again and again."""
    wishes = Wishes(args.names, dict(args.weight), dict(args.least))
    for name in (*wishes.weights, *wishes.least):
        if wishes.names and name not in wishes.names:
            raise InputError(f"{name}: is none of the machines that share the pool")
    pool, begun = Pool(args.near, wishes), time.monotonic()
    with contextlib.suppress(KeyboardInterrupt), alone():
        check_names(wishes)
        while True:
            looked = time.monotonic()
            changed = pool.period()
            if pool.is_empty:
                emit("" if args.quiet else NOTHING)
                break
            if changed and not args.quiet:
                moves = ", ".join(
                    f"{name} {mib(before)} -> {mib(after)}"
                    for name, (before, after) in changed.items()
                )
                emit(f"{time.monotonic() - begun:.2f} s: {moves}\n")
                sys.stdout.flush()
            time.sleep(max(0.0, looked + PERIOD_S - time.monotonic()))
    return 0


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.rpartition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"found '{text}', expected NAME=VALUE")
    return name, value


def _weight(text: str) -> tuple[str, float]:
    """An argparse type: a machine and its weight."""
    name, value = _pair(text)
    try:
        weight = float(value)
    except ValueError:
        weight = 0.0
    if not 0 < weight < math.inf:
        raise argparse.ArgumentTypeError(f"found '{text}', expected a weight above 0")
    return name, weight


def _least(text: str) -> tuple[str, int]:
    """An argparse type: a machine and what it keeps, in bytes."""
    name, value = _pair(text)
    return name, -(-near_size(value) // PAGE) * PAGE
