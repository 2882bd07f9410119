"""What a fit is given: findings about the structure, and series of measured times.

Where series are held out, what they alone show of the structure is held out with them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from nearfar.errors import InputError
from nearfar.fitting.replayed import probe_series, without
from nearfar.fitting.structure import sees_a_dimm
from nearfar.fitting.tabled import check_names, from_tables
from nearfar.model import Model
from nearfar.probing.saved import infer, is_table, unused
from nearfar.results import Document, Finding, MeasureResult, ProbeResult, load
from nearfar.results.findings import IDENTIFIED
from nearfar.simulate.validation import saved
from nearfar.simulate.validation.series import Series

Source = str | Path | Document
Shown = Callable[[Collection[str]], Sequence[Finding]]  # findings without some series, by name


@dataclass(frozen=True)
class Given:
    """Everything that the sources say."""

    sources: tuple[str, ...]
    series: tuple[Series, ...]
    shown: tuple[Shown, ...] = ()

    def findings(self, held: Sequence[Series] = ()) -> tuple[Finding, ...]:
        """The structure that all but the series `held` show, each finding once. Raises InputError
        where two sources contradict each other."""
        return _agreed(self._shown(held))

    def left_open(self, held: Sequence[Series] = ()) -> Mapping[str, str]:
        """The findings that no source could identify, with the reason that was given first."""
        shown = self._shown(held)
        known = {one.name for one in shown if one.status == IDENTIFIED}
        return {one.name: one.reason for one in reversed(shown) if one.name not in known}

    def _shown(self, held: Sequence[Series]) -> list[Finding]:
        names = {one.name for one in held}
        return [finding for one in self.shown for finding in one(names)]


def read(sources: Sequence[Source], base: Model, only: Sequence[str] = ()) -> Given:
    """Read results, tables and folders of tables, all of one device.

    Of a folder and of a table `only` names the datasets. Raises InputError naming the source that
    holds nothing to fit to, or several devices.
    """
    if not sources:
        raise InputError("fit: found no source, expected a result, a table or a folder of tables")
    check_names(only, base)
    names: list[str] = []
    shown: list[Shown] = []
    series: list[Series] = []
    devices: list[tuple[str, Document]] = []
    for source in sources:
        name = _stem(source, names)
        names.append(name)
        if isinstance(source, (str, Path)) and (Path(source).is_dir() or is_table(source)):
            tabled = from_tables(Path(source), only, base)
            shown.append(tabled.findings)
            series += tabled.series
        else:
            document = load(source) if isinstance(source, (str, Path)) else source
            devices.append((str(source) if isinstance(source, (str, Path)) else name, document))
            found, own = _from_document(document, name, str(source))
            shown.append(found)
            series += own
    _check_names(series)
    _check_one_device(devices)
    given = Given(tuple(names), tuple(series), tuple(shown))
    if not given.findings() and not series:
        raise InputError(f"{names[0]}: found nothing to fit to, expected findings or measurements")
    return given


def base_of(sources: Sequence[Source]) -> str:
    """The base of measurements for which none is named: of a machine whose probe found nothing of
    a DIMM, `dram`."""
    return "dram" if sources and all(_of_a_machine(one) for one in sources) else "nvdimm"


def _of_a_machine(source: Source) -> bool:
    if isinstance(source, (str, Path)) and (Path(source).is_dir() or is_table(source)):
        return False
    document = load(source) if isinstance(source, (str, Path)) else source
    if not isinstance(document, ProbeResult) or document.target is None:
        return False
    found = {one.name for one in document.findings if one.status == IDENTIFIED}
    return document.target.kind == "host" and not sees_a_dimm(found)


def _stem(source: Source, taken: Sequence[str]) -> str:
    stem = Path(source).stem or str(source) if isinstance(source, (str, Path)) else "result"
    return unused(stem, taken)


def _from_document(document: Document, name: str, origin: str) -> tuple[Shown, list[Series]]:
    if isinstance(document, ProbeResult):
        if not document.observations and not document.findings:
            raise InputError(f"{origin}: found a probe without observations")
        return partial(_of_probe, document, name), probe_series(document, name)
    if isinstance(document, MeasureResult):
        if not document.points:
            raise InputError(f"{origin}: found a measurement without points")
        return partial(_of_measurement, document, name), saved.series(document, name)
    raise InputError(
        f"{origin}: found schema {document.SCHEMA}, expected what `probe` or `measure` saved"
    )


def _of_probe(probe: ProbeResult, name: str, held: Collection[str]) -> Sequence[Finding]:
    left = without(probe, name, held)
    return probe.findings if left is probe else infer(left).findings


def _of_measurement(measured: MeasureResult, name: str, held: Collection[str]) -> Sequence[Finding]:
    if measured.pattern.get("kind") not in ("chase", "overwrite"):
        return ()
    if any(one.name in held for one in saved.series(measured, name)):
        return ()  # a structure is read from several of its curves together
    return infer(measured).findings


def _check_one_device(devices: Sequence[tuple[str, Document]]) -> None:
    """Raises InputError for results of two devices: of two models, or of two machines."""
    first: tuple[str, str] | None = None
    for origin, document in devices:
        if not isinstance(document, (ProbeResult, MeasureResult)):
            continue
        target, environment = document.target, document.environment
        if target is None or environment is None:
            continue
        facts = [target.kind, target.name if target.kind != "model" else ""]
        facts.append((environment.model_hash if target.kind == "model" else environment.cpu) or "")
        device = " ".join(filter(None, facts))
        if first is None:
            first = (origin, device)
        elif device != first[1]:
            raise InputError(
                f"found two devices, expected one: {first[0]} is of {first[1]}, "
                f"{origin} of {device}"
            )


def _check_names(series: Sequence[Series]) -> None:
    seen: set[str] = set()
    for one in series:
        if one.name in seen:
            raise InputError(f"{one.name}: found twice, expected each series once")
        seen.add(one.name)


def _agreed(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Each finding once. Raises InputError where two sources contradict each other."""
    first: dict[str, Finding] = {}
    for one in findings:
        if one.status != IDENTIFIED:
            continue
        before = first.setdefault(one.name, one)
        if _differ(before, one):
            raise InputError(
                f"findings contradict each other: {one.name} is {before.value} {one.unit}".rstrip()
                + f" and {one.value}; are the sources of two devices?"
            )
    return tuple(first.values())


def _differ(one: Finding, other: Finding) -> bool:
    if one.interval is None or other.interval is None:
        return one.value != other.value
    apart = one.interval[0] > other.interval[1] or other.interval[0] > one.interval[1]
    if one.unit in ("ns", "GB/s") and isinstance(one.value, (int, float)):
        # Two experiments on times agree as well as two equal machines do.
        return apart and abs(float(other.value or 0) - one.value) > _SAME * one.value
    return apart


_SAME = 0.25
