"""`nearfar validate TARGET`: a model against published hardware measurements."""

from __future__ import annotations

import argparse

from nearfar.cli.options import (
    add_result,
    add_target,
    wants_text,
    write_json,
    write_result,
)
from nearfar.cli.parser import Parser
from nearfar.cli.progress import ProgressBar
from nearfar.cli.streams import emit
from nearfar.errors import InputError, Interrupted
from nearfar.report.text import coverage_text, validation_text
from nearfar.results import ValidationResult
from nearfar.simulate.validation.coverage import listed
from nearfar.simulate.validation.datasets import DATASETS, GROUPS
from nearfar.simulate.validation.validate import validate


def add_arguments(parser: Parser) -> None:
    """Declare TARGET and the options."""
    add_target(parser, optional=True)
    parser.add_argument(
        "--against",
        metavar="DATASET[,DATASET...]|DIR",
        default="demo",
        help=f"default demo; one of {', '.join((*GROUPS, *DATASETS))}, "
        "or a folder of tables of the same layout, or what `measure` or `probe` saved",
    )
    parser.add_argument(
        "--list",
        action="store_true",
        help="what there is to compare with, table by table and figure by figure; runs nothing",
    )
    parser.add_argument("--quick", action="store_true", help="ten points of each curve")
    parser.add_argument(
        "--jobs",
        metavar="N",
        type=int,
        help="model runs at a time, default one for each processor; the result is the same",
    )
    add_result(parser, "the curves")


def run(args: argparse.Namespace) -> int:
    """Validate; Ctrl-C keeps the points that are finished."""
    if args.list:
        found = listed(args.against)
        if wants_text(args):
            emit(coverage_text(found))
        write_json(args, found.to_dict())
        return 0
    from nearfar.fitting.replayed import probe_series

    if args.target is None:
        raise InputError("validate: expected a TARGET, such as model:optane-100, or --list")
    try:
        with ProgressBar("validating", quiet=args.quiet) as progress:
            validation = validate(
                args.target,
                args.against,
                quick=args.quick,
                progress=progress,
                processes=args.jobs,
                probed=probe_series,
            )
    except Interrupted as stopped:
        _report(args, stopped.result)
        raise
    _report(args, validation)
    return 0


def _report(args: argparse.Namespace, validation: ValidationResult) -> None:
    write_result(args, validation, validation_text)
