"""Whether the value that is written matters: memory that compares first would write less.

The same lines are written with values that differ from what they replace in none to all of
their bits. Where bits are compared, the time goes with the share that changes. The null test
shuffles the values: what noise alone makes of the slope bounds what may have been missed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nearfar.inference.noise import CHANCE, Floats
from nearfar.results.findings import Finding, Observation, identified, not_identifiable

NAME = "ict.value"

_LINE = 64
_SHUFFLES = 999
_LEAST_VALUES = 5  # of one operation: fewer have too few orders to shuffle
_SEEN = 0.10  # of the time: a smaller effect than this would have been seen, or nothing is said


def finding(seen: Sequence[Observation]) -> Finding:
    """The finding, from the points that wrote a value over another."""
    written = [one for one in seen if "value" in one.pattern and "held" in one.pattern]
    if not written:
        return not_identifiable(NAME, "a model's memory holds nothing that stores could meet", ())
    ids = [one.id for one in written]
    curves = [
        _curve([one for one in written if one.pattern["op"] == op])
        for op in dict.fromkeys(one.pattern["op"] for one in written)
    ]
    if min(len(changed) for changed, _ in curves) < _LEAST_VALUES:
        return not_identifiable(NAME, "too few values were written", ids)
    effect = _effect(curves)
    shuffled = _shuffled(curves)
    noise = float(np.quantile(np.abs(shuffled), 1 - CHANCE))
    low, high = effect - noise, effect + noise
    about = (
        f"changing every bit of a line costs {effect:+.1%} ({low:+.1%} to {high:+.1%}) of the "
        f"time of changing none, over {len(written)} values and operations"
    )
    if abs(effect) > noise:
        return identified(NAME, "yes", f"more than shuffled values show; {about}", ids)
    if noise > _SEEN:
        return not_identifiable(NAME, f"too noisy to exclude {_SEEN:.0%}; {about}", ids)
    reason = f"no comparison of data seen: no more than shuffled values show; {about}"
    return identified(NAME, "no", reason, ids)


def _curve(written: Sequence[Observation]) -> tuple[Floats, Floats]:
    """Shares of bits that changed, and the times relative to their mean."""
    changed = np.array([_changed(one.pattern["value"], one.pattern["held"]) for one in written])
    times = np.array([one.ns_per_access for one in written], dtype=np.float64)
    return changed, times / times.mean()


def _changed(value: str, held: str) -> float:
    """The share of a line's bits in which two values differ."""
    both = zip(_line(value), _line(held), strict=True)
    return sum((one ^ other).bit_count() for one, other in both) / (8 * _LINE)


def _line(value: str) -> bytes:
    part = bytes.fromhex(value.removeprefix("0x"))
    return part * (_LINE // len(part))


def _effect(curves: Sequence[tuple[Floats, Floats]]) -> float:
    """The least-squares slope of relative time over the share of bits, all operations alike."""
    centred = [(changed - changed.mean(), times) for changed, times in curves]
    spread = sum(float(changed @ changed) for changed, _ in centred)
    return sum(float(changed @ times) for changed, times in centred) / max(spread, 1e-12)


def _shuffled(curves: Sequence[tuple[Floats, Floats]]) -> Floats:
    rng = np.random.default_rng(0)
    return np.array(
        [
            _effect([(changed, rng.permutation(times)) for changed, times in curves])
            for _ in range(_SHUFFLES)
        ]
    )
