"""The two queues that stores meet, from the store curve of 64 B blocks.

Regions are stored one after the other, each in random order and ended by a fence. Up to the
write pending queue's size a whole region waits in it and costs the fence alone; each further
line then costs what the device takes for it: the time of a region has a hinge. A device that
writes units larger than a line combines lines of the same unit that wait together; how many
it writes for a line, simulated for every queue length, fits only one length.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LINE = 64
_HINGE_UP_TO = 2048  # bytes: before combining begins to fail
_HINGE_POINTS = 8
_HINGE_BEND = 2.0  # the slope behind the hinge over the slope before it, at least
_HINGE_ERROR = 0.03  # of a region's time: a worse fit is no hinge
_RESAMPLES = 400
_WINDOW_STEP = 1.08
_WINDOW_POINTS = 28
_WINDOW_LINES = 16_000  # stores simulated for a point
_WINDOW_ERROR = 0.06


@dataclass(frozen=True)
class Estimate:
    """Lines, with the central 95 % of the resampled fits, and the fit's relative error."""

    value: float
    low: float
    high: float
    error: float


def hinge(region: Floats, values: Floats) -> Estimate | None:
    """Lines at which a region's time begins to grow; None where no hinge explains it."""
    chosen = region <= _HINGE_UP_TO
    lines = region[chosen] / LINE
    time = values[chosen] * lines
    if len(lines) < _HINGE_POINTS:
        return None
    places = np.arange(lines[1], lines[-2] + 0.01, 0.05)
    shapes = [np.column_stack([np.ones_like(lines), lines, _beyond(lines, at)]) for at in places]
    bases = np.array([np.linalg.qr(shape / time[:, None])[0] for shape in shapes])
    at = _nearest(bases, np.ones((len(lines), 1)))[0]
    weights = np.linalg.lstsq(shapes[at] / time[:, None], np.ones(len(lines)), rcond=None)[0]
    off = 1 - shapes[at] @ weights / time
    error = float(np.sqrt(np.mean(off**2)))
    before, after = weights[1], weights[1] + weights[2]
    if error > _HINGE_ERROR or after < _HINGE_BEND * max(before, after / 100):
        return None
    rng = np.random.default_rng(0)
    targets = (1 - off)[:, None] + rng.choice(off, size=(len(off), _RESAMPLES))
    low, high = np.percentile(places[_nearest(bases, targets)], [2.5, 97.5])
    return Estimate(float(places[at]), float(low), float(high), error)


def _beyond(lines: Floats, at: float) -> Floats:
    return np.maximum(lines - at, 0.0)


def _nearest(bases: Floats, targets: Floats) -> NDArray[np.intp]:
    """For each column of `targets` the basis that explains most of it."""
    explained = np.sum((bases.transpose(0, 2, 1) @ targets) ** 2, axis=1)
    return np.asarray(np.argmax(explained, axis=0))


def combining_window(region: Floats, values: Floats, unit: int) -> Estimate | None:
    """Lines among which a device finds those of one `unit` (bytes); None if none fits.

    Writes a line = f(region, window), simulated; the time of a line is that, times a constant.
    """
    chosen = _thinned(region)
    region, values = region[chosen], values[chosen]
    windows = np.unique(np.round(8 * _WINDOW_STEP ** np.arange(0, 45))).astype(int)
    windows = windows[windows * LINE < region[-1] / 4]
    if len(region) < _WINDOW_POINTS // 2 or not len(windows):
        return None
    tried = tuple(windows.tolist())
    writes = [
        _simulated(int(size) // LINE, unit // LINE, seed, tried) for seed, size in enumerate(region)
    ]
    fine = np.arange(windows[0], windows[-1] + 0.5, 0.5)
    shapes = np.array([np.interp(fine, windows, column) for column in writes]).T / values
    bases = (shapes / np.sqrt(np.sum(shapes**2, axis=1, keepdims=True)))[:, :, None]
    at = int(_nearest(bases, np.ones((len(region), 1)))[0])
    basis = bases[at, :, 0]
    off = 1 - basis * np.sum(basis)
    error = float(np.sqrt(np.mean(off**2)))
    if error > _WINDOW_ERROR or at in (0, len(fine) - 1):
        return None
    rng = np.random.default_rng(0)
    targets = (1 - off)[:, None] + rng.choice(off, size=(len(off), _RESAMPLES))
    low, high = np.percentile(fine[_nearest(bases, targets)], [2.5, 97.5])
    return Estimate(float(fine[at]), float(low), float(high), error)


def _thinned(region: Floats) -> NDArray[np.intp]:
    """Indices of points spread evenly over the logarithm of the region, 16 lines to 16,384."""
    low, high = max(region[0], 16.0 * LINE), min(region[-1], 16384.0 * LINE)
    wanted = np.geomspace(low, high, _WINDOW_POINTS)
    return np.unique(np.abs(np.log(region)[:, None] - np.log(wanted)).argmin(axis=0))


@lru_cache(maxsize=1024)  # other curves over the same regions need the same
def _simulated(lines: int, unit: int, seed: int, windows: tuple[int, ...]) -> tuple[float, ...]:
    """Writes a line of a walk, for each window."""
    order = _order(lines, unit, seed)
    return tuple(_writes(order, window) for window in windows)


def _order(lines: int, unit: int, seed: int) -> list[int]:
    """The units that the walk stores to: region after region, each in random order."""
    rng = np.random.default_rng(seed)
    regions = max(3, _WINDOW_LINES // lines)
    walk = [(rng.permutation(lines) + n * lines) // unit for n in range(regions)]
    order: list[int] = np.concatenate(walk).tolist()
    return order


def _writes(order: list[int], window: int) -> float:
    """Writes a line: when more than `window` lines wait, the oldest unit goes, whole."""
    waiting: dict[int, int] = {}
    begun: deque[int] = deque()
    held = writes = 0
    for unit in order:
        if unit in waiting:
            waiting[unit] += 1
        else:
            waiting[unit] = 1
            begun.append(unit)
        held += 1
        if held > window:
            held -= waiting.pop(begun.popleft())
            writes += 1
    return writes / (len(order) - held)
