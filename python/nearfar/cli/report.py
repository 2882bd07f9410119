"""`nearfar report RESULT...`: a page from saved results of any kind, or a run's timeline."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from nearfar.cli.options import (
    output_path,
    write_output,
)
from nearfar.cli.parser import Parser
from nearfar.errors import InputError
from nearfar.report.documents import page
from nearfar.report.perfetto import perfetto_text
from nearfar.results import (
    Document,
    RunResult,
    load,
)


def add_arguments(parser: Parser) -> None:
    """Declare the results and the output."""
    parser.add_argument(
        "results",
        metavar="RESULT",
        nargs="+",
        help="what any command with --html wrote with --json FILE",
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE.html", type=output_path, help="the page; - is stdout"
    )
    parser.add_argument(
        "--perfetto",
        metavar="FILE.json",
        type=output_path,
        help="what a program did over time, for ui.perfetto.dev; - is stdout",
    )


def run(args: argparse.Namespace) -> int:
    """Write the page, the timeline or both."""
    if args.output is None and args.perfetto is None:
        raise InputError("report: expected -o FILE.html or --perfetto FILE.json")
    documents = [(path, load(path)) for path in args.results]
    if args.output is not None:
        write_output(args.output, page([document for _, document in documents]))
    if args.perfetto is not None:
        write_output(args.perfetto, perfetto_text(_ran(documents)))
    return 0


def _ran(documents: Sequence[tuple[str, Document]]) -> RunResult:
    """The one run; times of several would not be those of one timeline."""
    if len(documents) != 1:
        raise InputError(f"--perfetto: found {len(documents)} results, expected one run")
    path, document = documents[0]
    if not isinstance(document, RunResult):
        raise InputError(f"{path}: found schema {document.SCHEMA}, expected {RunResult.SCHEMA}")
    return document
