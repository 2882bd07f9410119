"""`nearfar fit RESULT|CSV|DIR... -o MODEL.toml`: from measurements to a model."""

from __future__ import annotations

import argparse

from nearfar.cli.options import (
    STANDARD_OUTPUT,
    add_made,
    add_result,
    wants_text,
    write_files,
    write_output,
)
from nearfar.cli.parser import Parser
from nearfar.cli.progress import ProgressBar
from nearfar.cli.streams import complain, emit
from nearfar.errors import InputError
from nearfar.report.fit import fit_text


def add_arguments(parser: Parser) -> None:
    """Declare the measurements, the base and what is held out."""
    parser.add_argument(
        "sources",
        metavar="RESULT|CSV|DIR",
        nargs="+",
        help="what `probe` or `measure` saved, a table, or a folder of tables; all of one device",
    )
    parser.add_argument(
        "--only",
        metavar="DATASET[,DATASET...]",
        help="of tables: which datasets to fit to; `nearfar validate --list` prints their names",
    )
    parser.add_argument(
        "--base",
        metavar="MODEL",
        help="whose values hold where nothing fixes one; default nvdimm, or dram for what `probe "
        "host` found",
    )
    parser.add_argument(
        "--keep", metavar="KEY", action="append", default=[], help="a key that stays the base's"
    )
    parser.add_argument(
        "--hold-out",
        metavar="SERIES[,SERIES...]|SHARE%",
        help="whole series that the fit does not look at, by name or so many of them",
    )
    parser.add_argument(
        "--folds",
        metavar="K",
        type=int,
        default=0,
        help="also fit K times to all but a Kth of the series, and say how those are predicted",
    )
    parser.add_argument(
        "--budget",
        metavar="N",
        type=int,
        default=20_000,
        help="simulations of each fit; default 20000",
    )
    parser.add_argument(
        "--jobs",
        metavar="N",
        type=int,
        help="model runs at a time, default one for each processor; the model is the same",
    )
    add_made(parser, "the model file; - is standard output")
    add_result(parser, "curves fitted and held out beside the model's")


def run(args: argparse.Namespace) -> int:
    """Fit and write the model; after Ctrl-C the same command goes on where it was."""
    from nearfar.fitting.fit import Options, fit, record_beside

    for name, value in (("budget", args.budget), ("jobs", args.jobs)):
        if value is not None and value < 1:
            raise InputError(f"{name}: found {value}, expected at least 1")
    to_file = args.output != STANDARD_OUTPUT
    options = Options(
        base=args.base,
        only=_names(args.only),
        keep=[name for text in args.keep for name in _names(text)],
        hold_out=_names(args.hold_out),
        folds=args.folds,
        budget=args.budget,
        processes=args.jobs,
        record=record_beside(args.output) if to_file else None,
    )
    try:
        with ProgressBar("fitting", quiet=args.quiet) as progress:
            made = fit(
                *args.sources,
                options=options,
                output=args.output if to_file else None,
                progress=progress,
            )
        write_output(args.output, made.text)
    except KeyboardInterrupt:
        if options.record is not None and options.record.exists():
            complain(f"what was simulated is in {options.record}; the same command goes on there")
        raise
    if options.record is not None:
        options.record.unlink(missing_ok=True)
    if wants_text(args) and to_file:
        emit(fit_text(made.result))
    write_files(args, made.result)
    return 0


def _names(text: str | None) -> list[str]:
    return [name.strip() for name in (text or "").split(",") if name.strip()]
