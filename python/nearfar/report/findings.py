"""Findings as text: a short table of what is known, then what is not and why."""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.report.text import table
from nearfar.results import Finding, ProbeResult
from nearfar.results.findings import IDENTIFIED
from nearfar.results.wording import number, size

_SHOWN_IDS = 3


def probe_text(result: ProbeResult) -> str:
    """Target, then one line a finding."""
    head = ""
    if result.target is not None:
        quick = ", quick" if result.pattern.get("quick") else ""
        head = f"{result.target.spec}: what is inside ({result.target.mode}{quick})\n"
    if result.interrupted:
        head += "interrupted: only the experiments that were finished count\n"
        if result.observations and not result.findings:
            return head + "nothing inferred yet\n"
    return head + findings_text(result.findings)


def findings_text(findings: Sequence[Finding]) -> str:
    """Parameter, value, interval and evidence; then the reasons of what is missing."""
    known = [one for one in findings if one.status == IDENTIFIED]
    missing = [one for one in findings if one.status != IDENTIFIED]
    text = ""
    if known:
        rows = [(one.name, value(one), interval(one), brief(one.evidence)) for one in known]
        text += table(("parameter", "value", "interval", "evidence"), rows, "<<<<")
    if missing:
        reasons = [(f"  {one.name}", because(one)) for one in missing]
        text += ("\n" if known else "") + table(("not identifiable", "because"), reasons, "<<")
    return text or "nothing to infer from\n"


def quantity(amount: float | int | str, unit: str) -> str:
    """A value with its unit, as people read it."""
    if isinstance(amount, str):
        return amount
    if unit == "B":
        return size(round(amount))
    return f"{number(amount)} {unit}".rstrip()


def value(one: Finding) -> str:
    """What was found, or a dash."""
    return "-" if one.value is None else quantity(one.value, one.unit)


def interval(one: Finding) -> str:
    """The lowest and the highest value that the observations allow; empty for a word."""
    if one.interval is None:
        return ""
    low, high = (quantity(bound, one.unit) for bound in one.interval)
    if low == high:
        return "exact"
    # "15.8 to 16.9 KiB" rather than the same unit twice; digits are grouped by spaces too.
    amount, _, unit = low.rpartition(" ")
    same = bool(amount) and unit[0].isalpha() and high.endswith(f" {unit}")
    return f"{amount if same else low} to {high}"


def because(one: Finding) -> str:
    """Why it cannot be told, with the bounds where there are some."""
    if one.interval is None or one.interval[0] == one.interval[1]:
        return one.reason
    return f"{one.reason}; {interval(one)}"


def brief(evidence: Sequence[str]) -> str:
    """The observations by prober: the first few, and how many there are."""
    by_prober: dict[str, list[str]] = {}
    for one in evidence:
        prober, _, place = one.rpartition(".")
        by_prober.setdefault(prober, []).append(place)
    shown = []
    for prober, places in by_prober.items():
        if all(place.isdecimal() for place in places):
            places.sort(key=int)
        if len(places) > _SHOWN_IDS:
            shown.append(f"{prober}.{places[0]}..{places[-1]} ({len(places)})")
        else:
            shown.append(", ".join(f"{prober}.{place}" for place in places))
    return ", ".join(shown)
