"""`nearfar sweep [run] STUDY.toml|TARGET`: compute the points that the store does not have."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace

from nearfar.cli.parser import Parser
from nearfar.cli.progress import ProgressBar
from nearfar.cli.streams import complain, emit
from nearfar.cli.works import parse_work
from nearfar.errors import InputError, Interrupted
from nearfar.results.wording import counted
from nearfar.sweeping.designs import parse_design
from nearfar.sweeping.ranges import Range, parse_range
from nearfar.sweeping.study import Goal, Study, parse_goal
from nearfar.sweeping.study_file import SUFFIX, read_study, shipped
from nearfar.sweeping.sweep import LOCAL, SweepOptions, Tally, sweep


def add_arguments(parser: Parser) -> None:
    """Declare the study, or what makes one, and how it is swept."""
    parser.add_argument(
        "study",
        metavar="STUDY|TARGET",
        nargs="+",
        help="a file STUDY.toml; or targets, model:NAME or model:FILE.toml, each with "
        ",KEY=VALUE to change it",
    )
    _add_space(parser)
    parser.add_argument(
        "--store", metavar="FILE.db", help="where results lie; default NAME.db of the study"
    )
    parser.add_argument("--name", metavar="NAME", help="of the study in the store")
    parser.add_argument(
        "--on",
        metavar="ENGINE",
        default=LOCAL,
        help="local: processes of this machine (default); dask:ADDRESS: a Dask scheduler's "
        "workers; slurm:partition=NAME: job arrays of a cluster",
    )
    parser.add_argument(
        "--jobs",
        metavar="N",
        type=int,
        help="processes (local) or workers (slurm), default one for each processor, or each idle "
        "one of the partition, at most 64",
    )
    for name, about in (
        ("--replace", "the store's study of this name is replaced; its points stay"),
        ("--retry", "compute points again that have failed"),
        ("--again", "compute points again that the store has"),
        ("--quiet", "print neither progress nor what was done"),
    ):
        parser.add_argument(name, action="store_true", help=about)


def _add_space(parser: Parser) -> None:
    """What is explored, where no file says it."""
    parser.add_argument(
        "--set",
        metavar="KEY=RANGE",
        action="append",
        default=[],
        help="what varies: a model key or a {NAME} of the work; 1,2,6 or 16..256:x2, 0..90:10, "
        "1..1000:log7, 50ns..90ns:random20 (or lhs20), 50ns..90ns for a design",
    )
    parser.add_argument(
        "--for",
        dest="works",
        metavar="WORK",
        action="append",
        default=[],
        help="what is run at each point: measure, replay, validate, run or crash with their "
        "options, without the target",
    )
    parser.add_argument(
        "--figure", metavar="NAME", action="append", default=[], help="to keep and show"
    )
    parser.add_argument("--seeds", metavar="N,N...", help="of the work: each point once a seed")
    parser.add_argument(
        "--design",
        metavar="morris:R|sobol:N",
        help="points of a sensitivity analysis instead of the grid; every key a range A..B",
    )
    parser.add_argument(
        "--design-seed", metavar="N", type=int, help="of draws, designs and samplers; default 1"
    )
    parser.add_argument(
        "--minimise", metavar="FIGURE", help="points that make it small instead of the grid"
    )
    parser.add_argument(
        "--within", metavar="N|TIME", help="--minimise: points, or 90s, 20min, 2h; default 100"
    )


def run(args: argparse.Namespace) -> int:
    """Sweep; Ctrl-C keeps the points that are finished, and so does everything else."""
    study = _study(args)
    store = args.store or f"{study.name}.db"
    options = SweepOptions(args.on, args.jobs, args.replace, args.retry, args.again)
    try:
        with ProgressBar(f"sweeping {study.name}", quiet=args.quiet) as progress:
            tally = sweep(study, store, parse_work, options, progress)
    except Interrupted as stopped:
        _report(args, store, stopped.result)
        raise
    _report(args, store, tally)
    return 1 if tally.failed else 0


def _report(args: argparse.Namespace, store: str, tally: Tally) -> None:
    if not args.quiet:
        ended = tally.computed + tally.found
        failed = f", {tally.failed} failed" if tally.failed else ""
        emit(
            f"{store}: {ended} of {counted(tally.total, 'point')}, {tally.computed} computed now, "
            f"{tally.found} found{failed}\n"
        )
    if tally.failed:
        complain(
            f"{counted(tally.failed, 'point')} failed, the first: {tally.first_error}; "
            f"`nearfar sweep show {store} --failed` lists them, --retry computes them again"
        )


def _study(args: argparse.Namespace) -> Study:
    first: str = args.study[0]
    is_file = first.endswith(SUFFIX) and not first.startswith("model:")
    if not is_file:
        _check_targets(args.study)
        study = _typed(args)
    elif len(args.study) > 1:
        raise InputError(f"sweep: found {args.study[1]} behind {first}, expected one study")
    else:
        study = _changed(read_study(first), args)
    name = args.name or study.name
    return replace(study, name=name)


def _check_targets(targets: Sequence[str]) -> None:
    for one in targets:
        if ":" not in one:
            near = f"; did you mean studies/{one}.toml?" if one in shipped() else ""
            raise InputError(
                f"sweep: found '{one}', expected STUDY.toml, model:NAME, or show STORE{near}"
            )


def _typed(args: argparse.Namespace) -> Study:
    """The study of a command line without a file, named after what it is."""
    study = Study(
        name="sweep",
        targets=tuple(args.study),
        works=tuple(args.works) or _no_work(),
        ranges=_ranges(args.set),
        figures=tuple(args.figure),
        seeds=_seeds(args.seeds),
        design=None if args.design is None else parse_design(args.design),
        design_seed=1 if args.design_seed is None else args.design_seed,
        goal=_goal(args),
    )
    if study.goal is not None and study.design is not None:
        raise InputError("sweep: found both --design and --minimise, expected one of them")
    return replace(study, name=f"sweep-{study.digest()[:8]}") if not args.name else study


def _no_work() -> tuple[str, ...]:
    raise InputError("sweep: found no work, expected --for, such as --for 'measure chase'")


def _changed(study: Study, args: argparse.Namespace) -> Study:
    """A file says all of it; another space is another study."""
    for option in ("set", "works", "figure", "seeds", "design", "minimise", "within"):
        if getattr(args, option):
            spelt = "for" if option == "works" else option
            raise InputError(f"--{spelt}: found beside a study's file, expected it in the file")
    return study


def _ranges(texts: Sequence[str]) -> dict[str, Range]:
    found: dict[str, Range] = {}
    for text in texts:
        key, separator, values = text.partition("=")
        if not separator or not key:
            raise InputError(f"--set: found '{text}', expected KEY=RANGE")
        if key in found:
            raise InputError(f"--set: found {key} twice, after '{found[key].text}'")
        found[key] = parse_range(f"--set {key}", values)
    return found


def _seeds(text: str | None) -> tuple[int, ...]:
    if text is None:
        return ()
    values = parse_range("--seeds", text).values
    if not values or not all(value.isdecimal() for value in values):
        raise InputError(f"--seeds: found '{text}', expected whole numbers such as 1,2,3 or 1..5")
    return tuple(map(int, values))


def _goal(args: argparse.Namespace) -> Goal | None:
    if args.minimise is None:
        if args.within is not None:
            raise InputError("--within: found without --minimise")
        return None
    return Goal(args.minimise) if args.within is None else parse_goal(args.minimise, args.within)
