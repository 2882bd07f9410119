"""`nearfar tier run --near SIZE --far FILE -- PROGRAM ARGUMENT...`: a program on two tiers.

With `--backend swap` in place of `--far` the far memory is the system's swap.

The program's streams are the command's, so the report goes to standard error.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from pathlib import Path

from nearfar.cli.options import (
    add_result,
    write_files,
)
from nearfar.cli.parser import Parser
from nearfar.cli.streams import complain, reporting
from nearfar.cli.tier.flat import flat_options, warn_of_one_node
from nearfar.cli.tier.managing import (
    add_managing,
    complain_of_end,
    launch_options,
    warn_of_copies,
)
from nearfar.cli.tier.near import add_near, near_bytes_of, warn_of_much
from nearfar.errors import InputError
from nearfar.results.faults import DEFAULT_POLICY
from nearfar.simulate.programs.elf import Command, command
from nearfar.tier.control import AUTO, BEST
from nearfar.tier.flat import DAMON, FlatOptions, flat_settings
from nearfar.tier.launch import NO_DELAY
from nearfar.tier.launch import run as launch
from nearfar.tier.outcome import Outcome
from nearfar.tier.swap.outcome import SwapOutcome


def add_arguments(parser: Parser) -> None:
    """Declare the program and the tiers."""
    parser.add_argument(
        "program", metavar="PROGRAM", nargs="+", help="with its arguments, behind --"
    )
    add_near(parser, "near memory of the program and its children, at most")
    add_managing(parser, required=False)
    parser.add_argument(
        "--backend",
        choices=("uffd", "swap"),
        default="uffd",
        help="uffd (the default) manages the heap of dynamically linked programs by a preloaded "
        "library; swap, any program over the system's swap, from outside",
    )
    parser.add_argument(
        "--sigbus",
        action="store_true",
        help="each thread brings its pages in itself, in a handler of SIGBUS: faster. libc's "
        "system calls are rewritten, so that the memory they are given is near; one past libc "
        "that is given far memory fails with EFAULT",
    )
    parser.add_argument(
        "--record-faults",
        metavar="FILE",
        help="a file to be made of what the policy is told and answers, for tier replay",
    )
    add_result(parser, "what was near and far over time")


def run(args: argparse.Namespace) -> int:
    """Run the program; its exit status is the command's."""
    sys.stdout.flush()
    _check_files(args)
    flat = flat_options(args)
    program = command(args.program)
    warn_of_much(args.near)
    outcome: Outcome | SwapOutcome
    if args.backend == "swap":
        outcome = _run_swapped(args, program)
    else:
        outcome = _launch(args, program, flat)
    if not args.quiet:
        with reporting(sys.stderr):
            sys.stderr.write(outcome.text())
    with reporting(sys.stdout):
        write_files(args, dataclasses.replace(outcome.result(), program=tuple(args.program)))
    if outcome.unrecorded:
        complain(outcome.unrecorded)
    complain_of_end(outcome, "tier", "the program")
    return outcome.status


def _check_files(args: argparse.Namespace) -> None:
    """Raise InputError if the record of faults would be the far file, or be replaced by JSON."""
    if args.record_faults is None:
        return
    file = Path(args.record_faults).resolve()
    for option, other in (("--far", args.far), ("--json", args.json)):
        if other is not None and Path(other).resolve() == file:
            raise InputError(
                f"--record-faults: found {args.record_faults}, which {option} names, too; "
                "expected another file"
            )


def _launch(args: argparse.Namespace, program: Command, flat: FlatOptions | None) -> Outcome:
    if args.far is None and flat is not None:
        raise InputError("--far: found none, expected node:N with --flat")
    if args.far is None:
        raise InputError(
            "--far: found none, expected FILE, anonymous, node:N or compressed, or --backend swap"
        )
    if flat is not None and flat.detector == DAMON:
        from nearfar.tier.attach.launch import run_from_outside
        from nearfar.tier.attach.machine import attach_settings

        warn_of_one_node(attach_settings(args.far, flat))
        near = near_bytes_of(args.near)
        return run_from_outside(program.file, program.arguments, near, args.far, flat)
    if flat is not None:
        warn_of_one_node(flat_settings(args.far, flat))
    copied = warn_of_copies(args.evict, "tier", sigbus=args.sigbus)
    if copied and args.sigbus:
        raise InputError(
            "--sigbus: pages leave by being copied here, expected such that are moved "
            "(--evict move, Linux 6.8); leave one of the two out"
        )
    if args.sigbus and not args.quiet:
        complain(
            "warning: --sigbus: a system call past libc that is given far memory fails with "
            "EFAULT; without the option it waits until the memory is near"
        )
    return launch(
        program.file,
        program.arguments,
        dynamic=program.dynamic,
        near_bytes=near_bytes_of(args.near),
        far=args.far,
        options=dataclasses.replace(
            launch_options(args, flat), record_faults=args.record_faults, sigbus=args.sigbus
        ),
    )


def _run_swapped(args: argparse.Namespace, program: Command) -> SwapOutcome:
    if args.far is not None:
        raise InputError(
            f"--far: found {args.far}, expected none: the far memory of --backend swap is the "
            "system's swap"
        )
    if args.compress is not None:
        raise InputError("--compress: is for --backend uffd; swap is compressed if it is zram")
    if args.evict != BEST:
        raise InputError("--evict: is for --backend uffd; swap is the kernel's")
    if args.emulate != NO_DELAY:
        raise InputError("--emulate: is for --backend uffd; swap takes what the system's takes")
    if args.record_faults is not None:
        raise InputError("--record-faults: is for --backend uffd; swap sees no single fault")
    if args.pager_cpu != AUTO:
        raise InputError("--pager-cpu: is for --backend uffd; swap has none")
    if args.sigbus:
        raise InputError("--sigbus: is for --backend uffd; swap has the kernel serve faults")
    from nearfar.tier.swap.run import run_swapped

    policy = args.policy or DEFAULT_POLICY
    return run_swapped(program.file, program.arguments, near_bytes=args.near, policy=policy)
