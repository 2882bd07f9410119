"""`nearfar compare A B`: two results side by side, and what differs by more than noise."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from nearfar.cli.infer import inferred, is_table
from nearfar.cli.options import add_output, emit, wants_text, write_json
from nearfar.cli.parser import Parser
from nearfar.errors import InputError
from nearfar.report.comparison import comparison_text
from nearfar.results import Finding, MeasureResult, ProbeResult, RunResult, load
from nearfar.results.compared_runs import run_samples
from nearfar.results.comparison import (
    Sample,
    Side,
    compare,
    observation_sample,
    point_sample,
)


def add_arguments(parser: Parser) -> None:
    """Declare both sides."""
    about = "what probe, infer, measure or run saved, or a CSV table"
    parser.add_argument("a", metavar="A", help=about)
    parser.add_argument("b", metavar="B", help="the other: after, or the model")
    parser.add_argument("--all", action="store_true", help="show points within noise too")
    add_output(parser)


def run(args: argparse.Namespace) -> int:
    """Compare; a difference is a result, not a failure."""
    sides, findings, samples = zip(*(_read(path) for path in (args.a, args.b)), strict=True)
    comparison = compare(sides[0], sides[1], findings, samples)
    if wants_text(args):
        emit(comparison_text(comparison, args.all))
    write_json(args, comparison.to_dict())
    return 0


def _read(path: str) -> tuple[Side, Sequence[Finding], Sequence[Sample]]:
    """Whatever the file has: its findings, and its points."""
    name = Path(path).name
    document = None if is_table(path) else load(path)
    if document is None or _chase(document):
        probe = inferred([path])
        target = document.target if isinstance(document, MeasureResult) else None
        return Side(name, target), probe.findings, _observed(probe)
    if isinstance(document, ProbeResult):
        return Side(name, document.target), document.findings, _observed(document)
    if isinstance(document, MeasureResult):
        found = [point_sample(point) for point in document.points]
        return Side(name, document.target), (), [one for one in found if one is not None]
    if isinstance(document, RunResult):
        return Side(name, document.target), (), run_samples(document)
    raise InputError(
        f"{path}: found schema {document.SCHEMA}, "
        f"expected {MeasureResult.SCHEMA} or {RunResult.SCHEMA}"
    )


def _chase(document: object) -> bool:
    return isinstance(document, MeasureResult) and document.pattern.get("kind") == "chase"


def _observed(result: ProbeResult) -> list[Sample]:
    found = [observation_sample(one) for one in result.observations]
    return [one for one in found if one is not None]
