"""What saved measurements say: findings from files alone, and two files side by side."""

from __future__ import annotations

import csv
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

from nearfar.errors import InputError, file_error
from nearfar.results import (
    ComparisonResult,
    Document,
    Finding,
    MeasureResult,
    Observation,
    ProbeResult,
    ReplayResult,
    RunResult,
    load,
)
from nearfar.results import comparison as side_by_side
from nearfar.results.compared_replays import compared_model, replay_samples
from nearfar.results.compared_runs import run_samples
from nearfar.results.comparison import Sample, Side, observation_sample, point_sample

Source = str | Path | Document
_FEWEST_COLUMNS = 2  # of a table


def infer(*sources: Source) -> ProbeResult:
    """Findings from measurements alone, all of one device: what is inside it.

    A source is a file, or a result in memory: what `probe` or `measure` returned or saved, or a
    CSV table of measurements. The findings are those of `probe`, with their units and intervals;
    what cannot be told has its reason. Nothing of a source but its observations is read.

    Raises InputError naming the source that holds nothing to infer from, and for none at all.
    """
    if not sources:
        raise InputError("infer: found no source, expected a result or a table")
    if len(sources) == 1:
        whole = _document(sources[0])
        if isinstance(whole, ProbeResult):
            return replace(whole, findings=tuple(_findings_of(whole.observations)))
    seen: list[Observation] = []
    names: list[str] = []
    for source in sources:
        names.append(unused(Path(_name(source)).stem, names))
        seen += _observations(source, names[-1])
    return ProbeResult(
        pattern={"kind": "infer", "sources": [Path(_name(source)).name for source in sources]},
        observations=tuple(seen),
        findings=tuple(_findings_of(seen)),
    )


def compare(a: Source, b: Source) -> ComparisonResult:
    """Two results side by side: which parameters and points differ by more than their noise.

    A source is a file, or a result in memory: what `probe`, `infer`, `measure`, `run` or `replay`
    returned or saved, the statistics of a host of the library, or a CSV table. `noise` of a point
    is relative; `a` and `b` are in its `unit`.

    Raises InputError naming the source that cannot be compared.
    """
    documents = [_document(source) for source in (a, b)]
    sides, findings, samples = zip(*map(_side, (a, b), documents), strict=True)
    compared = side_by_side.compare(sides[0], sides[1], findings, samples)
    first, second = documents
    if isinstance(first, ReplayResult) and isinstance(second, ReplayResult):
        return replace(compared, parameters=(compared_model(first, second),))
    return compared


def unused(name: str, taken: Collection[str]) -> str:
    """The name, or the first of NAME-2, NAME-3... that is not taken."""
    numbered = (f"{name}-{number}" for number in count(2))
    return name if name not in taken else next(one for one in numbered if one not in taken)


def is_table(path: str | Path) -> bool:
    """Whether a file is taken for a table or a program's output rather than a saved result."""
    suffix = Path(path).suffix.lower()
    if suffix in (".csv", ".json"):
        return suffix == ".csv"
    return not _text(path).lstrip().startswith("{")


def _text(path: str | Path) -> str:
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


def _document(source: Source) -> Document | None:
    """The result that a source is or holds; None for a table."""
    if not isinstance(source, (str, Path)):
        return source
    return None if is_table(source) else load(source)


def _name(source: Source) -> str:
    if isinstance(source, (str, Path)):
        return str(source)
    target = getattr(source, "target", None)
    return "result" if target is None else target.name


def _findings_of(observations: Sequence[Observation]) -> list[Finding]:
    from nearfar.probing.findings import findings_of

    return findings_of(observations)


def _observations(source: Source, name: str) -> list[Observation]:
    if isinstance(source, (str, Path)) and is_table(source):
        return _table(source, name)
    document = _document(source)
    assert document is not None
    if isinstance(document, ProbeResult):
        return list(document.observations)
    if isinstance(document, MeasureResult):
        from nearfar.inference.curves.results import observations

        found = observations(name, document)
        if found:
            return found
        raise InputError(
            f"{_name(source)}: found a measurement of kind '{document.pattern.get('kind')}' "
            "without points to infer from, expected a chase or an overwrite"
        )
    raise InputError(
        f"{_name(source)}: found schema {document.SCHEMA}, expected {MeasureResult.SCHEMA}"
    )


def _table(path: str | Path, name: str) -> list[Observation]:
    from nearfar.inference.curves.raw import raw_observations
    from nearfar.inference.curves.tables import observations
    from nearfar.inference.tables import COLUMNS

    text = _text(path)
    raw = raw_observations(name, str(path), text)
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


def _side(
    source: Source, document: Document | None
) -> tuple[Side, Sequence[Finding], Sequence[Sample]]:
    """Everything that the source has: its findings, and its points."""
    name = Path(_name(source)).name
    if document is None or _is_chase(document):
        probe = infer(source if document is None else document)
        target = document.target if isinstance(document, MeasureResult) else None
        return Side(name, target), probe.findings, _observed(probe)
    if isinstance(document, ProbeResult):
        return Side(name, document.target), document.findings, _observed(document)
    if isinstance(document, MeasureResult):
        found = [point_sample(point) for point in document.points]
        return Side(name, document.target), (), [one for one in found if one is not None]
    if isinstance(document, RunResult):
        return Side(name, document.target), (), run_samples(document)
    if isinstance(document, ReplayResult):
        return Side(name, document.target), (), replay_samples(document)
    raise InputError(
        f"{_name(source)}: found schema {document.SCHEMA}, "
        f"expected {MeasureResult.SCHEMA} or {RunResult.SCHEMA}"
    )


def _is_chase(document: Document) -> bool:
    return isinstance(document, MeasureResult) and document.pattern.get("kind") == "chase"


def _observed(result: ProbeResult) -> list[Sample]:
    found = [observation_sample(one) for one in result.observations]
    return [one for one in found if one is not None]
