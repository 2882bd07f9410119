"""`nearfar tier replay TRACE`: page policies on a recorded program, cached or flat."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from typing import Any

from nearfar._lists import DETECTORS, PLACEMENT_POLICIES
from nearfar.cli.options import (
    add_result,
    quantity,
    write_result,
)
from nearfar.cli.parser import Parser
from nearfar.cli.progress import ProgressBar
from nearfar.cli.streams import complain
from nearfar.cli.trace_options import add_trace
from nearfar.errors import InputError
from nearfar.model.units import TIME
from nearfar.report.flat import flat_replay_text
from nearfar.report.tiered import tier_replay_text
from nearfar.results.faults import POLICIES
from nearfar.results.tier_replay import TierReplayResult
from nearfar.simulate.flat_replay import FlatOptions, flat_replay
from nearfar.simulate.tier_replay import tier_replay

_ALL = 100  # per cent
_FLAT_OPTIONS = (
    *("interval", "pairs", "detector", "move_cost", "time_scale", "read", "write"),
    *("scan_cost", "fault_cost"),
)
_SHARE = re.compile(r"([+-]?\d*\.?\d+) ?%", re.ASCII)


def add_arguments(parser: Parser) -> None:
    """Declare TRACE and the options."""
    add_trace(parser)
    parser.add_argument(
        "--policy",
        metavar="NAME[,NAME...]",
        type=_words,
        help=f"of {', '.join(POLICIES)}; with --flat of {', '.join(PLACEMENT_POLICIES)}; "
        "default: all",
    )
    parser.add_argument(
        "--near",
        metavar="SIZE[,SIZE...]",
        type=_sizes,
        help="near memory, such as 64MiB, or 25%% of the pages that the trace touches, or, with "
        "--flat, of the machine that was recorded; default: 5%%,10%%,25%%,50%%, and with --flat "
        "1%%,5%%,25%%",
    )
    parser.add_argument(
        "--no-scans",
        dest="scans",
        action="store_false",
        help="read no access bits: policies are told what the pager of a live program sees",
    )
    parser.add_argument(
        "--flat",
        action="store_true",
        help="both tiers are addressed directly: policies exchange pages between them",
    )
    _add_flat(parser)
    add_result(parser, "misses by policy and size beside Belady's, or traffic and moves over time")


def _add_flat(parser: Parser) -> None:
    default = FlatOptions()
    group = parser.add_argument_group("with --flat")
    time = quantity(TIME)
    options: tuple[tuple[str, str, Callable[[str], Any], str], ...] = (
        (
            "--interval",
            "TIME",
            time,
            "between decisions; default: 5s. Scans are five times as many",
        ),
        (
            "--pairs",
            "N",
            int,
            f"pages that change places in one, at most; default: {default.pairs}",
        ),
        ("--detector", "NAME", str, f"of {', '.join(DETECTORS)}; default: {default.detector}"),
        ("--move-cost", "TIME", time, "of a pair that changes places; default: 9us"),
        (
            "--time-scale",
            "N",
            float,
            "each access of the trace stands for N, and each second for N seconds; default: 1",
        ),
        ("--read", "NEAR,FAR", _pair_of_times, "a read of a line; default: 95ns,374ns"),
        ("--write", "NEAR,FAR", _pair_of_times, "a write of a line; default: 2ns,20ns"),
        ("--scan-cost", "TIME", time, "of one page in a scan; default: the detector's"),
        (
            "--fault-cost",
            "TIME",
            time,
            "of a page found used, or a sample, to the program; default: the detector's",
        ),
    )
    for name, metavar, kind, about in options:
        group.add_argument(name, metavar=metavar, type=kind, help=about)


def run(args: argparse.Namespace) -> int:
    """Read the trace, try the policies and print what they did."""
    given = {
        name: value for name in _FLAT_OPTIONS if (value := getattr(args, name, None)) is not None
    }
    if not args.flat:
        return _run_cached(args, given)
    if not args.scans:
        raise InputError("--no-scans: not with --flat, where scans are what policies are told by")
    if args.policy is not None:
        given["policies"] = args.policy
    if args.near is not None:
        given["near"] = args.near
    with ProgressBar("reading", quiet=args.quiet, scale=1 << 20, unit="MiB") as progress:
        flat = flat_replay(
            args.trace, FlatOptions(**given), format=args.format, base=args.base, progress=progress
        )
    write_result(args, flat, flat_replay_text)
    if flat.decisions == 0:
        complain(
            "warning: the trace ends before the first decision, so that no page moved; give a "
            "shorter --interval or a higher --time-scale"
        )
    return 0


def _run_cached(args: argparse.Namespace, given: dict[str, Any]) -> int:
    if given:
        option = "--" + next(iter(given)).replace("_", "-")
        raise InputError(f"{option}: only with --flat")
    with ProgressBar("reading", quiet=args.quiet, scale=1 << 20, unit="MiB") as progress:
        replay = tier_replay(
            args.trace,
            policies=args.policy or POLICIES,
            near=args.near or ("5%", "10%", "25%", "50%"),
            scans=args.scans,
            format=args.format,
            base=args.base,
            progress=progress,
        )
    write_result(args, replay, tier_replay_text)
    _warn(replay)
    return 0


def _pair_of_times(text: str) -> tuple[int, int]:
    """An argparse type: a time of near memory and one of far memory, in ps."""
    words = _words(text)
    if len(words) != len(("near", "far")):
        raise argparse.ArgumentTypeError(
            f"found '{text}', expected two times, of near and of far memory, such as 95ns,374ns"
        )
    near, far = (quantity(TIME)(word) for word in words)
    return near, far


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
