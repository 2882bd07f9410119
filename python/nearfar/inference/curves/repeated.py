"""Levels from a walk that repeats one region: it hits until the region no longer fits.

A curve alone says how many levels there are at least. It says how many there are exactly only
where another could not have stayed unseen: regions from below any first cache to far beyond the
last rise, points close together, little noise, nothing that may be translation, and no sign of a
prefetcher. Where a rise may stand for no level or for two, those behind it have no certain number,
and their bounds hold whatever may have it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log2

import numpy as np

from nearfar.inference.curves.ascents import Ascent, Ascents, ascents
from nearfar.inference.curves.group import Curve
from nearfar.inference.curves.size import Size, fitted_size
from nearfar.inference.noise import Floats
from nearfar.results.findings import Finding, identified, not_identifiable
from nearfar.results.wording import number, size

MOST_LEVELS = 8  # more than any machine has one behind the other
SMALLEST = 8 << 10  # no first cache is smaller
_LARGEST_FIRST = 192 << 10  # nor larger
_APART = 0.45  # octaves between neighbouring points, at most
_NOISE = 0.015
_BEYOND = 8.0  # times the end of the last rise
_FLATTENED = 15.0  # memory over the first cache: less where a prefetcher was at work
_SHARP = 2.6  # the end of a ramp over its beginning: behind a slower one latencies still grow
_VAGUE = 1.15  # an interval whose ends differ by more is no answer
_PAGES = 64 << 10  # larger regions may pay for translation


def repeated_findings(curve: Curve) -> list[Finding]:
    """`levels`, and of each level that there is at least its capacity and latency."""
    seen = ascents(curve.region, curve.values, curve.timed)
    order = _with_unseen(curve, seen)
    findings = [_levels(curve, seen)]
    for at in range(1, sum(step.least for step in order) + 1):
        findings += _level(curve, order, at, seen.noise)
    return findings


def lacking(curve: Curve, seen: Ascents) -> list[str]:
    """Why another level might have stayed unseen, or one of these be none; empty if not."""
    region, noise = curve.region, seen.noise
    why = []
    if len(region) < 3:
        return ["fewer than three regions"]
    if region[0] > SMALLEST:
        why.append(f"no region below {size(int(region[0]))} was walked")
    apart = float(np.max(np.diff(np.log2(region[region >= SMALLEST / 2])), initial=0.0))
    if apart > _APART:
        why.append(f"neighbouring regions are up to {2**apart:.2g} times apart")
    if noise > _NOISE:
        why.append(f"points scatter by {100 * noise:.1f} %")
    end = max((step.end for step in seen.found if step.clear), default=SMALLEST)
    if region[-1] < _BEYOND * end:
        why.append(f"no region beyond {size(int(region[-1]))} was walked")
    if any(step.most > step.least for step in seen.sure):
        why.append("a rise spans more than an octave")
    return why + ([] if _undisguised(curve, seen) else [_PREFETCHED])


_PREFETCHED = "a prefetcher may have hidden levels: needs loads in random order, or none of these"


def _undisguised(curve: Curve, seen: Ascents) -> bool:
    """Whether no prefetcher can have flattened the curve: loads alone are prefetched."""
    if curve.op != "load":
        return True
    first = min((step.low for step in seen.sure), default=np.inf)
    return curve.order == "random" and first <= _LARGEST_FIRST and not _flattened(curve)


def _flattened(curve: Curve) -> bool:
    return curve.op == "load" and curve.values[-1] < _FLATTENED * float(np.min(curve.values))


def not_counted(seen: Ascents) -> str:
    """The rises that are not counted, each with its reason; empty where there is none."""
    return "; ".join(
        f"not counted: {size(int(step.last))} to {size(int(step.first))}, {step.reason}"
        for step in seen.doubtful
    )


def _levels(curve: Curve, seen: Ascents) -> Finding:
    least = sum(step.least for step in seen.sure)
    why = lacking(curve, seen)
    rises = ", ".join(f"{size(int(one.last))} to {size(int(one.first))}" for one in seen.sure)
    about = f"{least} rises above the noise ({rises})" if rises else "no rise above the noise"
    told = not_counted(seen)
    evidence = tuple(one for step in seen.sure for one in curve.evidence(step.last, step.first))
    evidence = evidence or curve.evidence(0, float("inf"))
    if not why and all(not step.most for step in seen.doubtful):
        return identified("levels", least, "; ".join(filter(None, (about, told))), evidence)
    reason = "; ".join(
        filter(None, (f"at least {least}: {about}", f"others may be unseen: {', '.join(why)}"
                      if why else "", told))
    )  # fmt: skip
    return not_identifiable("levels", reason, evidence, (least, max(MOST_LEVELS, least)))


def _with_unseen(curve: Curve, seen: Ascents) -> list[Ascent]:
    """The rises, and where a level may lie that none is seen of."""
    order = list(seen.found)
    clear = [step for step in order if step.clear]
    front = clear[0].last if clear else float(curve.region[-1])
    if curve.region[0] > SMALLEST or (curve.op == "load" and front > _LARGEST_FIRST):
        order.append(_unseen(64.0, max(front, float(curve.region[0]))))
    if _flattened(curve):
        edges = [SMALLEST, *(edge for step in clear for edge in (step.last, step.end))]
        edges.append(float(curve.region[-1]))
        order += [
            _unseen(low, high)
            for low, high in zip(edges[::2], edges[1::2], strict=True)
            if high > low
        ]
    return sorted(order, key=lambda step: (step.last, step.end))


def _unseen(low: float, high: float) -> Ascent:
    return Ascent(low, high, high, low, high, 0.0, 0.0, 0, 1, "", clear=False)


def _candidates(order: Sequence[Ascent], at: int) -> list[Ascent]:
    """The rises that may be those of level `at`."""
    found, least, most = [], 0, 0
    for step in order:
        most += step.most
        if least < at <= most and step.most:
            found.append(step)
        least += step.least
    return found


def _level(curve: Curve, order: Sequence[Ascent], at: int, noise: float) -> list[Finding]:
    name = f"buffer.{at}.capacity"
    candidates = _candidates(order, at)
    low, high = min(one.low for one in candidates), max(one.high for one in candidates)
    step = max(candidates, key=lambda one: one.least)
    ids = curve.evidence(low, high)
    about = f"first rise between {size(int(step.last))} and {size(int(step.first))}"
    if len(candidates) > 1 or step.most > 1:
        why = f"{about}: which level ends there is not certain, or how many do"
        return [not_identifiable(name, why, ids, (low, high)),
                *_latency(curve, None, order, at, noise)]  # fmt: skip
    fit = fitted_size(*_around(curve, order, step), (step.low, step.high), noise)
    return [_capacity(name, about, step, fit, ids), *_latency(curve, step, order, at, noise)]


def _around(curve: Curve, order: Sequence[Ascent], step: Ascent) -> tuple[Floats, Floats]:
    """The points of the plateau before a rise, of its ramp and of the plateau behind."""
    before = max((one.end for one in order if one.clear and one.end <= step.last), default=0.0)
    behind = min((one.last for one in order if one.clear and one.last >= step.end), default=np.inf)
    low, high = max(before, step.last / 8), min(behind, step.end * 8)
    inside = (curve.region >= low) & (curve.region <= high)
    return curve.region[inside], curve.values[inside]


def _capacity(
    name: str, about: str, step: Ascent, fit: Size | None, ids: tuple[str, ...]
) -> Finding:
    bounds = (step.low, step.high)
    if fit is None:
        why = f"{about}: no cache that is walked so explains the points, or too few lie on the ramp"
        return not_identifiable(name, f"{why}: needs regions in between", ids, bounds)
    told = f"{about}; walks of caches of {size(round(fit.low))} to {size(round(fit.high))} fit to "
    told += f"{100 * fit.error:.1f} %"
    if fit.high > _VAGUE * fit.low:
        return not_identifiable(name, f"{told}: needs regions in between", ids, bounds)
    return identified(name, fit.value, told, ids, (fit.low, fit.high))


def _latency(
    curve: Curve, step: Ascent | None, order: Sequence[Ascent], at: int, noise: float
) -> list[Finding]:
    """The time of the plateau before the rise of level `at`, if that is certain."""
    if not curve.timed:
        return []
    name = f"buffer.{at}.latency"
    if step is None:
        return [not_identifiable(name, "which level ends where is not certain", ())]
    before = [one for one in order if one.clear and one.end <= step.last]
    start = before[-1].end if before else float(curve.region[0])
    plateau = curve.values[(curve.region >= start) & (curve.region <= step.last)]
    ids = curve.evidence(start, step.last)
    if before and (_flattened(curve) or (curve.op == "load" and curve.order != "random")):
        why = "a prefetcher may have hidden a part of it: needs loads in random order"
        return [not_identifiable(name, why, ids)]
    if before and before[-1].end > _SHARP * before[-1].last:
        why = "the rise before is so slow that the plateau may not have been reached"
        return [not_identifiable(name, why, ids)]
    if len(plateau) < 2 or log2(step.last / start) < 1:
        return [not_identifiable(name, "the plateau has too few points", ids)]
    value = float(np.median(plateau))
    error = exp(3 * noise / len(plateau) ** 0.5)
    low, high = np.percentile(plateau, [2.5, 97.5])
    bounds = (float(min(low, value / error)), float(max(high, value * error)))
    about = "median of the plateau"
    if step.last > _PAGES and before:
        about += f" from {size(int(start))}, {number(value)} ns, address translation included"
    return [identified(name, round(value, 2), about, ids, bounds)]
