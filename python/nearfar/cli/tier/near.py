"""--near SIZE of the commands that give programs on two tiers their near memory."""

from __future__ import annotations

import argparse
import dataclasses
import os

from nearfar.cli.options import (
    quantity,
)
from nearfar.cli.streams import complain
from nearfar.model.units import BYTES
from nearfar.tier.outcome import mib
from nearfar.tier.share import Share, parse_share
from nearfar.tier.tree import expected_near

_SIZE = dataclasses.replace(BYTES, example="64 MiB")


def add_near(parser: argparse.ArgumentParser, about: str) -> None:
    """Declare --near, which is `about` this."""
    parser.add_argument(
        "--near",
        metavar="SIZE|SHARE",
        type=near_size_or_share,
        required=True,
        help=f"{about}; at least 1MiB, or with --flat a share of all that is managed, such as 25%%",
    )


def near_size_or_share(text: str) -> int | Share:
    """An argparse type: near memory in bytes, or a share of a program's memory."""
    if not text.rstrip().endswith("%"):
        return near_size(text)
    try:
        return parse_share(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def near_bytes_of(near: int | Share) -> int:
    """In bytes; a share is of this machine's memory, which is the most that it can be."""
    if isinstance(near, int):
        return near
    return max(near.of(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE"), 1 << 20)


def near_size(text: str) -> int:
    """An argparse type: near memory that a tree can have, in bytes."""
    near_bytes = quantity(_SIZE, unit="MiB")(text)
    expected = expected_near(near_bytes)
    if expected:
        raise argparse.ArgumentTypeError(f"found '{text}', expected {expected}")
    return near_bytes


def warn_of_much(near: int | Share) -> None:
    """Say so if it is more than this machine has: no page will ever leave then."""
    near_bytes = near_bytes_of(near)
    there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if near_bytes > there:
        complain(
            f"warning: --near: {mib(near_bytes)} is more than the {mib(there)} that this machine "
            "has; nothing will be far before memory runs out"
        )
