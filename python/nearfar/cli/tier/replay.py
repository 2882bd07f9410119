"""`nearfar tier replay TRACE`: page replacement policies on a recorded program."""

from __future__ import annotations

import argparse
import re

from nearfar.cli.options import (
    add_result,
    write_result,
)
from nearfar.cli.parser import Parser
from nearfar.cli.progress import ProgressBar
from nearfar.cli.streams import complain
from nearfar.cli.trace_options import add_trace
from nearfar.report.tiered import tier_replay_text
from nearfar.results.faults import POLICIES
from nearfar.results.tier_replay import TierReplayResult
from nearfar.simulate.tier_replay import tier_replay

_ALL = 100  # per cent
_SHARE = re.compile(r"([+-]?\d*\.?\d+) ?%", re.ASCII)


def add_arguments(parser: Parser) -> None:
    """Declare TRACE and the options."""
    add_trace(parser)
    parser.add_argument(
        "--policy",
        metavar="NAME[,NAME...]",
        type=_words,
        default=POLICIES,
        help=f"of {', '.join(POLICIES)}; default: all",
    )
    parser.add_argument(
        "--near",
        metavar="SIZE[,SIZE...]",
        type=_sizes,
        default=("5%", "10%", "25%", "50%"),
        help="near memory, such as 64MiB, or 25%% of the pages that the trace touches; "
        "default: 5%%,10%%,25%%,50%%",
    )
    parser.add_argument(
        "--no-scans",
        dest="scans",
        action="store_false",
        help="read no access bits: policies are told what the pager of a live program sees",
    )
    add_result(parser, "misses by policy and size beside Belady's")


def run(args: argparse.Namespace) -> int:
    """Read the trace, try the policies and print what they did."""
    with ProgressBar("reading", quiet=args.quiet, scale=1 << 20, unit="MiB") as progress:
        replay = tier_replay(
            args.trace,
            policies=args.policy,
            near=args.near,
            scans=args.scans,
            format=args.format,
            base=args.base,
            progress=progress,
        )
    write_result(args, replay, tier_replay_text)
    _warn(replay)
    return 0


def _sizes(text: str) -> tuple[str, ...]:
    """An argparse type: sizes and shares of the pages, as `tier_replay` takes them."""
    words = _words(text)
    for word in words:
        if word.isdecimal() and 0 < int(word) <= _ALL:
            raise argparse.ArgumentTypeError(
                f"found '{word}' without a unit, expected a size or a share; did you mean {word}%?"
            )
        share = _SHARE.fullmatch(word)
        if share and float(share[1]) <= 0:
            raise argparse.ArgumentTypeError(f"found '{word}', expected more than 0%")
    return words


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(","))


def _warn(replay: TierReplayResult) -> None:
    for one in replay.sizes:
        if one.near_pages >= replay.pages:
            complain(
                f"warning: all {replay.pages} pages fit into {one.near_pages} near pages: no page "
                "is ever evicted; give a smaller --near"
            )
