"""`nearfar measure TARGET PATTERN`: one microbenchmark, raw numbers."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from typing import Any

from nearfar.cli.options import (
    add_result,
    write_result,
)
from nearfar.cli.parser import Parser
from nearfar.cli.progress import ProgressBar
from nearfar.cli.streams import complain
from nearfar.errors import Interrupted
from nearfar.measuring import (
    Chase,
    Contention,
    Effort,
    Loaded,
    Overwrite,
    Pattern,
    Stream,
    measure,
)
from nearfar.measuring.effort import DEFAULT_EFFORT
from nearfar.measuring.fields import Field, options
from nearfar.report.text import result_text
from nearfar.results import MeasureResult

PATTERNS: dict[type[Pattern], str] = {
    Chase: "latency: a dependent chain through a region",
    Overwrite: "tails: 256 B writes, each timed",
    Stream: "bandwidth: independent accesses",
    Contention: "loaded latency: reads beside other threads",
    Loaded: "bandwidth-latency curves: reads beside paced reads and writes",
}


def add_arguments(parser: Parser) -> None:
    """Declare TARGET and the patterns with their options."""
    parser.add_argument(
        "target",
        metavar="TARGET",
        help="model:NAME[,KEY=VALUE...]; host[:node=N][,pages=4KiB|2MiB|1GiB]; host:file=PATH; "
        "kernel[:node=N], kernel:range=ADDRESS or kernel:dax=PATH",
    )
    kinds = parser.add_subparsers(
        dest="pattern", metavar="PATTERN", required=True, title="patterns"
    )
    for pattern, about in PATTERNS.items():
        below: Parser = kinds.add_parser(pattern.kind, help=about, description=about)
        below.set_defaults(make=partial(_made, pattern))
        for field in options(pattern).values():
            below.add_argument(
                field.flag,
                metavar=field.option.metavar or field.metavar,
                type=_typed(field),
                required=field.option.required,
                help=field.option.about.replace("%", "%%"),
            )
        _add_common(below)


def run(args: argparse.Namespace) -> int:
    """Run the pattern; Ctrl-C keeps the points that are finished."""
    pattern: Pattern = args.make(args)
    try:
        with ProgressBar(f"measuring {pattern.kind}", quiet=args.quiet) as progress:
            result = measure(
                args.target,
                pattern,
                progress=progress,
                effort=Effort(seconds=args.seconds),
                destructive=args.destructive,
            )
    except Interrupted as stopped:
        _report(args, stopped.result)
        raise
    _report(args, result)
    return 0


def _report(args: argparse.Namespace, result: MeasureResult) -> None:
    write_result(args, result, result_text)
    for one in result.environment.preconditions or ():
        if one.name == "direct access" and one.state == "bad":
            complain(f"{result.target.name}: {one.found}; {one.effect}; {one.mend}")


def _add_common(parser: Parser) -> None:
    parser.add_argument(
        "--seconds",
        metavar="S",
        type=_seconds,
        default=DEFAULT_EFFORT.seconds,
        help="host: begin no more repetitions after this; default 20",
    )
    parser.add_argument(
        "--destructive",
        metavar="PATH",
        help="host:file=PATH, kernel:dax=PATH: what this file or device holds may be lost",
    )
    add_result(parser, "the points as curves")


def _made(pattern: type[Pattern], args: argparse.Namespace) -> Pattern:
    """The pattern with the options that were given: the defaults are its own."""
    given = {name: getattr(args, name) for name in options(pattern)}
    return pattern(**{name: value for name, value in given.items() if value is not None})


def _typed(field: Field[Any, Any]) -> Callable[[str], Any]:
    """An argparse type: the field checks the rest when the pattern is made."""

    def convert(text: str) -> Any:
        try:
            return field.from_text(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return convert


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"found '{text}', expected a number of seconds")
    return seconds
