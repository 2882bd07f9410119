"""Tables of what runs on two tiers, one after another: for `tier top` and `vm top`."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nearfar.cli.options import quantity
from nearfar.cli.streams import emit
from nearfar.model.units import TIME

Look = Mapping[int, Mapping[str, Any]]  # by number, what was found
Table = Callable[[Sequence[Mapping[str, Any]], Look, float], str]

_SECOND_PS = 10**12
_LEAST_PS = _SECOND_PS // 20
_TIME = dataclasses.replace(TIME, example="500 ms")
_CLEAR = "\x1b[H\x1b[2J"


def add_interval(parser: argparse.ArgumentParser) -> None:
    """Declare how often there is a table, and --once."""
    parser.add_argument(
        "--interval",
        metavar="TIME",
        type=_interval,
        default=_SECOND_PS,
        help="between two tables, such as 500ms; default: 1s",
    )
    parser.add_argument("--once", action="store_true", help="one table, over one interval")


def print_tables(
    args: argparse.Namespace, look: Callable[[], Look], table: Table, nothing: str, *, ends: bool
) -> None:
    """Print one after another until there is nothing to tell; where it `ends`, there never will be
    again. `nothing` is printed in place of a table."""
    on_terminal = sys.stdout.isatty()
    begun, before = time.monotonic(), look()
    with contextlib.suppress(KeyboardInterrupt):
        while before or not ends:
            if not before and (args.once or not on_terminal):
                emit(nothing)
                break
            time.sleep(args.interval / _SECOND_PS)
            looked, now = time.monotonic(), look()
            if not now and (ends or not on_terminal):
                break
            text = table(list(now.values()), before, looked - begun) if now else nothing
            emit(_CLEAR + text if on_terminal and not args.once else text)
            sys.stdout.flush()
            if args.once:
                break
            begun, before = looked, now


def _interval(text: str) -> int:
    interval = quantity(_TIME, unit="ms" if len(text) > 2 else "s")(text)
    if interval < _LEAST_PS:
        raise argparse.ArgumentTypeError(f"found '{text}', expected at least 50 ms")
    return interval
