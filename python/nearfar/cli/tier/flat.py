"""--flat and what belongs to it: two tiers that the program addresses directly."""

from __future__ import annotations

import argparse
import dataclasses

from nearfar._lists import DETECTORS, PLACEMENT_POLICIES
from nearfar.cli.options import quantity
from nearfar.cli.parser import Parser
from nearfar.cli.streams import complain
from nearfar.errors import InputError
from nearfar.model.units import TIME
from nearfar.tier.control import AUTO, BEST, Flat
from nearfar.tier.flat import (
    DEFAULT_INTERVAL_NS,
    DEFAULT_PAIRS,
    DEFAULT_POLICY,
    LEAST_INTERVAL_NS,
    MOST_PAIRS,
    FlatOptions,
)
from nearfar.tier.launch import NO_DELAY
from nearfar.tier.share import Share

_NS_PS = TIME.units["ns"]
_MOST_INTERVAL_NS = 3600 * 10**9
_INTERVAL = dataclasses.replace(TIME, example="5 s")


def add_flat(parser: Parser) -> None:
    """Declare them."""
    group = parser.add_argument_group("with --flat")
    group.add_argument(
        "--flat",
        action="store_true",
        help="both tiers are addressed directly, and --far is node:N: pages stay mapped, and a "
        f"policy exchanges them; --policy is of {', '.join(PLACEMENT_POLICIES)}, by default "
        f"{DEFAULT_POLICY}",
    )
    group.add_argument(
        "--interval",
        metavar="TIME",
        type=_interval,
        help="from one decision to the next, with five scans in it; default: 5s",
    )
    group.add_argument(
        "--pairs",
        metavar="N",
        type=_pairs,
        help=f"pages that change places in a decision, at most; default: {DEFAULT_PAIRS}",
    )
    group.add_argument(
        "--detector",
        metavar="NAME",
        help="how pages in use are found: "
        + ", ".join(name for name in DETECTORS if name != "sampled")
        + "; default: accessed where the kernel can (Linux 7.3), else probe. From outside, so that "
        "nothing is loaded into the program: damon, for root, or dirty",
    )


def flat_options(args: argparse.Namespace) -> FlatOptions | None:
    """What was asked for; None without --flat. Raises InputError for what does not go with it."""
    if not args.flat:
        for option in ("interval", "pairs", "detector"):
            if getattr(args, option) is not None:
                raise InputError(f"--{option}: is for --flat, where a policy exchanges pages")
        if isinstance(args.near, Share):
            raise InputError(
                f"--near: found {args.near}, expected a size such as 64MiB; a share of the "
                "program's memory is for --flat"
            )
        return None
    others = {
        "--backend": args.backend != "uffd",
        "--compress": args.compress is not None,
        "--emulate": args.emulate != NO_DELAY,
        "--evict": args.evict != BEST,
        "--pager-cpu": args.pager_cpu != AUTO,
        "--sigbus": args.sigbus,
        "--record-faults": args.record_faults is not None,
    }
    for option, given in others.items():
        if given:
            raise InputError(f"{option}: found beside --flat, which brings no page in on a fault")
    return FlatOptions(
        policy=args.policy,
        detector=args.detector,
        interval_ns=args.interval or DEFAULT_INTERVAL_NS,
        pairs=args.pairs or DEFAULT_PAIRS,
        share=args.near if isinstance(args.near, Share) else None,
    )


def warn_of_one_node(flat: Flat) -> None:
    """Say so if the two tiers are the same memory."""
    if flat.near_node == flat.far_node:
        complain(
            f"warning: --far node:{flat.far_node}: this machine has no other node with memory, so "
            "near and far are the same; pages are counted and moved as if they were not"
        )


def _interval(text: str) -> int:
    interval = quantity(_INTERVAL, unit="ms" if len(text) > 2 else "s")(text) // _NS_PS
    if not LEAST_INTERVAL_NS <= interval <= _MOST_INTERVAL_NS:
        raise argparse.ArgumentTypeError(f"found '{text}', expected 10 ms to 1 h")
    return interval


def _pairs(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= MOST_PAIRS):
        raise argparse.ArgumentTypeError(f"found '{text}', expected 1 to {MOST_PAIRS}")
    return int(text)
