"""`nearfar tier header`: where nearfar/tier.h is, for programs that advise."""

from __future__ import annotations

import argparse

from nearfar.cli.parser import Parser
from nearfar.cli.streams import emit
from nearfar.tier.machine import headers


def add_arguments(parser: Parser) -> None:
    """Say how it is used."""
    parser.epilog = 'cc -I"$(nearfar tier header)" program.c'


def run(_: argparse.Namespace) -> int:
    """Print it."""
    emit(f"{headers()}\n")
    return 0
