"""`nearfar vm run --near SIZE --far FILE -- qemu-system-x86_64 ...`: a machine on two tiers.

The guest's streams are the command's, so the report goes to standard error.
"""

from __future__ import annotations

import argparse
import dataclasses
import shutil
import sys

from nearfar.cli.options import add_result, write_files
from nearfar.cli.parser import Parser
from nearfar.cli.streams import reporting
from nearfar.cli.tier.flat import flat_options, warn_of_one_node
from nearfar.cli.tier.managing import (
    add_managing,
    complain_of_end,
    launch_options,
    warn_of_copies,
)
from nearfar.cli.tier.near import warn_of_much
from nearfar.cli.vm.near import add_near
from nearfar.errors import InputError
from nearfar.simulate.programs.elf import command
from nearfar.tier.flat import flat_settings
from nearfar.vm.launch import Qemu, run_machine
from nearfar.vm.words import GET_QEMU, QEMU, is_qemu


def add_arguments(parser: Parser) -> None:
    """Declare QEMU and the tiers."""
    parser.add_argument(
        "program", metavar="QEMU", nargs="+", help=f"{QEMU} with its arguments, behind --"
    )
    add_near(parser, "near memory of the guest, at most")
    add_managing(parser, required=True)
    parser.set_defaults(backend="uffd", sigbus=False, record_faults=None)  # as `tier run` has them
    add_result(parser, "what was near and far over time")
    parser.epilog = (
        "The guest's memory alone is managed; what QEMU has for itself is not counted. The machine "
        "gets a QMP socket of nearfar's beside those that it has."
    )


def run(args: argparse.Namespace) -> int:
    """Run the machine; QEMU's exit status is the command's."""
    sys.stdout.flush()
    flat, qemu = flat_options(args), _found(args.program)
    if flat is not None:
        warn_of_one_node(flat_settings(args.far, flat))
    warn_of_copies(args.evict, "vm")
    if isinstance(args.near.amount, int):  # a share of a guest is refused where that is too large
        warn_of_much(args.near.amount)
    outcome = run_machine(qemu, args.near, args.far, launch_options(args, flat))
    if not args.quiet:
        with reporting(sys.stderr):
            sys.stderr.write(outcome.text("vm"))
    with reporting(sys.stdout):
        write_files(args, dataclasses.replace(outcome.result(), program=tuple(args.program)))
    complain_of_end(outcome, "vm", "QEMU")
    return outcome.status


def _found(words: list[str]) -> Qemu:
    """The QEMU that `words` name. Raises InputError if it is not there, or is no QEMU."""
    if not is_qemu(words[0]):
        raise InputError(f"found the program {words[0]}, expected {QEMU} and its arguments")
    if shutil.which(words[0]) is None:
        raise InputError(f"{words[0]} is not there; to get it: {GET_QEMU}")
    program = command(words)
    return Qemu(program.file, program.arguments, program.dynamic)
