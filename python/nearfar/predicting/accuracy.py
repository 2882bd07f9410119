"""How far predictions are off, and how far native runs are off from each other."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from nearfar.results.prediction import PredictedProgram, PredictionAccuracy


def accuracy(programs: Sequence[PredictedProgram]) -> PredictionAccuracy | None:
    """Over the programs that could be compared; None if there are none."""
    logs = {one.name: abs(math.log(one.ratio)) for one in programs if one.ratio is not None}
    if not logs:
        return None
    worst = max(logs, key=lambda name: logs[name])
    error = math.exp(statistics.fmean(logs.values()))
    return PredictionAccuracy(len(logs), error, math.exp(logs[worst]), worst)


def spread(times: Sequence[float]) -> float:
    """The distance between the quartiles, over the median."""
    low, median, high = statistics.quantiles(times, n=4, method="inclusive")
    return (high - low) / median


def machine_spread(programs: Sequence[PredictedProgram]) -> float | None:
    """exp(mean |ln(run / median)|) over all native runs; None without two runs of any program."""
    logs = [
        abs(math.log(time / statistics.median(one.native_ns)))
        for one in programs
        if len(one.native_ns) > 1
        for time in one.native_ns
    ]
    return math.exp(statistics.fmean(logs)) if logs else None
