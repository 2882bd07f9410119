"""Finding the wear-levelling stalls among timed overwrites. Pure functions."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Sequence

# A wear-levelling migration stalls an overwrite for 50-54 us on the real DIMM; the smaller
# families of stalls take 9 to 16 us (the overwrite data of MICRO 2020). This lies between.
MIGRATION_NS = 30_000.0
SLOW = 20  # a stall is a sample above so many medians (LENS uses 100, and sees one family)


def stalls(samples: Sequence[float]) -> list[int]:
    """Which overwrites (ns each) met a migration: their positions."""
    threshold = max(SLOW * statistics.median(samples), MIGRATION_NS)
    return [i for i, sample in enumerate(samples) if sample > threshold]


def intervals(positions: Sequence[int]) -> list[int]:
    """Writes between one stall and the next."""
    return [after - before for before, after in itertools.pairwise(positions)]


def variation(values: Sequence[float]) -> float:
    """Coefficient of variation: standard deviation over mean; 0.0 for fewer than two."""
    return statistics.stdev(values) / statistics.fmean(values) if len(values) > 1 else 0.0
