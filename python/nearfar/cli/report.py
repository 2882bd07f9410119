"""`nearfar report RESULT -o FILE.html`: a page from a saved validation."""

from __future__ import annotations

import argparse

from nearfar.cli.options import output_path, write_output
from nearfar.cli.parser import Parser
from nearfar.errors import InputError
from nearfar.report.page import validation_page
from nearfar.results import Validation, load


def add_arguments(parser: Parser) -> None:
    """Declare RESULT and the output."""
    parser.add_argument("result", metavar="RESULT", help="what `validate --json FILE` wrote")
    parser.add_argument(
        "-o", "--output", metavar="FILE.html", type=output_path, required=True, help="- is stdout"
    )


def run(args: argparse.Namespace) -> int:
    """Write the page."""
    document = load(args.result)
    if not isinstance(document, Validation):
        raise InputError(
            f"{args.result}: found schema {document.SCHEMA}, expected {Validation.SCHEMA}: "
            "a page shows a validation"
        )
    write_output(args.output, validation_page(document))
    return 0
