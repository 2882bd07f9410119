"""`nearfar run TARGET -- PROGRAM ARGUMENT...`: a real program on a simulated machine.

The program's streams are the command's, so the report goes to standard error.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace

from nearfar._lists import DETECTORS
from nearfar.cli.options import (
    add_result,
    add_target,
    quantity,
    write_files,
)
from nearfar.cli.parser import Parser
from nearfar.cli.streams import complain, emit, reporting
from nearfar.model.units import BYTES, COUNT, TIME
from nearfar.report.run import run_text
from nearfar.simulate.programs.guest import REGION_BEGIN, REGION_END
from nearfar.simulate.programs.options import CORES, PAGES, RunOptions
from nearfar.simulate.programs.places import POLICIES
from nearfar.simulate.programs.qemu import QEMU, include_folder
from nearfar.simulate.programs.run import run as run_program
from nearfar.simulate.programs.sampled import AUTO, WARM, WINDOW
from nearfar.simulate.programs.system import run_system


class _PrintInclude(argparse.Action):
    """As --version: prints, and nothing else happens."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        emit(f"{include_folder()}\n")
        parser.exit()


def _sample(text: str) -> int | str:
    return text if text == AUTO else quantity(COUNT)(text)


def add_program(parser: Parser) -> None:
    """Declare TARGET, PROGRAM and how it is run."""
    add_target(parser)
    parser.add_argument(
        "program", metavar="PROGRAM", nargs="+", help="with its arguments, behind --"
    )
    parser.add_argument(
        "--core",
        choices=CORES,
        help="what executes: a window of instructions, or one after the other (default: the "
        "model's cpu.core.kind); count simulates no memory, an instruction a cycle",
    )
    parser.add_argument(
        "--place",
        metavar="WHERE",
        default="far",
        help="where pages lie: near, far (default), interleave, or as a policy says; "
        + "; ".join(f"{family}:NAME with {', '.join(names)}" for family, names in POLICIES.items()),
    )
    parser.add_argument(
        "--near", metavar="SIZE", type=quantity(BYTES), help="of near memory at most so much"
    )
    parser.add_argument(
        "--interval",
        metavar="TIME",
        type=quantity(TIME),
        help="between decisions of a policy that exchanges pages (default: the model's "
        "run.interval)",
    )
    parser.add_argument(
        "--pairs",
        metavar="N",
        type=int,
        help="that change places in a decision, at most (default: the model's run.pairs)",
    )
    parser.add_argument(
        "--detector",
        metavar="NAME",
        help=f"of {', '.join(DETECTORS)} (default: the model's run.detector)",
    )
    parser.add_argument("--pages", choices=PAGES, default="small", help="4 KiB (default) or 2 MiB")
    parser.add_argument(
        "--pmem", metavar="DIR", help="files below DIR that the program maps are persistent: far"
    )
    parser.add_argument(
        "--roi",
        action="store_true",
        help="only between NEARFAR_ROI_BEGIN and NEARFAR_ROI_END of nearfar.h",
    )
    for name, about in (
        ("skip", "pass over the first N instructions of each program, such as 100M"),
        ("warm", "simulate the next N without counting them"),
        ("run", "count N; then the program goes on unmeasured (default: all that are left)"),
    ):
        parser.add_argument(f"--{name}", metavar="N", type=quantity(COUNT), help=about)
    parser.add_argument(
        "--qemu", metavar="PROGRAM", default=QEMU, help=f"QEMU's user mode (default {QEMU})"
    )


def program_options(args: argparse.Namespace) -> RunOptions:
    """What add_program() declared, as the functions that run programs take it."""
    return RunOptions(
        core=args.core,
        place=args.place,
        pages=args.pages,
        near_bytes=args.near,
        interval_ps=args.interval,
        pairs=args.pairs,
        detector=args.detector,
        persistent=args.pmem,
        regions_only=args.roi,
        skip=args.skip or 0,
        warm=args.warm,
        measured=args.run,
        qemu=args.qemu,
    )


def add_arguments(parser: Parser) -> None:
    """Declare TARGET, PROGRAM and the options."""
    add_program(parser)
    parser.add_argument(
        "--sample",
        metavar="N|auto",
        type=_sample,
        help="estimate the whole program from windows: one of N, or as many as it takes; each has "
        f"--run instructions (default {WINDOW:,}) behind --warm (default {WARM:,})",
    )
    parser.add_argument(
        "--system",
        action="store_true",
        help="PROGRAM is qemu-system-x86_64: its guest, a whole machine of one processor, is what "
        f"runs; --roi is then between the lines '{REGION_BEGIN.decode()}' and "
        f"'{REGION_END.decode()}' on QEMU's output",
    )
    parser.add_argument(
        "--include",
        action=_PrintInclude,
        nargs=0,
        help="print the folder of nearfar.h, for the compiler's -I, and do nothing else",
    )
    add_result(parser, "where the time went and what memory did")


def run(args: argparse.Namespace) -> int:
    """Run the program; its exit status is the command's."""
    sys.stdout.flush()
    options = replace(program_options(args), sample=args.sample)
    run_it = run_system if args.system else run_program
    ran = run_it(args.target, args.program, options)
    if not args.quiet:
        with reporting(sys.stderr):
            sys.stderr.write(run_text(ran))
        for note in ran.notes:
            complain(note)
    with reporting(sys.stdout):
        write_files(args, ran)
    return ran.exit_code
