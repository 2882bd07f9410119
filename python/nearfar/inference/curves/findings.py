"""What published or saved curves say about a device: findings from observations alone.

The input is what tables and simple measurements hold: mean latencies over regions, re-reads,
and times of overwrites. Probes, which choose their accesses, have an inference of their own.
"""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.inference.curves.buffers import buffer_findings
from nearfar.inference.curves.group import Curve, curves
from nearfar.inference.curves.queues import queue_findings
from nearfar.inference.curves.wear import Median, median, stalls
from nearfar.results.findings import (
    IDENTIFIED,
    Finding,
    Observation,
    identified,
    not_identifiable,
)
from nearfar.results.wording import number

# What each family of findings takes to be told, when no experiment here shows it.
_UNSEEN = {
    "hierarchy": "needs reads after writes over a region of each level's size",
    "modules": "needs pairs of addresses at growing distances",
    "interleave": "needs pairs of addresses at growing distances",
    "fence.drains_lsq": "needs stores of parts of a unit with fences between them",
}


def infer_curves(observations: Sequence[Observation]) -> list[Finding]:
    """Findings, each with what it rests on; a family that no observation is about is absent.

    Nothing but `observations` is read: what they were measured on plays no part.
    """
    found = curves(observations)
    rereads = [one for one in observations if one.pattern.get("kind") == "reread"]
    findings = buffer_findings(found, rereads)
    findings += queue_findings(found)
    if found:
        findings += [_unseen(name, found) for name in _UNSEEN]
    return _each_once([*findings, *_migration(observations)])


def _each_once(findings: Sequence[Finding]) -> list[Finding]:
    """Of several findings of one name the first that was identified, else the first."""
    first: dict[str, Finding] = {}
    for one in findings:
        held = first.setdefault(one.name, one)
        if held.status != IDENTIFIED and one.status == IDENTIFIED:
            first[one.name] = one
    return list(first.values())


def _unseen(name: str, found: Sequence[Curve]) -> Finding:
    modules = sorted({curve.modules for curve in found if curve.modules})
    told = name == "modules" and modules
    says = f"; the table names {', '.join(map(str, modules))}" if told else ""
    return not_identifiable(name, _UNSEEN[name] + says, ())


def _migration(observations: Sequence[Observation]) -> list[Finding]:
    """Wear levelling: from timed overwrites, or from gaps and lengths that others extracted."""
    found: list[Finding] = []
    for one in observations:
        if one.pattern.get("kind") != "overwrite":
            continue
        quantity = one.pattern.get("quantity")
        if quantity == "gap":
            found.append(_period(median(one.samples or ()), one))
        elif quantity == "stall":
            found.append(_stall(median(one.samples or ()), one))
        else:
            found += _overwrites(one)
    if found:
        reason = "needs overwrites of two addresses at growing distances"
        found.append(not_identifiable("migration.block", reason, ()))
    return found


def _overwrites(one: Observation) -> list[Finding]:
    if one.events is not None:
        index, ns = [event[0] for event in one.events], [event[1] for event in one.events]
    else:
        ns = list(one.samples or ())
        index = [float(at) for at in range(len(ns))]
    events = stalls(index, ns)
    if events is None:
        reason = (
            f"fewer than four stalls of like length, 20 times the median, in {one.accesses} writes"
        )
        return [not_identifiable("migration", reason, (one.id,))]
    about = f"{len(events.at)} stalls of like length among {one.accesses} writes"
    return [
        identified("migration", "yes", about, (one.id,)),
        _period(events.period, one),
        _stall(events.length, one),
    ]


def _period(gaps: Median, one: Observation) -> Finding:
    return identified(
        "migration.period",
        gaps.value,
        f"median of {gaps.count} gaps between stalls; the first stall only starts the count",
        (one.id,),
        (gaps.low, gaps.high),
    )


def _stall(lengths: Median, one: Observation) -> Finding:
    name = "migration.stall"
    if one.pattern.get("unit", "ns") != "ns":
        about = f"{number(lengths.value)} cycles, median of {lengths.count}"
        return not_identifiable(name, f"the clock is not stated: {about}", (one.id,))
    return identified(
        name,
        lengths.value,
        f"median of {lengths.count} stalls",
        (one.id,),
        (lengths.low, lengths.high),
    )
