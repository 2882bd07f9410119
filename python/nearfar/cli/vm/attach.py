"""`nearfar vm attach --flat --near SHARE --far node:N NAME`: a machine that runs already.

The command manages its guest's memory from outside QEMU until that has ended, or it is told to end.
"""

from __future__ import annotations

import argparse

from nearfar.cli.parser import Parser
from nearfar.cli.streams import complain
from nearfar.cli.tier.attach import add_placing, show
from nearfar.cli.tier.flat import flat_options, warn_of_one_node
from nearfar.cli.vm.name import add_name
from nearfar.cli.vm.near import add_near
from nearfar.tier.attach.machine import attach_settings
from nearfar.vm.attach import find_qemu, refusal, target_of


def add_arguments(parser: Parser) -> None:
    """Declare NAME and the tiers."""
    add_name(parser)
    add_near(parser, "near memory of the guest, at most")
    add_placing(parser)
    parser.epilog = (
        "The command runs for as long as the machine does. Ctrl-C, `nearfar tier detach` or its "
        "own end leave the machine running and its pages where they are. Without --flat, the "
        "command says in a line what keeps this machine from other far memory."
    )


def run(args: argparse.Namespace) -> int:
    """Manage it, or say why not; then say what was done."""
    options = flat_options(args) if args.flat else None
    if options is None:
        raise refusal(args.name)
    found = find_qemu(args.name)
    flat = attach_settings(args.far, options)
    target = target_of(found)
    from nearfar.tier.attach.run import manage

    def begun() -> None:
        warn_of_one_node(flat)
        if not args.quiet:
            complain(
                f"vm: manages the memory of {found.name} (QEMU {target.process}) from now on; "
                f"Ctrl-C, or `nearfar tier detach {target.process}`, leaves it as it is"
            )

    show(args, manage(target, args.near.of(sum(target.guest_blocks)), flat, begun, complain))
    return 0
