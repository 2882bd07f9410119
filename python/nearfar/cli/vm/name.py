"""The operand NAME of `nearfar vm`: a machine that runs on two tiers."""

from __future__ import annotations

from nearfar.cli.parser import Parser


def add_name(parser: Parser, *, optional: bool = False) -> None:
    """The operand NAME; None where it is optional and not given."""
    parser.add_argument(
        "name",
        metavar="NAME",
        nargs="?" if optional else None,
        help="the machine's name (QEMU's -name), or the number of QEMU's process"
        + ("; default: all of this user" if optional else ""),
    )
