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

_FEWEST_COLUMNS = 2  # of a table


def add_arguments(parser: Parser) -> None:
    """Declare the inputs."""
    parser.add_argument(
        "results",
        metavar="RESULT",
        nargs="+",
        help="what `probe` or `measure` saved, a CSV table, or output of lat_mem_rd, Intel MLC or "
        "multichase; several of one device together",
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
    """Whether a file is taken for a table or a program's output rather than a saved result."""
    suffix = Path(path).suffix.lower()
    if suffix in (".csv", ".json"):
        return suffix == ".csv"
    return not _text(path).lstrip().startswith("{")


def _text(path: str) -> str:
    """The file's text, with or without a byte-order mark. Raises InputError."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise file_error(path, error) from None
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: cannot read this table: {error}") from None


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
    from nearfar.inference.curves.raw import raw_observations
    from nearfar.inference.curves.tables import observations
    from nearfar.inference.tables import COLUMNS

    text = _text(path)
    raw = raw_observations(name, path, text)
    if raw is not None:
        return raw
    try:
        reader = csv.DictReader(text.splitlines(), delimiter=_delimiter(text))
        columns = list(reader.fieldnames or ())
        rows = list(reader)
    except csv.Error as error:
        raise InputError(f"{path}: cannot read this table: {error}") from None
    if Path(path).suffix.lower() != ".csv" and len(columns) < _FEWEST_COLUMNS:
        raise InputError(
            f"{path}: found neither a result that `probe` or `measure` saved nor output of "
            f"lat_mem_rd, Intel MLC or multichase, expected a table with the columns {COLUMNS}"
        )
    if not rows:
        raise InputError(f"{path}: found no rows, expected a header and measurements")
    for line, row in enumerate(rows, start=2):
        if None in row or None in row.values():
            raise InputError(f"{path}:{line}: expected {len(columns)} cells")
    return observations(name, columns, rows)


def _delimiter(text: str) -> str:
    """What separates the columns of a header."""
    header = text.lstrip("\r\n").partition("\n")[0]
    return max(",;\t", key=header.count)
