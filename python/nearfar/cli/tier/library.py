"""`nearfar tier library`: what LD_PRELOAD takes to run a program on two tiers by itself."""

from __future__ import annotations

import argparse

from nearfar.cli.parser import Parser
from nearfar.cli.streams import emit
from nearfar.tier.machine import preloaded


def add_arguments(parser: Parser) -> None:
    """Say how it is used."""
    parser.epilog = (
        'NEARFAR_TIER_NEAR=64MiB NEARFAR_TIER_FAR=FILE LD_PRELOAD="$(nearfar tier library)" PROGRAM'
    )


def run(_: argparse.Namespace) -> int:
    """Print it."""
    emit(f"{preloaded()}\n")
    return 0
