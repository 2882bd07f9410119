"""`nearfar predict MODEL`: programs on this machine and on a model of it, time beside time."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from nearfar.cli.options import (
    STANDARD_OUTPUT,
    add_result,
    add_target,
    wants_text,
    write_json,
    write_result,
)
from nearfar.cli.parser import Parser
from nearfar.cli.progress import ProgressBar
from nearfar.cli.streams import complain, emit
from nearfar.errors import InputError, Interrupted
from nearfar.report.prediction import prediction_text
from nearfar.report.text import table
from nearfar.results import PredictionResult, load, save
from nearfar.simulate.programs.options import PAGES

if TYPE_CHECKING:
    from nearfar.predicting.predict import PredictOptions

_UNSAVED = "nearfar-predict.json"  # where an interrupted result goes that was to be saved nowhere


def add_arguments(parser: Parser) -> None:
    """Declare TARGET and the options."""
    add_target(parser, optional=True)
    parser.add_argument(
        "--programs", metavar="DIR", help="a folder with programs.toml; default: the shipped set"
    )
    parser.add_argument("--only", metavar="NAME[,NAME...]", help="these programs of the set alone")
    parser.add_argument("--list", action="store_true", help="the programs of the set; runs nothing")
    parser.add_argument(
        "--runs", metavar="N", type=int, default=7, help="native runs of each program (default 7)"
    )
    parser.add_argument(
        "--sample",
        metavar="N",
        type=int,
        default=16,
        help="one N-th of each program's steps, natively and on the model (default 16); "
        "1 takes all of them",
    )
    parser.add_argument(
        "--pages", choices=PAGES, default="small", help="4 KiB (default) or 2 MiB, on both sides"
    )
    parser.add_argument(
        "--jobs", metavar="N", type=int, help="models at a time, default one for each processor"
    )
    parser.add_argument(
        "--resume", metavar="RESULT", help="continue an interrupted prediction; takes no TARGET"
    )
    add_result(parser, "the programs' times side by side")


def run(args: argparse.Namespace) -> int:
    """Predict; Ctrl-C keeps the programs that are finished and says how to go on."""
    if args.list:
        return _list(args)
    try:
        result = _predicted(args)
    except Interrupted as stopped:
        _keep(args, stopped.result)
        raise
    _report(args, result)
    return 1 if any(one.problem for one in result.programs) else 0


def _predicted(args: argparse.Namespace) -> PredictionResult:
    from nearfar.predicting.predict import PredictOptions, predict

    if (args.target is None) == (args.resume is None):
        raise InputError("predict: expected a TARGET, such as model:here.toml, or --resume RESULT")
    before = None
    target = args.target
    options = PredictOptions(
        args.programs, _names(args.only), args.runs, args.sample, args.pages, args.jobs
    )
    if args.resume is not None:
        before = _loaded(args.resume)
        target = before.target.spec
        options = _as_before(before, args.jobs)
    with ProgressBar("predicting", quiet=args.quiet) as progress:
        return predict(target, options, before=before, progress=progress)


def _loaded(path: str) -> PredictionResult:
    before = load(path)
    if not isinstance(before, PredictionResult):
        raise InputError(f"{path}: found no prediction, expected what `predict` saved")
    return before


def _as_before(before: PredictionResult, jobs: int | None) -> PredictOptions:
    """The options of an interrupted prediction; how many models run at a time is free."""
    from nearfar.predicting.predict import PredictOptions

    names = tuple(one.name for one in before.programs)
    return PredictOptions(
        before.folder or None, names, before.runs, before.sample, before.pages, jobs
    )


def _names(only: str | None) -> tuple[str, ...]:
    return () if only is None else tuple(name.strip() for name in only.split(","))


def _list(args: argparse.Namespace) -> int:
    from nearfar.predicting.programs import programs_of

    found = programs_of(args.programs, _names(args.only))
    if wants_text(args):
        rows = [(one.name, "yes" if one.tuned else "never", one.about) for one in found]
        emit(table(("program", "tuned on", "what it does"), rows, "<<<"))
    write_json(args, [{"name": o.name, "tuned": o.tuned, "about": o.about} for o in found])
    return 0


def _keep(args: argparse.Namespace, result: PredictionResult) -> None:
    """What is finished, saved, and the command that continues."""
    finished = sum(one.ratio is not None for one in result.programs)
    begun = any(one.native_ns for one in result.programs)
    if args.json is None and begun:
        save(result, _UNSAVED)
    _report(args, result)
    file = args.json or _UNSAVED
    if begun and file != STANDARD_OUTPUT:
        count = f"{finished} of {len(result.programs)} programs"
        complain(f"{count} finished; continue with: nearfar predict --resume {file}")


def _report(args: argparse.Namespace, result: PredictionResult) -> None:
    write_result(args, result, prediction_text)
    for one in result.programs:
        if one.problem is not None:
            complain(f"{one.name}: {one.problem}")
        for note in one.notes:
            complain(f"{one.name}: {note}")
