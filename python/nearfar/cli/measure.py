"""`nearfar measure TARGET chase|overwrite|stream|contention`: one microbenchmark, raw numbers."""

from __future__ import annotations

import argparse
from dataclasses import fields
from typing import Any

from nearfar.cli.options import add_result, complain, write_result
from nearfar.cli.parser import Parser
from nearfar.cli.progress import ProgressBar
from nearfar.errors import Interrupted
from nearfar.measuring import (
    Chase,
    Contention,
    Effort,
    Overwrite,
    Pattern,
    Stream,
    measure,
)
from nearfar.measuring.effort import DEFAULT_EFFORT
from nearfar.measuring.quantity import parse_count
from nearfar.report.text import result_text
from nearfar.results import MeasureResult

_SIZES = "SIZE[,SIZE...]"


def add_arguments(parser: Parser) -> None:
    """Declare TARGET and the patterns with their options."""
    parser.add_argument(
        "target",
        metavar="TARGET",
        help="model:NAME[,KEY=VALUE...]; host[:node=N][,pages=4KiB|2MiB|1GiB]; host:file=PATH",
    )
    kinds = parser.add_subparsers(
        dest="pattern", metavar="PATTERN", required=True, title="patterns"
    )
    _add_chase(_kind(kinds, "chase", "latency: a dependent chain through a region", _chase))
    _add_overwrite(_kind(kinds, "overwrite", "tails: 256 B writes, each timed", _overwrite))
    _add_stream(_kind(kinds, "stream", "bandwidth: independent accesses", _stream))
    _add_contention(
        _kind(kinds, "contention", "loaded latency: reads beside other threads", _contention)
    )


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


def _kind(kinds: Any, name: str, about: str, make: Any) -> Parser:
    parser: Parser = kinds.add_parser(name, help=about, description=about)
    parser.set_defaults(make=make)
    return parser


def _add_chase(parser: Parser) -> None:
    parser.add_argument("--region", metavar=_SIZES, required=True, help="one point for each")
    parser.add_argument("--block", metavar="SIZE", help="accessed together; default 64B")
    parser.add_argument(
        "--op",
        metavar="OP[,OP...]",
        help="ntload (default), load, ntstore, store, store+clwb, raw (read after write); "
        "load+store (changes each line it follows); on a model also load+store+clwb (and writes "
        "it back), on a host load+clflushopt, store+clflushopt",
    )
    parser.add_argument("--regions", metavar="fresh|repeat", help="default fresh: each line once")
    parser.add_argument("--fence", metavar="region|block|none", help="where; default region")
    parser.add_argument("--stride", metavar="SIZE", help="host: between blocks' beginnings")
    parser.add_argument(
        "--successors",
        metavar="lines|table",
        help="host: loads find the next block in the lines (default) or in a table elsewhere",
    )
    _add_fence_kind(parser)
    parser.add_argument("--threads", metavar="N[,N...]", type=_counts, help="default 1")
    _add_agent(parser)
    _add_common(parser, "lines a thread touches, rounded up to whole regions")


def _chase(args: argparse.Namespace) -> Pattern:
    return Chase(**_given(args, Chase))


def _add_overwrite(parser: Parser) -> None:
    parser.add_argument("--region", metavar="SIZE", help="default 256B")
    parser.add_argument("--writes", metavar="N", type=_count, help="default 262144")
    parser.add_argument("--op", metavar="OP", help="ntstore (default) or store+clwb")
    _add_fence_kind(parser)
    _add_common(parser, "")


def _overwrite(args: argparse.Namespace) -> Pattern:
    return Overwrite(**_given(args, Overwrite))


def _add_stream(parser: Parser) -> None:
    parser.add_argument(
        "--op",
        metavar="OP[,OP...]",
        required=True,
        help="load, ntload, store, ntstore, store+clwb, load+store; on a host also "
        "load+clflushopt, store+clflushopt",
    )
    parser.add_argument("--access", metavar=_SIZES, help="bytes of one access; default 256B")
    parser.add_argument(
        "--stride", metavar=f"{_SIZES}|random", help="default: the access size, so sequential"
    )
    parser.add_argument("--threads", metavar="N[,N...]", type=_counts, help="default 1")
    parser.add_argument("--area", metavar="SIZE", help="of each thread; default 2GiB")
    parser.add_argument(
        "--reads", metavar="PERCENT", help="mix: this share loads, the rest does OP"
    )
    parser.add_argument("--fence-every", metavar="SIZE", help="bytes between fences; default none")
    _add_fence_kind(parser, "sfence")
    parser.add_argument(
        "--value",
        metavar="HEX[,HEX...]",
        help="host: what stores write, 1, 2, 4... 64 bytes repeated, such as 0xf0; one point each",
    )
    parser.add_argument("--held", metavar="HEX", help="host: what memory holds before")
    _add_agent(parser)
    _add_common(parser, "lines a point touches over all threads")


def _stream(args: argparse.Namespace) -> Pattern:
    return Stream(**_given(args, Stream))


def _add_contention(parser: Parser) -> None:
    parser.add_argument(
        "--other",
        metavar="none|load|ntload|ntstore",
        help="what other threads do: load one at a time, or load or store (default) at full speed",
    )
    parser.add_argument("--threads", metavar="N", type=_count, help="others; default 1")
    parser.add_argument(
        "--delay",
        metavar="TIME[,TIME...]",
        help="load that is injected: from one access of another thread to its next; one point each",
    )
    parser.add_argument("--area", metavar="SIZE", help="of each thread; default 1GiB")
    parser.add_argument("--reads", metavar="N", type=_count, help="default 20000")
    _add_common(parser, "")


def _contention(args: argparse.Namespace) -> Pattern:
    return Contention(**_given(args, Contention))


def _add_fence_kind(parser: Parser, default: str = "mfence") -> None:
    parser.add_argument(
        "--fence-kind", metavar="mfence|sfence|cpuid", help=f"default {default}; cpuid on a host"
    )


def _add_agent(parser: Parser) -> None:
    parser.add_argument("--outstanding", metavar="N", type=_count, help="lines in flight at most")
    parser.add_argument(
        "--agent", metavar="core|none", help="none drives the controller without a core's limits"
    )


def _add_common(parser: Parser, lines_help: str) -> None:
    if lines_help:
        parser.add_argument("--lines", metavar="N", type=_count, help=lines_help)
    parser.add_argument("--seed", metavar="N", type=_count, help="of every random order; default 1")
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
        help="host:file=PATH: what this file or device holds may be lost",
    )
    add_result(parser, "the points as curves")


def _given(args: argparse.Namespace, pattern: type[Pattern]) -> dict[str, Any]:
    """The options that were given: the defaults are the pattern's own."""
    options = {field.name: getattr(args, field.name, None) for field in fields(pattern)}
    return {name: value for name, value in options.items() if value is not None}


def _count(text: str) -> int:
    try:
        return parse_count(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"found '{text}', expected a number of seconds")
    return seconds


def _counts(text: str) -> tuple[int, ...]:
    return tuple(_count(part) for part in text.split(","))
