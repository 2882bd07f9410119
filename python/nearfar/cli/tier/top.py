"""`nearfar tier top [PID]`: what the programs on two tiers do, again and again.

On a terminal the table is drawn in place; elsewhere one table follows another.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import sys
import time
from collections.abc import Mapping
from typing import Any

from nearfar.cli.options import (
    quantity,
)
from nearfar.cli.parser import Parser
from nearfar.cli.streams import emit
from nearfar.cli.tier.process import add_process
from nearfar.model.units import TIME
from nearfar.tier.client import find, running
from nearfar.tier.table import NOTHING, top_text

_SECOND_PS = 10**12
_LEAST_PS = _SECOND_PS // 20
_TIME = dataclasses.replace(TIME, example="500 ms")
_CLEAR = "\x1b[H\x1b[2J"


def add_arguments(parser: Parser) -> None:
    """Declare PID and how often."""
    add_process(parser, optional=True)
    parser.add_argument(
        "--interval",
        metavar="TIME",
        type=_interval,
        default=_SECOND_PS,
        help="between two tables, such as 500ms; default: 1s",
    )
    parser.add_argument("--once", action="store_true", help="one table, over one interval")
    parser.epilog = (
        "Sizes are in MiB; IN, OUT and CLEAN are pages copied in, copied out and dropped clean, "
        "SECOND those taken back in time; AHEAD is the part of what was read ahead that was used, "
        "STALL the seconds a second for which threads waited. Programs that run with --flat have a "
        "table of their own: LOOKED and USED are pages that a scan looked at and found used, FAULT "
        "the faults that this caused, DETECTOR and MOVER shares of a processor. Ctrl-C or the end "
        "of the program ends it."
    )


def run(args: argparse.Namespace) -> int:
    """Print tables until there is nothing to tell."""
    wanted = None if args.process is None else find(args.process).process
    begun, before = time.monotonic(), _look(wanted)
    with contextlib.suppress(KeyboardInterrupt):
        while before or wanted is None:
            if not before and (args.once or not sys.stdout.isatty()):
                emit(NOTHING)
                break
            time.sleep(args.interval / _SECOND_PS)
            looked, now = time.monotonic(), _look(wanted)
            if not now and not (wanted is None and sys.stdout.isatty()):
                break
            table = top_text(list(now.values()), before, looked - begun) if now else NOTHING
            emit(_CLEAR + table if sys.stdout.isatty() and not args.once else table)
            sys.stdout.flush()
            if args.once:
                return 0
            begun, before = looked, now
    return 0


def _look(wanted: int | None) -> Mapping[int, Mapping[str, Any]]:
    """The trees by their numbers: all, or the wanted one, if it is there."""
    return {
        tree.process: tree.stats for tree in running() if wanted is None or tree.process == wanted
    }


def _interval(text: str) -> int:
    interval = quantity(_TIME, unit="ms" if len(text) > 2 else "s")(text)
    if interval < _LEAST_PS:
        raise argparse.ArgumentTypeError(f"found '{text}', expected at least 50 ms")
    return interval
