"""`nearfar tier attach --flat --near SIZE --far node:N PID`: a program that runs already.

The command manages the program from outside until that has ended, or it is told to end.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from nearfar.cli.options import add_output, wants_text, write_json
from nearfar.cli.parser import Parser
from nearfar.cli.streams import complain, emit
from nearfar.cli.tier.flat import add_flat, flat_options, warn_of_one_node
from nearfar.cli.tier.near import add_near, near_bytes_of, warn_of_much
from nearfar.cli.tier.process import process_number
from nearfar.errors import InputError
from nearfar.tier.attach.machine import DEFAULT_POLICY, attach_settings, check_process
from nearfar.tier.attach.target import Target
from nearfar.tier.control import AUTO, BEST
from nearfar.tier.launch import NO_DELAY
from nearfar.tier.table import stats_text
from nearfar.tier.tree import program_of

# Options of `tier run` that flat_options asks for.
_ABSENT = {
    "backend": "uffd",
    "compress": None,
    "emulate": NO_DELAY,
    "evict": BEST,
    "pager_cpu": AUTO,
    "sigbus": False,
    "record_faults": None,
}


def add_placing(parser: Parser) -> None:
    """Declare what moves pages from outside, as of a program or a machine."""
    parser.add_argument("--far", metavar="node:N", required=True, help="the far node")
    parser.add_argument(
        "--policy", metavar="NAME", help=f"of placement, as for --flat; default: {DEFAULT_POLICY}"
    )
    add_flat(parser)
    parser.set_defaults(**_ABSENT)
    add_output(parser)


def show(args: argparse.Namespace, stats: Mapping[str, Any]) -> None:
    """Say what was done, as asked for."""
    if wants_text(args):
        emit(stats_text(stats))
    write_json(args, stats)


def add_arguments(parser: Parser) -> None:
    """Declare PID and the tiers."""
    parser.add_argument(
        "process", metavar="PID", type=process_number, help="the process; its children are not it"
    )
    add_near(parser, "near memory of the process from now on, at most")
    add_placing(parser)
    parser.epilog = (
        "The command runs for as long as the process does. Ctrl-C, `nearfar tier detach` or its "
        "own end leave the process running and its pages where they are. Pages in use are found by "
        "DAMON, which sees reads (--detector damon, for root), or are written ones, by soft-dirty "
        "bits (--detector dirty)."
    )


def run(args: argparse.Namespace) -> int:
    """Manage it; then say what was done."""
    options = flat_options(args) if args.flat else None
    if options is None:
        raise InputError(
            "--flat: found none, expected --flat --far node:N: from outside, pages can be moved "
            "between NUMA nodes and nowhere else; other far memory is for `nearfar tier run`"
        )
    flat = attach_settings(args.far, options)
    check_process(args.process)
    from nearfar.tier.attach.run import manage

    target = Target(args.process, program_of(args.process))

    def begun() -> None:
        warn_of_one_node(flat)
        warn_of_much(args.near)
        if not args.quiet:
            complain(
                f"tier: manages process {target.process} ({target.program}) from now on; Ctrl-C, "
                f"or `nearfar tier detach {target.process}`, leaves it as it is"
            )

    show(args, manage(target, near_bytes_of(args.near), flat, begun, complain))
    return 0
