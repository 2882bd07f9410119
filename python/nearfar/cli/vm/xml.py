"""`nearfar vm xml --near SIZE --far FILE DOMAIN`: the lines to add to a libvirt domain."""

from __future__ import annotations

import argparse

from nearfar.cli.parser import Parser
from nearfar.cli.streams import emit
from nearfar.cli.vm.near import add_near
from nearfar.errors import check_one_of
from nearfar.tier.control import COMPRESSIONS
from nearfar.tier.machine import preloaded
from nearfar.vm.domain import lines_for


def add_arguments(parser: Parser) -> None:
    """Declare DOMAIN and the tiers."""
    parser.add_argument(
        "domain", metavar="DOMAIN", help="a file with the domain, as `virsh dumpxml` writes it"
    )
    add_near(parser, "near memory of the guest, at most")
    parser.add_argument(
        "--far",
        metavar="FILE",
        required=True,
        help="a file to be made on far memory, in a folder that QEMU's user may write to",
    )
    parser.add_argument(
        "--compress", metavar="NAME", help="compress far pages: lz4 or zstd; default: do not"
    )
    parser.epilog = (
        "The lines belong before </domain>; `virsh edit` keeps them. docs/virtual-machines.md says "
        "what QEMU's user must be permitted."
    )


def run(args: argparse.Namespace) -> int:
    """Print them."""
    if args.compress is not None:
        check_one_of("--compress", args.compress, COMPRESSIONS[1:])
    library = preloaded(heap=False)
    emit(lines_for(args.domain, args.near, args.far, args.compress, library))
    return 0
