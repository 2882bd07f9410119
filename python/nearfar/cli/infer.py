"""`nearfar infer RESULT|CSV...`: what is inside a device, from saved measurements alone."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from nearfar.cli.options import add_output, emit, wants_text, write_json
from nearfar.cli.parser import Parser
from nearfar.errors import InputError, file_error
from nearfar.report.findings import probe_text
from nearfar.results import MeasureResult, Observation, ProbeResult, load


def add_arguments(parser: Parser) -> None:
    """Declare the inputs."""
    parser.add_argument(
        "results",
        metavar="RESULT",
        nargs="+",
        help="what `probe` or `measure` saved, or a CSV table; several of one device together",
    )
    add_output(parser)


def run(args: argparse.Namespace) -> int:
    """Infer; the target's name, where the file has one, is shown but plays no part."""
    result = inferred(args.results)
    if wants_text(args):
        emit(probe_text(result))
    write_json(args, result.to_dict())
    return 0


def inferred(paths: Sequence[str]) -> ProbeResult:
    """The findings of all files together. Raises InputError naming a file that has nothing."""
    from nearfar.inference.saved import findings_of

    if len(paths) == 1:
        whole = _probe(paths[0])
        if whole is not None:
            return replace(whole, findings=tuple(findings_of(whole.observations)))
    seen: list[Observation] = []
    names: dict[str, int] = {}
    for path in paths:
        stem = Path(path).stem
        names[stem] = names.get(stem, 0) + 1
        seen += _observations(path, stem if names[stem] == 1 else f"{stem}-{names[stem]}")
    return ProbeResult(
        pattern={"kind": "infer", "sources": [Path(path).name for path in paths]},
        observations=tuple(seen),
        findings=tuple(findings_of(seen)),
    )


def _probe(path: str) -> ProbeResult | None:
    if is_table(path):
        return None
    document = load(path)
    return document if isinstance(document, ProbeResult) else None


def is_table(path: str) -> bool:
    """Whether a file is taken for a CSV table rather than a saved result."""
    return Path(path).suffix.lower() == ".csv"


def _observations(path: str, name: str) -> list[Observation]:
    if is_table(path):
        return _table(path, name)
    document = load(path)
    if isinstance(document, ProbeResult):
        return list(document.observations)
    if isinstance(document, MeasureResult):
        from nearfar.inference.curves.results import observations

        found = observations(name, document)
        if found:
            return found
        raise InputError(
            f"{path}: found a measurement of kind '{document.pattern.get('kind')}' without points "
            "to infer from, expected a chase or an overwrite"
        )
    raise InputError(f"{path}: found schema {document.SCHEMA}, expected {MeasureResult.SCHEMA}")


def _table(path: str, name: str) -> list[Observation]:
    from nearfar.inference.curves.tables import observations

    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.DictReader(stream)
            columns = list(reader.fieldnames or ())
            rows = list(reader)
    except OSError as error:
        raise file_error(path, error) from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: cannot read this table: {error}") from None
    if not rows:
        raise InputError(f"{path}: found no rows, expected a header and measurements")
    for line, row in enumerate(rows, start=2):
        if None in row or None in row.values():
            raise InputError(f"{path}:{line}: expected {len(columns)} cells")
    return observations(name, columns, rows)
