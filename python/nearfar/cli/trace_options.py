"""Options of every command that reads a trace."""

from __future__ import annotations

import argparse

from nearfar.simulate.traces.formats import readable

BASES = (10, 16)


def add_trace(parser: argparse.ArgumentParser) -> None:
    """The operand TRACE, and --format and --base."""
    parser.add_argument("trace", metavar="TRACE", help="plain, gzip, bzip2, zstandard, xz or zip")
    add_format(parser)


def add_format(
    parser: argparse.ArgumentParser,
    *,
    default: str | None = "auto",
    about: str = "default: told by it",
) -> None:
    """What the trace is, and in which base its addresses are written."""
    parser.add_argument(
        "--format",
        choices=readable(),
        default=default,
        help=about,
    )
    parser.add_argument(
        "--base",
        type=int,
        choices=BASES,
        help="of addresses without 0x in a trace of text; default: as its format has it",
    )
