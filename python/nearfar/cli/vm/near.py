"""--near SIZE|SHARE of the commands that give virtual machines their near memory."""

from __future__ import annotations

import argparse

from nearfar.cli.tier.near import near_size_or_share
from nearfar.vm.near import Near

_LARGEST = 100  # per cent, that is hardly meant as MiB


def add_near(parser: argparse.ArgumentParser, about: str) -> None:
    """Declare --near, which is `about` this."""
    parser.add_argument(
        "--near",
        metavar="SIZE",
        type=near,
        required=True,
        help=f"{about}: a size such as 512MiB, or a share of the guest's memory such as 10%%; at "
        "least 1MiB",
    )


def near(text: str) -> Near:
    """An argparse type: near memory as a size, or as a share of the guest's."""
    if text.isdecimal() and 0 < int(text) <= _LARGEST:
        raise argparse.ArgumentTypeError(
            f"found '{text}' without a unit, expected a size or a share; did you mean {text}%?"
        )
    return Near(text, near_size_or_share(text))
