"""`nearfar sweep show STORE`: what a store has of a study."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace

from nearfar.cli.options import (
    STANDARD_OUTPUT,
    add_result,
    output_path,
    wants_text,
    write_files,
    write_output,
)
from nearfar.cli.parser import Parser
from nearfar.cli.streams import emit
from nearfar.errors import InputError
from nearfar.report.sweep import pareto_front, sweep_columns, sweep_csv, sweep_text
from nearfar.results import SweepResult, replacing
from nearfar.results.sweep import FAILED
from nearfar.sweeping.extras import extra
from nearfar.sweeping.show import read_result, read_sweep, relative

_MORE = "max:"


def add_arguments(parser: Parser) -> None:
    """Declare STORE and what is shown of it."""
    parser.add_argument("store", metavar="FILE", help="the store of a sweep, NAME.db")
    parser.add_argument("--study", metavar="NAME", help="of several in the store")
    parser.add_argument(
        "--figure",
        metavar="NAME",
        action="append",
        default=[],
        help="to show instead of the study's: a field of points, or a path into results",
    )
    parser.add_argument(
        "--pareto",
        metavar="FIGURE,FIGURE...",
        help="only points that no other is better than in all of these; less is better, but of "
        "max:FIGURE",
    )
    parser.add_argument(
        "--over",
        metavar="KEY=VALUE",
        help="figures over those of the points with this value and all else alike",
    )
    parser.add_argument("--failed", action="store_true", help="only points that failed")
    parser.add_argument(
        "--sensitivity", action="store_true", help="which key matters; refused without a design"
    )
    parser.add_argument("--point", metavar="ID", help="only the full result of this point, as JSON")
    parser.add_argument(
        "--csv", metavar="FILE", type=output_path, help="the table as CSV; - is standard output"
    )
    parser.add_argument(
        "--parquet", metavar="FILE", type=output_path, help="the table as Parquet, by pyarrow"
    )
    add_result(parser, "curves, heat maps and every point's result")


def run(args: argparse.Namespace) -> int:
    """Show it."""
    if args.point is not None:
        emit(read_result(args.store, args.point))
        return 0
    whole = args.html is not None or args.json is not None
    goals = _goals(args.pareto)
    figures = args.figure or [name for name, _ in goals]
    result = read_sweep(args.store, args.study, figures, whole=whole)
    if args.over is not None:
        key, separator, value = args.over.partition("=")
        if not separator:
            raise InputError(f"--over: found '{args.over}', expected KEY=VALUE")
        result = relative(result, key, value)
    result = _chosen(args, result, goals)
    if wants_text(args) and STANDARD_OUTPUT not in (args.csv, args.html):
        emit(sweep_text(result))
    if args.csv is not None:
        write_output(args.csv, sweep_csv(result))
    if args.parquet is not None:
        _write_parquet(args.parquet, result)
    write_files(args, result)
    return 0


def _chosen(
    args: argparse.Namespace, result: SweepResult, goals: Sequence[tuple[str, bool]]
) -> SweepResult:
    if args.sensitivity and result.design is None:
        raise InputError(
            f"{args.store}: study {result.study} is no design for a sensitivity analysis; sweep "
            "ranges A..B with --design morris:R or sobol:N"
        )
    if args.sensitivity and not result.sensitivity:
        missing = sum(point.state != "done" for point in result.points)
        raise InputError(
            f"{args.store}: {missing} points of study {result.study} are failed or missing, "
            "expected all of the design; finish the sweep first"
        )
    if goals:
        return replace(result, points=tuple(pareto_front(result, goals)))
    return replace(result, points=tuple(result.of_state(FAILED))) if args.failed else result


def _goals(text: str | None) -> list[tuple[str, bool]]:
    if text is None:
        return []
    parts = text.split(",")
    if len(parts) < 2:
        raise InputError(f"--pareto: found '{text}', expected two figures or more")
    return [(part.removeprefix(_MORE), part.startswith(_MORE)) for part in parts]


def _write_parquet(path: str, result: SweepResult) -> None:
    pyarrow = extra("pyarrow", "--parquet", "pyarrow")
    parquet = extra("pyarrow.parquet", "--parquet", "pyarrow")
    head, rows = sweep_columns(result)
    columns = {name: [row[at] for row in rows] for at, name in enumerate(head)}
    with replacing(path) as stream:
        parquet.write_table(pyarrow.table(columns), stream)
