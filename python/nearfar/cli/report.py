"""`nearfar report RESULT... -o FILE.html`: a page from saved results of any kind."""

from __future__ import annotations

import argparse

from nearfar.cli.options import output_path, write_output
from nearfar.cli.parser import Parser
from nearfar.errors import InputError
from nearfar.report.documents import page
from nearfar.results import Crashed, Ran, Replayed, load


def add_arguments(parser: Parser) -> None:
    """Declare the results and the output."""
    parser.add_argument(
        "results",
        metavar="RESULT",
        nargs="+",
        help="what probe, infer, measure or validate wrote with --json FILE",
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE.html", type=output_path, required=True, help="- is stdout"
    )


def run(args: argparse.Namespace) -> int:
    """Write the page."""
    documents = []
    for path in args.results:
        document = load(path)
        if isinstance(document, (Replayed, Crashed, Ran)):
            raise InputError(
                f"{path}: found schema {document.SCHEMA}: a page shows probes, measurements and "
                "validations"
            )
        documents.append(document)
    write_output(args.output, page(documents))
    return 0
